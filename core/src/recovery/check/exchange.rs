//! The requests, answers and results of a check.
//!
//! A check and what drives it exchange these values: the deployed functions send the
//! requests to AWS and to the table, and the model answers them in every order that it explores.

use crate::domain::{
    Command, ExecutionArn, FencingToken, HolderId, Lease, LockKey, Outcome, RunOutcome, Seconds,
    TaskArn, TaskSet, Waiter, WaiterId, Work, child_arn, task_group,
};
use crate::recovery::evidence::LAG_MAX;
use crate::recovery::{
    ABORT_SETTLES, ExecutionObservation, LIST_LAG, Ownership, TaskObservation, WorkObservation,
};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inspection {
    /// The permit is free, or handed over to the first waiter. Contains how the run ended.
    Freed(RunOutcome),
    /// The holder keeps its permit until its work has been confirmed to have stopped.
    Ending,
    /// As [`Self::Ending`]: its execution has ended, and ECS may not list its last task yet.
    Unlisted,
    /// As [`Self::Ending`]: its work was aborted, and what it had started may still be stopping.
    Settling,
    /// The holder keeps its permit. Its execution has ended, and the lease was renewed since: by a
    /// heartbeat that was under way, or by a redrive that is not described yet.
    Renewed,
    /// The holder keeps its permit.
    Held,
}

impl Inspection {
    /// Time after which another check may have another result, if the evidence was not settled.
    #[must_use]
    pub const fn settles_in(self) -> Option<Seconds> {
        match self {
            Self::Unlisted => Some(LIST_LAG),
            Self::Settling => Some(ABORT_SETTLES),
            Self::Renewed => Some(LAG_MAX),
            Self::Freed(_) | Self::Ending | Self::Held => None,
        }
    }
}

/// A request of a check.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// DescribeExecution.
    DescribeExecution(ExecutionArn),
    /// DescribeExecution and DescribeStateMachineForExecution: whether the input or the definition
    /// names the lock.
    ProveOwnership(ExecutionArn),
    /// DescribeTasks of one task.
    DescribeTask(TaskArn),
    /// ListTasks and DescribeTasks of a task group.
    ListTasks(TaskSet, String),
    /// DescribeExecution of the execution that may do the work.
    DescribeWork(ExecutionArn),
    /// GetExecutionHistory, ListTasks and DescribeTasks: the tasks that the states of an execution may have started
    /// and left running.
    FindStarted(ExecutionArn),
    /// Executes a command.
    Execute(Command),
    /// Executes a command whose failure is only logged.
    Note(Command),
    /// StopExecution, with an error name and a cause.
    StopExecution(ExecutionArn, &'static str, String),
    /// StopTask: the cluster, the task, the reason.
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
    /// Evidence is missing, and why.
    EvidenceMissing(String),
    /// The lock was frozen, with this note.
    Frozen(String),
    /// A run was stopped, and why.
    Stopped(String),
    /// A run is not stopped, and why.
    NotStopped(String),
    /// A permit was freed: how its run ended, and on what evidence.
    Freed(RunOutcome, String),
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CheckAnswer {
    /// The result of DescribeExecution.
    Execution(ExecutionObservation),
    /// The result of DescribeTasks for one task.
    Task(TaskObservation),
    /// The result of ListTasks and DescribeTasks, of DescribeExecution, or of [`Request::FindStarted`], for
    /// the work.
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
    /// A request without an answer was carried out.
    Done,
}

/// The next step of a check.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them, for a moment"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckStep {
    /// The next request, whose answer [`super::Check::answer`] takes.
    Ask(Request),
    /// The check is over.
    Over(Inspection),
}

/// Returns the requests for the state of the work of a run. An execution may be of any attempt up to the
/// last redrive that the holder has reported: the latest that is known counts.
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
