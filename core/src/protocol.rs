//! The only code that turns a command into a write: fast path, observed path, bounded retry.
//!
//! ```text
//!  command ─▶ register the waiter, if a state already waits with a task token
//!                 ▼
//!             fast_path(command, now) ─▶ commit ── committed ───────────────▶ outcome
//!                                     │ conflict: the response contains the record
//!                                     ▼
//!             read the items that the decision needs and the conflict did not return
//!                                     ▼
//!                      decide(record, command, now) ── refusal ────────▶ refusal
//!                                     │ transition
//!                                     ▼
//!                                   commit ── committed ───────────────▶ outcome
//!                                     │ conflict: decide again, at most RETRIES_MAX times
//!                                     └──────────────────────────────────▶ contended
//!
//!  a state that has registered and got no place in the queue: its side item is deleted last
//! ```
//!
//! [`Attempt`] is that diagram as a pure state machine: it names one request to the table at a time and
//! takes the reply. [`Protocol`] sends each request to the store, passes the reply back, reads the
//! clock, and bounds the retries. The model checker in `tests/model` steps the same machine, so the
//! interleavings that it explores are those of the deployed code.
//!
//! May depend on: domain, store, clock, backoff.

mod attempt;
#[cfg(test)]
#[cfg(feature = "test-util")]
mod tests;

pub use attempt::{Attempt, AttemptStep, Reply, Request};

use crate::backoff::Backoff;
use crate::clock::Clock;
use crate::domain::{Command, Effect, LockKey, Outcome, Refusal};
use crate::store::{Commit, Found, LockStore, StoreError};
use std::time::Duration;

/// Maximum number of retries of one command after conflicts and busy replies of the table.
pub const RETRIES_MAX: u32 = 8;

/// Executes commands on the locks of one table.
#[derive(Debug)]
pub struct Protocol<S, C> {
    store: S,
    clock: C,
    backoff: Backoff,
}

/// The outcome of a command, and the effects that remain after its write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Done {
    /// The outcome.
    pub outcome: Outcome,
    /// The effects that remain.
    pub effects: Vec<Effect>,
}

/// Why a command was not executed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ProtocolError {
    /// The decision is a refusal.
    #[error("refused: {0:?}")]
    Refused(Refusal),
    /// Each attempt to write met a concurrent write.
    #[error("{RETRIES_MAX} conflicts in a row")]
    Contended,
    /// The table failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<S: LockStore, C: Clock> Protocol<S, C> {
    /// Creates the protocol on `store`. Retries wait for a random part of 20 ms at first, and of at most
    /// 400 ms later. Clients that conflict with each other need different values of `seed`, so that they
    /// retry at different times.
    pub fn new(store: S, clock: C, seed: u64) -> Self {
        let backoff = Backoff::new(Duration::from_millis(20), Duration::from_millis(400), seed);
        Self {
            store,
            clock,
            backoff,
        }
    }

    /// Returns the clock that gives the time of each decision.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Returns the table.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Executes `command` on `lock`.
    ///
    /// # Errors
    /// [`ProtocolError`]. After `Store` the command may or may not have been executed. Executing the
    /// command again is safe and returns its outcome.
    ///
    /// # Examples
    #[cfg_attr(feature = "memory", doc = "```")]
    #[cfg_attr(not(feature = "memory"), doc = "```ignore")]
    /// use lockstep_core::clock::ManualClock;
    /// use lockstep_core::domain::{
    ///     Acquire, Command, HolderId, LockKey, Outcome, Retention, Seconds, Terms, Timestamp,
    /// };
    /// use lockstep_core::protocol::Protocol;
    /// use lockstep_core::store::memory::MemoryStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let clock = ManualClock::at(Timestamp::from_millis(1_800_000_000_000));
    /// let locks = Protocol::new(MemoryStore::default(), clock, 7);
    /// let retention = Retention { history: Seconds::of(172_800), run_keys: Seconds::of(86_400) };
    /// let request = Acquire::new(Terms::new(HolderId::new("run-1")?, retention));
    ///
    /// let done = locks.execute(&LockKey::new("nightly-report")?, &Command::Acquire(request)).await?;
    /// assert!(matches!(done.outcome, Outcome::Granted { .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn execute(&self, lock: &LockKey, command: &Command) -> Result<Done, ProtocolError> {
        let mut attempt = Attempt::new(command.clone(), self.clock.now());
        let mut retries = 0;
        loop {
            let request = attempt.request();
            if request == Request::BackOff {
                if retries == RETRIES_MAX {
                    return Err(ProtocolError::Contended);
                }
                self.clock.sleep(self.backoff.wait(retries)).await;
                retries += 1;
            }
            // A pause creates a record too, but it closes that lock, whatever closes new locks.
            let creates = matches!(command, Command::Acquire(_) | Command::NoteStart(_));
            let reply = self.carry(lock, request, creates).await?;
            match attempt.reply(reply, self.clock.now()) {
                AttemptStep::Ask(next) => attempt = next,
                AttemptStep::Over(result) => return *result,
            }
        }
    }

    /// Sends one request to the table. If the lock has no record and the command is an acquire
    /// (`creates`), also reads whether new locks are paused.
    async fn carry(
        &self,
        lock: &LockKey,
        request: Request<'_>,
        creates: bool,
    ) -> Result<Reply, StoreError> {
        Ok(match request {
            Request::Register(waiter) => {
                self.store.register(lock, waiter).await?;
                Reply::Registered
            }
            Request::Commit(change) => {
                Reply::Commit(match self.store.commit(lock, change).await? {
                    Commit::Conflict(found) if found.record == Some(None) && creates => {
                        let new_lock = self.store.new_locks().await?;
                        Commit::Conflict(Found { new_lock, ..found })
                    }
                    commit => commit,
                })
            }
            Request::Load => match self.store.load(lock).await? {
                None if creates => Reply::NoRecord(self.store.new_locks().await?),
                record => Reply::Record(record),
            },
            Request::LoadRun(id) => Reply::Run(self.store.load_run(lock, id).await?),
            Request::LoadWaiter(id) => Reply::Waiter(self.store.load_waiter(lock, id).await?),
            Request::BackOff => Reply::BackedOff,
        })
    }
}
