//! The use cases, one module each: from a checked request to a response.
//!
//! `handle` of a module takes the JSON event of a Lambda function, checks it and calls `run`, which
//! the `lockstep` command calls with typed requests. [`EffectRunner`] does what a commit leaves to be
//! done, [`RecoveryService`] checks holders.
//!
//! May depend on: everything but the adapters to AWS.

pub mod acquire;
pub mod alerts;
pub mod check_running;
mod effects;
pub mod heartbeat;
mod ports;
pub mod protection;
pub mod reap;
mod recover;
pub mod release;

pub use effects::EffectRunner;
pub use ports::Ports;
pub use recover::RecoveryService;

use crate::clock::Clock;
use crate::domain::{Command, LockKey, Outcome, Seconds, Timestamp};
use crate::error::Error;
use crate::protocol::{Protocol, ProtocolError};
use crate::telemetry::Metrics;

/// The dependencies of all use cases, built once before the first event.
#[derive(Debug)]
pub struct Deps<P: Ports> {
    /// The protocol on the lock table.
    pub protocol: Protocol<P::Store, P::Clock>,
    /// Step Functions.
    pub executions: P::Executions,
    /// ECS.
    pub tasks: P::Tasks,
    /// The event bus.
    pub events: P::Events,
    /// The metrics.
    pub metrics: Metrics<P::Metrics>,
    /// Name of the lock table, for the containers of granted runs.
    pub table: String,
    /// How long the history keeps a run after its end.
    pub retention: Seconds,
}

impl<P: Ports> Deps<P> {
    /// The present, by the clock of the protocol.
    pub fn now(&self) -> Timestamp {
        self.clock().now()
    }

    /// The clock of the protocol.
    pub fn clock(&self) -> &P::Clock {
        self.protocol.clock()
    }

    /// The lock table.
    pub fn store(&self) -> &P::Store {
        self.protocol.store()
    }

    /// Does what commits leave to be done.
    pub fn effects(&self) -> EffectRunner<'_, P> {
        EffectRunner { deps: self }
    }

    /// Checks holders.
    pub fn recovery(&self) -> RecoveryService<'_, P> {
        RecoveryService { deps: self }
    }

    /// Executes `command` on `lock` and performs its effects.
    ///
    /// # Errors
    /// [`ProtocolError`], as [`Protocol::execute`].
    pub async fn execute(
        &self,
        lock: &LockKey,
        command: &Command,
    ) -> Result<Outcome, ProtocolError> {
        let done = self.protocol.execute(lock, command).await?;
        self.effects().perform(lock, done.effects).await;
        Ok(done.outcome)
    }

    /// As [`Self::execute`], with the error that a caller gets.
    pub(crate) async fn carry_out(
        &self,
        lock: &LockKey,
        command: &Command,
    ) -> Result<Outcome, Error> {
        let outcome = self.execute(lock, command).await;
        outcome.map_err(|error| Error::of_command(lock, error))
    }
}
