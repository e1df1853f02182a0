//! From evidence to action: what to do about a holder that may be dead, stale or ending.
//!
//! [`judge`] is a pure function. [`Check`] is one check of a holder as a state machine: it yields
//! each request and takes each answer. [`crate::service::RecoveryService`] carries them.
//!
//! May depend on: domain, the states of executions and tasks.

mod check;
mod ended;
mod evidence;
mod judge;
#[cfg(test)]
mod tests;

pub use check::{Alert, Answer, Check, Inspection, Request, Step};
pub(crate) use ended::over;
pub use ended::work_succeeded;
pub(crate) use evidence::lags_behind;
pub use evidence::{
    Evidence, ExecutionEvent, ExecutionSight, Hint, LAG_MAX, Ownership, TaskSight, TasksSight,
};
pub use judge::judge;

use crate::domain::{Death, HolderId, Seconds, StopReason};

/// How long ListTasks may not show a task that was started: it is eventually consistent
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
pub const LIST_LAG: Seconds = Seconds::of(10);

/// What to do about a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: it is well, or it is being stopped.
    Leave,
    /// Send the wake-up of its hand-over once more.
    Wake,
    /// Mark it as a suspect: it is silent while its execution runs.
    Suspect,
    /// Take the run that waits to replace it out of the queue: that one is dead.
    DropReplacer {
        /// Which run.
        replacer: HolderId,
    },
    /// Free its permit.
    Recover {
        /// What shows that it may be freed.
        death: Death,
        /// Whether the same evidence shows that its work had succeeded.
        succeeded: bool,
        /// The same in words.
        evidence: String,
    },
    /// Stop what still runs of it; its permit is free once that is seen to have stopped.
    Stop {
        /// What has to be written before anything is stopped.
        commit: Commitment,
        /// Whether its execution runs.
        execution: bool,
        /// The tasks that run.
        tasks: Vec<String>,
        /// Why.
        why: String,
    },
    /// Freeze the lock.
    Freeze {
        /// Why.
        why: String,
    },
    /// Raise the alert that it is not stopped, and try again.
    Refrain {
        /// Why not.
        why: String,
    },
    /// Raise the alert that there is no evidence, and try again.
    Alert {
        /// Why not.
        why: String,
    },
}

/// What has to be written before the work of a holder is stopped. A heartbeat that comes first
/// makes that write fail, one that comes later is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commitment {
    /// That its execution is over and its work is being stopped.
    Ending,
    /// That the holder is stopped, and why.
    Stop(StopReason),
    /// Nothing: the stop is committed.
    Done,
}
