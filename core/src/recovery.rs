//! Decides from evidence what to do about a holder that may be dead, stale or ending.
//!
//! [`judge()`] is a pure function. [`Check`] is one check of a holder as a state machine: it yields
//! requests and takes the answers. The caller sends the requests.
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
pub use states::may_be_created_by;
pub use verdict::{Life, Next, Over, Verdict};

use crate::domain::{CLOCK_SKEW, HolderId, RecoveryBasis, Seconds, StopReason};

/// How long ListTasks may not show a new task: the call is eventually consistent
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
pub const LIST_LAG: Seconds = Seconds::of(10);

/// How long the tasks that a workflow has started may take to stop after the end of its execution
/// without success: 30 s, the default `stopTimeout` of an ECS task
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>), plus
/// one second because clocks may differ. The execution counts as ended at once, and Step Functions stops
/// its tasks on a best-effort basis.
pub const STOP_SETTLES: Seconds = Seconds::of(30 + CLOCK_SKEW.get());

/// What to do about a holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Does nothing: the holder is alive, is being stopped, or is left to a later check.
    Leave,
    /// Sends the wake-up of the holder's hand-over again.
    Wake,
    /// Marks the holder as a suspect: it is silent while its execution runs.
    Suspect,
    /// Takes the run that waits to replace the holder out of the queue, because that run is dead.
    DropReplacer {
        /// The run that waits.
        replacer: HolderId,
    },
    /// Frees the holder's permit.
    Recover {
        /// What shows that the permit may be freed.
        basis: RecoveryBasis,
        /// Whether the same evidence shows that the work of the run succeeded.
        succeeded: bool,
        /// The evidence in words.
        evidence: String,
    },
    /// Stops the holder's execution and work. The permit is freed by a later check that sees both
    /// stopped.
    Stop {
        /// The write that must succeed before anything is stopped.
        commit: Commitment,
        /// Whether the holder's execution is to be stopped.
        execution: bool,
        /// The ARNs of the tasks, or of the execution that does the work, that are to be stopped.
        work: Vec<String>,
        /// Why the holder is stopped.
        why: String,
    },
    /// Freezes the lock.
    Freeze {
        /// Why the lock is frozen.
        why: String,
    },
    /// Does not stop the holder, and raises an alert that says so. A later check tries again.
    Refrain {
        /// Why the holder is not stopped.
        why: String,
    },
    /// Raises an alert that evidence is missing. A later check tries again.
    Alert {
        /// Why the evidence is missing.
        why: String,
    },
}

/// The write that must succeed before the work of a holder is stopped. A heartbeat that is written first
/// makes this write fail, unless the holder is stopped because another run replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commitment {
    /// Marks the holder as ending: its execution has ended and its work is being stopped.
    Ending,
    /// Commits the stop of the holder for this reason. Heartbeats after the commit are refused.
    Stop(StopReason),
    /// No write: an earlier check has committed the stop.
    Done,
}
