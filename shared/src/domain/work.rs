//! The work that a lock guards: where it is found, and how it ends.

use super::state_machine::StateMachineArn;

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
