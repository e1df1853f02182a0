//! The requests, answers and results of a check.
//!
//! A check and its caller exchange these values. The deployed functions send the requests to AWS and to
//! the table. The model answers them in every order that it explores.

use crate::domain::{
    Command, ExecutionArn, FencingToken, HolderId, Lease, LockKey, Outcome, RunOutcome, Seconds,
    TaskArn, TaskSet, Waiter, WaiterId, Work, child_arn, task_group,
};
use crate::recovery::evidence::LAG_MAX;
use crate::recovery::{
    ExecutionObservation, LIST_LAG, Ownership, STOP_SETTLES, TaskObservation, WorkObservation,
};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inspection {
    /// The permit is free, or is handed over to the first waiter. Contains how the run ended.
    Freed(RunOutcome),
    /// The holder keeps its permit until a check has seen its work stopped.
    Ending,
    /// The holder is ending as under [`Self::Ending`]. Its execution has ended, and ECS may not list its
    /// last task yet.
    Unlisted,
    /// The holder is ending as under [`Self::Ending`]. Its work ended without success, and its tasks may
    /// still be stopping.
    Settling,
    /// The holder has left since its lease was read: its grant is no longer in the record.
    Gone,
    /// The holder keeps its permit. Its execution is shown as ended, and the lease was renewed since: by
    /// a heartbeat that was sent before the end, or by a redrive that the description does not show yet.
    Renewed,
    /// The holder keeps its permit, and may have ended: [`Evidence::is_unanswered`](crate::recovery::Evidence::is_unanswered).
    Unanswered,
    /// The holder keeps its permit.
    Held,
}

impl Inspection {
    /// Returns the time after which another check may have another result; `None` if the result does not
    /// depend on the lag of a description or list.
    #[must_use]
    pub const fn settles_in(self) -> Option<Seconds> {
        match self {
            Self::Unlisted => Some(LIST_LAG),
            Self::Settling => Some(STOP_SETTLES),
            Self::Renewed => Some(LAG_MAX),
            Self::Freed(_) | Self::Ending | Self::Gone | Self::Unanswered | Self::Held => None,
        }
    }
}

/// A request of a check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// DescribeExecution.
    DescribeExecution(ExecutionArn),
    /// DescribeExecution and DescribeStateMachineForExecution, which show whether the input or the
    /// definition names the lock.
    ProveOwnership(ExecutionArn),
    /// DescribeTasks for one task.
    DescribeTask(TaskArn),
    /// ListTasks and DescribeTasks for the tasks of a task group.
    ListTasks(TaskSet, String),
    /// DescribeExecution for an execution that may do the work.
    DescribeWork(ExecutionArn),
    /// GetExecutionHistory, ListTasks and DescribeTasks, which show the tasks that the states of an
    /// execution may have left running.
    FindStarted(ExecutionArn),
    /// Executes a command.
    Execute(Command),
    /// Executes a command. Its failure is only logged.
    Note(Command),
    /// StopExecution with an error name and a cause.
    StopExecution(ExecutionArn, &'static str, String),
    /// StopTask with the cluster, the task and the reason.
    StopTask(String, String, String),
    /// Sends the wake-up of a hand-over again.
    Wake(Lease),
    /// Raises an alert.
    Raise(Alert),
    /// Reads the side item of the run that waits to replace the holder.
    LoadWaiter(WaiterId),
    /// Reads the current lease of the holder.
    LoadLease(HolderId, FencingToken),
}

/// An alert to operators.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Alert {
    /// Evidence is missing. Contains why.
    EvidenceMissing(String),
    /// The lock was frozen. Contains the note.
    Frozen(String),
    /// A run was stopped. Contains why.
    Stopped(String),
    /// A run was not stopped. Contains why.
    NotStopped(String),
    /// A permit was freed. Contains how its run ended, and the evidence.
    Freed(RunOutcome, String),
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CheckAnswer {
    /// The result of DescribeExecution.
    Execution(ExecutionObservation),
    /// The result of DescribeTasks for one task.
    Task(TaskObservation),
    /// The observation of the work, from [`Request::ListTasks`], [`Request::DescribeWork`] or
    /// [`Request::FindStarted`].
    Work(WorkObservation),
    /// The outcome of a command.
    Executed(Outcome),
    /// Whether StopExecution or StopTask was accepted.
    Accepted(bool),
    /// The result of [`Request::ProveOwnership`].
    Ownership(Ownership),
    /// The side item that was read.
    Waiter(Option<Waiter>),
    /// The lease that was read.
    Lease(Option<Lease>),
    /// The request was carried out, and has no other answer.
    Done,
}

/// The next step of a check.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them, for a moment"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckStep {
    /// The next request. [`super::Check::answer`] takes its answer.
    Ask(Request),
    /// The check is over.
    Over(Inspection),
}

/// Returns the requests that read the state of a run's work. If the work is an execution, there is one
/// request for each attempt up to the last redrive that the holder reported, latest first: the latest
/// attempt that Step Functions knows counts.
pub(in crate::recovery) fn work_requests(
    lock: &LockKey,
    holder: &HolderId,
    lease: &Lease,
) -> Vec<Request> {
    match &lease.work {
        Some(Work::Tasks(set)) => {
            vec![Request::ListTasks(set.clone(), task_group(lock, holder))]
        }
        Some(Work::Workflow(machine)) => {
            let attempts = (0..=lease.redrives).rev();
            let arns = attempts.filter_map(|n| child_arn(machine, lock, lease.token, n));
            arns.map(Request::DescribeWork).collect()
        }
        Some(Work::States) | None => Vec::new(),
    }
}
