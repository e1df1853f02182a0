//! What a check asks for, what it is answered, and what it comes to.

use crate::domain::{
    Command, ExecutionArn, FencingToken, HolderId, Lease, Outcome, RunOutcome, Seconds, TaskArn,
    Waiter, WaiterId, Work,
};
use crate::recovery::evidence::LAG_MAX;
use crate::recovery::{ExecutionSight, LIST_LAG, Ownership, TaskSight, TasksSight};

/// What a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inspection {
    /// The permit is free, or has gone to the first waiter.
    Freed(RunOutcome),
    /// The holder keeps its permit until its work is seen to have stopped.
    Ending,
    /// The same. Its execution has ended, and no task of it is listed: one may be listed yet.
    Unlisted,
    /// The holder keeps its permit. Its execution has ended, and the lease was renewed since: by a
    /// heartbeat that was under way, or by a redrive that is not described yet.
    Renewed,
    /// The holder keeps its permit.
    Held,
}

impl Inspection {
    /// After how long another check comes to something else, where the evidence was not settled.
    #[must_use]
    pub const fn settles_in(self) -> Option<Seconds> {
        match self {
            Self::Unlisted => Some(LIST_LAG),
            Self::Renewed => Some(LAG_MAX),
            Self::Freed(_) | Self::Ending | Self::Held => None,
        }
    }
}

/// What a check asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// DescribeExecution.
    DescribeExecution(ExecutionArn),
    /// DescribeExecution with its input, and its definition: does it name the lock?
    ProveOwnership(ExecutionArn),
    /// DescribeTasks of one task.
    DescribeTask(TaskArn),
    /// ListTasks and DescribeTasks of a task group.
    ListTasks(Work, String),
    /// Carry a command out.
    Execute(Command),
    /// The same, where a failure does not matter.
    Note(Command),
    /// StopExecution, with an error name and a cause.
    StopExecution(ExecutionArn, &'static str, String),
    /// StopTask: the cluster, the task, the reason.
    StopTask(String, String, String),
    /// Send the wake-up of a hand-over once more.
    Wake(Lease),
    /// Raise an alert.
    Raise(Alert),
    /// Read the side item of the run that waits to replace the holder.
    LoadWaiter(WaiterId),
    /// Read the lease of the holder as it is now.
    LoadLease(HolderId, FencingToken),
}

/// What operators are alerted to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Alert {
    /// There is no evidence, and why.
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
pub enum Answer {
    /// Of DescribeExecution.
    Execution(ExecutionSight),
    /// Of DescribeTasks of one task.
    Task(TaskSight),
    /// Of ListTasks and DescribeTasks.
    Tasks(TasksSight),
    /// Of a command.
    Executed(Outcome),
    /// Of StopExecution or StopTask: whether the call was accepted.
    Accepted(bool),
    /// Of [`Request::ProveOwnership`].
    Ownership(Ownership),
    /// Of a read of a side item.
    Waiter(Option<Waiter>),
    /// Of a read of a lease.
    Lease(Option<Lease>),
    /// Of a request that has no answer.
    Done,
}

/// What comes next.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them, for a moment"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This request, and its answer to [`Check::answer`].
    Ask(Request),
    /// The check is over.
    Over(Inspection),
}
