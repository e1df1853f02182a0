//! From evidence to action: what to do about a holder that may be dead, stale or ending.
//!
//! [`judge()`] is a pure function. [`Check`] is one check of a holder as a state machine: it yields
//! each request and takes each answer. Its caller sends the requests.
//!
//! May depend on: domain.

mod check;
mod ended;
mod evidence;
mod gathering;
mod judge;
mod states;
#[cfg(test)]
mod tests;
mod verdict;

use check::work_requests;
pub use check::{Alert, Check, CheckAnswer, CheckStep, Inspection, Request};
pub use ended::tasks_succeeded;
pub use evidence::{
    Evidence, ExecutionEvent, ExecutionObservation, Hint, LAG_MAX, Ownership, TaskObservation,
    WorkObservation, is_settling, lags_behind, lags_behind_waiter,
};
pub use gathering::{Gathered, Gathering};
pub use judge::judge;
pub use states::may_be_of;
pub use verdict::{Life, Next, Over, Verdict};

use crate::domain::{CLOCK_SKEW, HolderId, RecoveryBasis, Seconds, StopReason};

/// How long ListTasks may lack a task that was started: it is eventually consistent
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
pub const LIST_LAG: Seconds = Seconds::of(10);

/// How long what a workflow has started may take to stop after its execution was aborted or timed out:
/// the default `stopTimeout` of an ECS task
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>). Step
/// Functions stops it on a best-effort basis, and the execution counts as ended at once. One second of it is for
/// the clocks, which may differ.
pub const ABORT_SETTLES: Seconds = Seconds::of(30 + CLOCK_SKEW.get());

/// What to do about a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Leaves it as it is: it is alive, is being stopped, or is left to a later check.
    Leave,
    /// Sends the wake-up of its hand-over again.
    Wake,
    /// Marks it as a suspect: it is silent while its execution runs.
    Suspect,
    /// Takes the run that waits to replace it out of the queue, because that run is dead.
    DropReplacer {
        /// The run that waits.
        replacer: HolderId,
    },
    /// Frees its permit.
    Recover {
        /// What shows that it may be freed.
        basis: RecoveryBasis,
        /// Whether the same evidence shows that its work had succeeded.
        succeeded: bool,
        /// The evidence in words.
        evidence: String,
    },
    /// Stops its execution and its work. Its permit is free once they have been confirmed to have
    /// stopped.
    Stop {
        /// What has to be written before anything is stopped.
        commit: Commitment,
        /// Whether its execution is to be stopped.
        execution: bool,
        /// The ARNs of the tasks, or of the execution of its work, that are to be stopped.
        work: Vec<String>,
        /// Why.
        why: String,
    },
    /// Freezes the lock.
    Freeze {
        /// Why.
        why: String,
    },
    /// Raises the alert that it is not stopped. A later check tries again.
    Refrain {
        /// Why not.
        why: String,
    },
    /// Raises the alert that evidence is missing. A later check tries again.
    Alert {
        /// Why not.
        why: String,
    },
}

/// What has to be written before the work of a holder is stopped. A heartbeat that comes first
/// makes that write fail, except the stop of a replaced holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commitment {
    /// Marks the holder as ending: its execution is over and its work is being stopped.
    Ending,
    /// Commits the stop of the holder, for this reason. Later heartbeats are refused.
    Stop(StopReason),
    /// Nothing: the stop is committed already.
    Done,
}
