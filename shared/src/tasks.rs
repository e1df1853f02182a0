//! The ECS tasks of a run: which they are, and how to stop one.

#[cfg(feature = "aws")]
pub mod ecs;
mod group;
#[cfg(feature = "test-util")]
pub mod memory;

pub use group::{parse_group, task_group};

use crate::domain::{TaskEnd, Timestamp, Work};

/// An ECS task, as far as Lockstep looks at it
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its ARN.
    pub arn: String,
    /// Counts up with every change of the task: of two sights of it, the larger one is newer.
    pub version: u64,
    /// Whether it is over. A task that was told to stop is not over before its containers are.
    pub stopped: bool,
    /// Its containers.
    pub containers: Vec<Container>,
    /// Why it stopped, in the words of ECS.
    pub stopped_reason: Option<String>,
    /// When its containers began to run.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub stopped_at: Option<Timestamp>,
}

impl Task {
    /// What is remembered of it. Of several containers it is the one that failed that matters.
    #[must_use]
    pub fn end(&self) -> TaskEnd {
        let failed = |container: &&Container| container.exit_code.is_none_or(|code| code != 0);
        let told = self.containers.iter().find(failed);
        let container = told.or(self.containers.first());
        let reason = container.and_then(|container| container.reason.clone());
        TaskEnd {
            arn: self.arn.clone(),
            version: self.version,
            runtime_id: container.and_then(|container| container.runtime_id.clone()),
            exit_code: container.and_then(|container| container.exit_code),
            reason: reason.or_else(|| self.stopped_reason.clone()),
        }
    }

    /// Whether a task with this `lastStatus` is over. On its way down it is not, and a status that
    /// came after this was written is no evidence
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html>).
    #[must_use]
    pub fn is_over(last_status: &str) -> bool {
        last_status == "STOPPED"
    }
}

/// A container of a task
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Container.html>).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name in the task definition.
    pub name: String,
    /// Its id in the container runtime; none before it was created.
    pub runtime_id: Option<String>,
    /// What it ended with; none while it runs, and when it never ran.
    pub exit_code: Option<i64>,
    /// Why it could not run or was killed, such as `OutOfMemoryError: …`.
    pub reason: Option<String>,
}

/// What Lockstep asks of ECS.
pub trait Tasks: Send + Sync {
    /// The tasks of `group` where `work` says that they run: those at work, those on their way
    /// down, and those that ended so recently that ECS still lists them.
    ///
    /// ECS is eventually consistent: a task that was started a moment ago may be missing
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
    fn of_group(
        &self,
        work: &Work,
        group: &str,
    ) -> impl Future<Output = Result<Vec<Task>, TasksError>> + Send;

    /// Tells a task to stop. One that has stopped or does not exist needs no stopping.
    ///
    /// Its containers get SIGTERM, and SIGKILL after their `stopTimeout`
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html>).
    fn stop(
        &self,
        cluster: &str,
        task_arn: &str,
        reason: &str,
    ) -> impl Future<Output = Result<(), TasksError>> + Send;
}

/// What can go wrong with ECS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TasksError {
    /// ECS gave no clear answer.
    #[error("ECS gave no answer: {0}")]
    Unavailable(String),
    /// The function may not make the call, or the cluster is not there.
    #[error("ECS refuses the call: {0}")]
    Denied(String),
}

impl<T: Tasks> Tasks for &T {
    fn of_group(
        &self,
        work: &Work,
        group: &str,
    ) -> impl Future<Output = Result<Vec<Task>, TasksError>> + Send {
        (**self).of_group(work, group)
    }

    fn stop(
        &self,
        cluster: &str,
        task_arn: &str,
        reason: &str,
    ) -> impl Future<Output = Result<(), TasksError>> + Send {
        (**self).stop(cluster, task_arn, reason)
    }
}
