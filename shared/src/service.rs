//! The use cases, one module each: from a checked request to a response.
//!
//! `handle` of a module takes the JSON event of a Lambda function, checks it and calls `run`. The `lockstep`
//! command calls `run` itself, with a typed request. [`EffectRunner`] runs the effects that remain after a
//! commit, and [`RecoveryService`] checks holders.
//!
//! May depend on: everything but the adapters to AWS.
//!
//! ```text
//!  0 s                      5 s  6 s   6.5 s          9 s    10 s
//!   ├─ decide, check holders ┴───┤ effects │ protection  │      │ the function times out
//! ```
//!
//! A call that times out in Lambda returns no answer, so each part ends before that. The decision comes
//! first, because it must not be lost: once it is in the table, the sweep finds there which effects remain.

pub mod acquire;
pub mod alerts;
pub mod check_running;
mod effects;
mod failed;
pub mod heartbeat;
mod ports;
mod protection;
pub mod reap;
mod recover;
pub mod release;
mod rotation;
mod waiters;

pub use effects::{EffectRunner, StillWaits};
pub use ports::Ports;
use protection::TaskProtection;
pub use recover::RecoveryService;

use crate::clock::{CallTime, Clock, OutOfTime};
use crate::error::Error;
use crate::events::{Event, Events};
use crate::telemetry::Metrics;
use lockstep_core::domain::{Command, Effect, LockKey, Outcome, Retention, Timestamp};
use lockstep_core::protocol::{Protocol, ProtocolError};
use std::time::Duration;

/// Limits of the parts of a call, counted from its start. acquire-lock, heartbeat and release-lock
/// time out after ten seconds (`Timeout` in the template); the events of a response take two more
/// seconds at most.
const DECISION_END: Duration = Duration::from_secs(6);
const EFFECTS_END: Duration = Duration::from_millis(6500);
const PROTECTION_END: Duration = Duration::from_secs(9);

/// The outcome of a command, and [`StillWaits`] if a heartbeat state that the command had to end may still
/// wait.
type Performed = (Outcome, Result<(), StillWaits>);

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
    pub retention: Retention,
    /// Whether the start and the end of each run are events.
    pub run_events: bool,
}

impl<P: Ports> Deps<P> {
    /// Returns the time, by the clock of the protocol.
    pub fn now(&self) -> Timestamp {
        self.clock().now()
    }

    /// Returns the clock of the protocol.
    pub fn clock(&self) -> &P::Clock {
        self.protocol.clock()
    }

    /// Returns the lock table.
    pub fn store(&self) -> &P::Store {
        self.protocol.store()
    }

    /// Returns the runner of the effects that remain after a commit.
    pub fn effects(&self) -> EffectRunner<'_, P> {
        EffectRunner { deps: self }
    }

    /// Returns the service that checks holders.
    pub fn recovery(&self) -> RecoveryService<'_, P> {
        RecoveryService { deps: self }
    }

    /// Returns the scale-in protection of tasks for one call on `lock`.
    fn protection<'a>(
        &'a self,
        time: &'a CallTime<'a, P::Clock>,
        lock: &'a LockKey,
    ) -> TaskProtection<'a, P> {
        let tasks = &self.tasks;
        TaskProtection { tasks, time, lock }
    }

    /// Publishes the start or the end of a run.
    ///
    /// A failure that the run reports is always published. The other events need the stack parameter
    /// `RunEvents`: each costs one more request to EventBridge, and most teams have alarms on failures
    /// instead.
    async fn publish_run(&self, event: Option<Event>) {
        if let Some(event) = event.filter(|event| self.run_events || event.failed.is_some()) {
            self.events.publish(vec![event]).await;
        }
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
        // A heartbeat state that still waits ends at its own next heartbeat.
        let _ = self.effects().perform(lock, done.effects).await;
        Ok(done.outcome)
    }

    /// Executes `command` as [`Self::execute`] does, with time until [`DECISION_END`] for the decision and
    /// until [`EFFECTS_END`] for its effects. Returns the outcome, and [`StillWaits`] if a heartbeat state
    /// that the command had to end may still wait.
    ///
    /// # Errors
    /// [`OutOfTime`] if there is no decision by [`DECISION_END`]. The decision may have been written.
    async fn execute_in_call(
        &self,
        time: &CallTime<'_, P::Clock>,
        lock: &LockKey,
        command: &Command,
    ) -> Result<Result<Performed, ProtocolError>, OutOfTime> {
        let execution = self.protocol.execute(lock, command);
        let done = match time.until(DECISION_END, execution).await? {
            Ok(done) => done,
            Err(error) => return Ok(Err(error)),
        };
        let effects = self.effects();
        let has_state = |effect: &Effect| matches!(effect, Effect::EndHeartbeat(_));
        let ends_state = done.effects.iter().any(has_state);
        let effects = effects.perform(lock, done.effects);
        let performed = self.finish_in_call(time, lock, effects).await;
        let ended = performed.unwrap_or(if ends_state { Err(StillWaits) } else { Ok(()) });
        Ok(Ok((done.outcome, ended)))
    }

    /// Performs `effects` until [`EFFECTS_END`]. Returns `None` if they take longer; the sweep performs the
    /// others.
    async fn finish_in_call<T>(
        &self,
        time: &CallTime<'_, P::Clock>,
        lock: &LockKey,
        effects: impl Future<Output = T>,
    ) -> Option<T> {
        let performed = time.until(EFFECTS_END, effects).await;
        if performed.is_err() {
            tracing::warn!(event = "effects_timed_out", %lock, "the effects of a call timed out; the sweep performs the others");
        }
        performed.ok()
    }

    /// Executes `command` as [`Self::execute`] does, with the error that a caller gets.
    ///
    /// # Errors
    /// [`Error::of_command`].
    pub async fn carry_out(&self, lock: &LockKey, command: &Command) -> Result<Outcome, Error> {
        let outcome = self.execute(lock, command).await;
        outcome.map_err(|error| Error::of_command(lock, error))
    }
}
