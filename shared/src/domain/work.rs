//! What a lock guards, as far as Lockstep has to find and stop it.

/// Where the ECS tasks of a run are found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Work {
    /// Name or ARN of the cluster.
    pub cluster: String,
    /// Family of the task definition. It narrows the search; none searches the whole cluster.
    pub family: Option<String>,
    /// The container whose exit code is the end of the whole run; `None` where the run is more than
    /// its tasks.
    pub container: Option<String>,
}

/// The ECS task that a run died or ended with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskEnd {
    /// ARN of the task.
    pub arn: String,
    /// `detail.version` of what was seen: ECS counts it up with every change of the task, so a
    /// smaller one is older
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html>).
    pub version: u64,
    /// Id of the container in its runtime, which its logs and the host know it by.
    pub runtime_id: Option<String>,
    /// What the container ended with.
    pub exit_code: Option<i64>,
    /// Why it stopped, in the words of ECS.
    pub reason: Option<String>,
}
