//! The work that a lock guards: where it is found, and how it ends.

use super::state_machine::StateMachineArn;
use super::time::Timestamp;

/// The work of a run, as far as Lockstep can find it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// ECS tasks.
    Tasks(TaskSet),
    /// An execution of this state machine, whose name is [`super::child_name`].
    Workflow(StateMachineArn),
    /// The states of the holder's own execution.
    States,
}

/// Where the ECS tasks of a run are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskSet {
    /// Name or ARN of the cluster.
    pub cluster: String,
    /// Family of the task definition, which narrows the search; `None` searches the whole cluster.
    pub family: Option<String>,
    /// The container whose exit code decides whether the run succeeded; `None` if the run is more
    /// than its tasks.
    pub container: Option<String>,
}

/// A call of RunTask by a workflow's state that did not wait for the end of a task: the call failed, and ECS may have
/// started a task all the same, or the state was timed out or stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FailedStart {
    /// The cluster and the family of the request.
    pub tasks: TaskSet,
    /// The task group of the request; without one, the group that ECS chooses.
    pub group: String,
    /// When the state called RunTask.
    pub called_at: Timestamp,
    /// When the call failed or was answered. Of a call without an answer, the latest time in the history.
    pub failed_at: Timestamp,
}

/// The ECS task that a run ended with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskEnd {
    /// ARN of the task.
    pub arn: String,
    /// Version of the observed state, `detail.version` of an event: ECS increments it with every
    /// change of the task, so a smaller one is older
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html>).
    pub version: u64,
    /// Id of the container in its runtime, as its logs and the host show it.
    pub runtime_id: Option<String>,
    /// Exit code of the container, if it ran and has ended.
    pub exit_code: Option<i64>,
    /// Why the container or the task stopped, as ECS reports it.
    pub reason: Option<String>,
}
