//! The ECS tasks of a run: which they are, how to stop one, and how to have one spared.

#[cfg(feature = "aws")]
pub mod ecs;
#[cfg(feature = "test-util")]
pub mod memory;

use crate::domain::{Task, TaskArn, Timestamp, Work};

/// Longest protection of a task, in minutes
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateTaskProtection.html>).
pub const PROTECTION_MAX: u16 = 2880;

/// What ECS says to a wish about the protection of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtectionAnswer {
    /// The task is protected; until when, where ECS says so.
    On(Option<Timestamp>),
    /// The task is not protected.
    Off,
    /// It is as it was
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html>).
    Refused {
        /// Why, as ECS calls it: `DEPLOYMENT_BLOCKED`, `TASK_NOT_VALID`, `MISSING`.
        reason: String,
        /// Why, in the words of ECS.
        detail: String,
    },
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

    /// One task, at work or over; `None` when ECS does not know it.
    ///
    /// ECS shows a task for some time after it has stopped, and a new one some moments late
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeTasks.html>).
    fn look(&self, task: &TaskArn)
    -> impl Future<Output = Result<Option<Task>, TasksError>> + Send;

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

    /// Has scale-in and deployments spare the task of a service for `minutes` from now, 1 to
    /// [`PROTECTION_MAX`]; or no longer, where there are none. Each call sets the end anew
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateTaskProtection.html>).
    fn protect(
        &self,
        task: &TaskArn,
        minutes: Option<u16>,
    ) -> impl Future<Output = Result<ProtectionAnswer, TasksError>> + Send;
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

    fn look(
        &self,
        task: &TaskArn,
    ) -> impl Future<Output = Result<Option<Task>, TasksError>> + Send {
        (**self).look(task)
    }

    fn stop(
        &self,
        cluster: &str,
        task_arn: &str,
        reason: &str,
    ) -> impl Future<Output = Result<(), TasksError>> + Send {
        (**self).stop(cluster, task_arn, reason)
    }

    fn protect(
        &self,
        task: &TaskArn,
        minutes: Option<u16>,
    ) -> impl Future<Output = Result<ProtectionAnswer, TasksError>> + Send {
        (**self).protect(task, minutes)
    }
}
