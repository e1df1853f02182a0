//! The error of a function, with a name from a closed list.
//!
//! A workflow catches the name, and the name decides whether the call is retried. `contract::ErrorName` has
//! the list, and a test checks that the state machines use no other name. The message is for the operator who
//! reads the execution or the log: it names the lock, what is in the way, and what to do about it. It never
//! contains a task token.
//!
//! ```text
//!  refused by the protocol ─▶ LockHeld, QueueFull, PermitsMismatch, LockPaused, LockFrozen,
//!                             LeaseLost
//!  nothing decided ─────────▶ Contended, Unavailable: the same request is safe to repeat
//!  nothing to retry ────────▶ InvalidRequest, Denied, Corrupt
//! ```

use crate::clock::OutOfTime;
use crate::contract::{ErrorName, InvalidRequest, full_queue, held_by, paused_by};
use crate::executions::ExecutionsError;
use crate::tasks::TasksError;
use lockstep_core::domain::{HolderId, LockKey, Refusal, Renew, RunKey, rfc3339};
use lockstep_core::protocol::ProtocolError;
use lockstep_core::store::StoreError;

/// A failure of a function: a name for the workflow, and a message for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {message}")]
pub struct Error {
    name: ErrorName,
    message: String,
}

impl Error {
    /// Returns the name that a workflow can catch.
    #[must_use]
    pub fn name(&self) -> ErrorName {
        self.name
    }

    /// Returns what happened, and what to do.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Creates an error.
    #[must_use]
    pub fn new(name: ErrorName, message: impl Into<String>) -> Self {
        Self {
            name,
            message: message.into(),
        }
    }

    /// Converts the error of a command on `lock`.
    ///
    /// After `Unavailable`, the command may have been written, and only its answer lost. A caller that
    /// repeats the command gets the answer to the first call.
    #[must_use]
    pub fn of_command(lock: &LockKey, error: ProtocolError) -> Self {
        match error {
            ProtocolError::Refused(refusal) => Self::of_refusal(lock, refusal),
            ProtocolError::Store(error) => error.into(),
            ProtocolError::Contended => Self::new(
                ErrorName::Contended,
                format!(
                    "lock {lock}: every attempt met a concurrent write of another run; try again"
                ),
            ),
        }
    }

    /// Returns `Lockstep.LockHeld` for a redriven run whose last attempt still has running `tasks`.
    ///
    /// The workflow asks again until the work has stopped.
    #[must_use]
    pub fn still_stopping(lock: &LockKey, tasks: &[String]) -> Self {
        let tasks = tasks.join(", ");
        let text = format!(
            "lock {lock}: the last attempt of this run has not stopped yet: {tasks}; try again"
        );
        Self::new(ErrorName::LockHeld, text)
    }

    /// Returns `Lockstep.LeaseLost` for a redriven run that has no permit and no recorded success. `evidence`
    /// says how the run lost its permit.
    #[must_use]
    pub fn lease_lost_without_success(lock: &LockKey, run: &Renew, evidence: Option<&str>) -> Self {
        let Renew { holder, token, .. } = run;
        let lost = evidence.map_or_else(String::new, |why| format!(" ({why})"));
        let text = format!(
            "lock {lock}: {holder} has lost its permit with token {token}{lost}, and the history has no success of \
             this run; start its work as a new run"
        );
        Self::new(ErrorName::LeaseLost, text)
    }

    /// Returns `Lockstep.Unavailable` for a retry whose earlier attempt, `holder`, may have ended.
    ///
    /// The caller gets this error in place of the answer `skipped` or `duplicate`. With such an answer its
    /// retry would succeed without a run.
    #[must_use]
    pub fn earlier_attempt_in_doubt(lock: &LockKey, holder: &HolderId) -> Self {
        let text =
            format!("lock {lock}: whether {holder} has ended is not known yet; a retry is safe");
        Self::new(ErrorName::Unavailable, text)
    }

    /// Returns `Lockstep.Unavailable` for a call of `holder` whose heartbeat state may still wait.
    #[must_use]
    pub fn state_waits(lock: &LockKey, holder: &HolderId) -> Self {
        let text = format!(
            "lock {lock}: {holder} no longer holds its permit, but SendTaskSuccess for its heartbeat state gave no \
             answer; a retry is safe"
        );
        Self::new(ErrorName::Unavailable, text)
    }

    /// Returns `Lockstep.LockHeld` for the eviction of `holder`, which is alive. `why` is the evidence of
    /// that.
    #[must_use]
    pub fn still_alive(lock: &LockKey, holder: &HolderId, why: &str) -> Self {
        let text = format!(
            "lock {lock}: {holder} is alive: {why}; send force: true to stop its work and take its permit"
        );
        Self::new(ErrorName::LockHeld, text)
    }

    /// Returns `Lockstep.LockHeld` for the eviction, without force, of a `holder` that may be alive. `why`
    /// says why Lockstep cannot read whether it is.
    ///
    /// An outage of Step Functions must not free the permit of a live run, whose heartbeats fail in the same
    /// outage.
    #[must_use]
    pub fn not_seen(lock: &LockKey, holder: &HolderId, why: &str) -> Self {
        let text = format!(
            "lock {lock}: whether {holder} is alive cannot be read: {why}; send force: true to take its permit"
        );
        Self::new(ErrorName::LockHeld, text)
    }

    /// Returns `Lockstep.LockHeld` for a run key that is not forgotten, because `waiter` has it.
    #[must_use]
    pub fn run_key_waits(lock: &LockKey, key: &RunKey, waiter: &HolderId) -> Self {
        let key = key.as_str();
        let text = format!("lock {lock}: {waiter} waits with run key {key}; drop the waiter first");
        Self::new(ErrorName::LockHeld, text)
    }

    /// Returns `Lockstep.LockHeld` for a start whose run key `holder` has. The new run would be a duplicate.
    #[must_use]
    pub fn run_key_held(lock: &LockKey, key: &RunKey, holder: &HolderId) -> Self {
        let key = key.as_str();
        let text = format!(
            "lock {lock}: {holder} is at work with run key {key}, so a run with that key would be a duplicate"
        );
        Self::new(ErrorName::LockHeld, text)
    }

    /// Converts a refusal that the caller gets as an error.
    ///
    /// With `overlap` `skip`, most refusals are a response. A refusal is an error if the request asked to
    /// fail, or asked for something that the lock cannot give.
    #[must_use]
    pub fn of_refusal(lock: &LockKey, refusal: Refusal) -> Self {
        let (name, text) = match refusal {
            Refusal::QueueFull {
                most,
                waiting,
                holders,
            } => {
                let text = full_queue(most, waiting, &holders);
                (ErrorName::QueueFull, text)
            }
            Refusal::Held {
                holders,
                permits,
                waiting,
            } => {
                let why = why_held(permits.get().into(), holders.len(), waiting);
                let held = held_by(&holders);
                (ErrorName::LockHeld, format!("{why}; {held}"))
            }
            Refusal::TooSoon { not_before } => {
                let at = rfc3339(not_before);
                (
                    ErrorName::LockHeld,
                    format!("free, but rests until {at} (minIntervalSeconds)"),
                )
            }
            // Only `forget` gets this error: acquire-lock answers a duplicate with a response.
            Refusal::Duplicate { run_key, run } => {
                let text = format!("run key {} is taken by {}", run_key.as_str(), run.holder);
                (ErrorName::LockHeld, text)
            }
            Refusal::HeldByParent { holder } => {
                let text = format!(
                    "held by {holder}, which is this execution or has started it: a run that waits for its own \
                     lock would wait forever"
                );
                (ErrorName::LockHeld, text)
            }
            Refusal::PermitsMismatch { has, asked, .. } => {
                let (has, asked) = (has.get(), asked.get());
                let text = format!(
                    "held with permits {has}, but permits {asked} were requested; the capacity \
                     can change once the lock has no holder"
                );
                (ErrorName::PermitsMismatch, text)
            }
            Refusal::Paused { note, until, .. } => (ErrorName::LockPaused, paused_by(&note, until)),
            Refusal::Frozen { note } => {
                let text = format!(
                    "frozen: {note}; check whether that run is still at work, stop or evict it, then \
                     resume the lock"
                );
                (ErrorName::LockFrozen, text)
            }
            Refusal::LeaseLost {
                holder,
                token,
                holders,
            } => {
                let now = held_by(&holders);
                let text = format!("{holder} no longer holds a permit with token {token}; {now}");
                (ErrorName::LeaseLost, text)
            }
            // The same name as for a lost lease, because the workflow stops its work in both cases.
            Refusal::Stale { holder, why } => {
                let text = format!("{holder} {why}");
                (ErrorName::LeaseLost, text)
            }
        };
        Self::new(name, format!("lock {lock}: {text}"))
    }
}

impl From<InvalidRequest> for Error {
    fn from(invalid: InvalidRequest) -> Self {
        Self::new(ErrorName::InvalidRequest, invalid.to_string())
    }
}

impl From<OutOfTime> for Error {
    /// Converts the end of a call's time. The call may have changed the lock; a retry is safe.
    fn from(late: OutOfTime) -> Self {
        Self::new(ErrorName::Unavailable, late.to_string())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let name = match error {
            StoreError::Throttled(_) | StoreError::Unavailable(_) => ErrorName::Unavailable,
            StoreError::Denied(_) => ErrorName::Denied,
            // The item would exceed DynamoDB's 400 KB: the same request fails again.
            StoreError::TooLarge(_) => ErrorName::InvalidRequest,
            StoreError::Corrupt { .. } => ErrorName::Corrupt,
        };
        Self::new(name, error.to_string())
    }
}

impl From<TasksError> for Error {
    fn from(error: TasksError) -> Self {
        let name = match error {
            TasksError::Unavailable(_) => ErrorName::Unavailable,
            TasksError::Denied(_) => ErrorName::Denied,
        };
        Self::new(name, error.to_string())
    }
}

impl From<ExecutionsError> for Error {
    fn from(error: ExecutionsError) -> Self {
        let name = match error {
            ExecutionsError::Unavailable(_) => ErrorName::Unavailable,
            ExecutionsError::Denied(_) => ErrorName::Denied,
        };
        Self::new(name, error.to_string())
    }
}

/// Describes why a lock with this many permits, holders and waiters grants no permit.
fn why_held(permits: usize, holders: usize, waiting: usize) -> String {
    match (holders < permits, waiting) {
        (false, _) => format!("all {permits} permits are held"),
        (true, 0) => "a permit is free, but a run of the same key is being stopped".into(),
        (true, waiting) => format!("a permit is free, but {waiting} wait for it"),
    }
}
