//! The work that a lock guards: where Lockstep finds it, and how it ended.

use super::state_machine::StateMachineArn;
use super::time::Timestamp;

/// The work of a run, as far as Lockstep can find it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// ECS tasks.
    Tasks(TaskSet),
    /// An execution of this state machine. [`super::child_name`] returns the name of the execution.
    Workflow(StateMachineArn),
    /// The states of the holder's own execution.
    States,
}

/// Where Lockstep finds the ECS tasks of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskSet {
    /// Name or ARN of the cluster.
    pub cluster: String,
    /// Family of the task definition, which narrows the search; `None` searches the whole cluster.
    pub family: Option<String>,
    /// The container whose exit code decides whether the run succeeded; `None` if the success of the run
    /// does not follow from its tasks alone.
    pub container: Option<String>,
}

/// A call of RunTask by a state of a workflow that may have left a task running:
///
/// - the call failed, although ECS may have started a task, or
/// - the state timed out or was stopped before the task ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FailedStart {
    /// The cluster and the family of the request.
    pub tasks: TaskSet,
    /// The task group of the request; without one, the group that ECS chooses.
    pub group: String,
    /// When the state called RunTask.
    pub called_at: Timestamp,
    /// When the call failed or was answered; the time of the latest event in the history if the call has
    /// no answer.
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
