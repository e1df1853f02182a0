//! ECS tasks of a run: lists, describes and stops them, and sets their scale-in protection.

#[cfg(feature = "aws")]
pub mod ecs;
#[cfg(feature = "test-util")]
pub mod memory;

use auto_impl::auto_impl;
use lockstep_core::domain::{Task, TaskArn, TaskSet, Timestamp};

/// Longest protection of a task, in minutes
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateTaskProtection.html>).
pub const PROTECTION_MAX: u16 = 2880;

/// The result of a call of UpdateTaskProtection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtectionAnswer {
    /// The task is protected, until this time if ECS returns one.
    On(Option<Timestamp>),
    /// The task is not protected.
    Off,
    /// ECS refused, and the protection is unchanged
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/api_failures_messages.html>).
    Refused {
        /// The reason that ECS returned: `DEPLOYMENT_BLOCKED`, `TASK_NOT_VALID`, `MISSING`.
        reason: String,
        /// The detail that ECS returned.
        detail: String,
    },
}

/// The calls to ECS.
#[auto_impl(&, Arc)]
pub trait Tasks: Send + Sync {
    /// Returns the tasks of `group` in the cluster and the family of `work`: those that run or are stopping,
    /// and those that ECS still lists after their stop.
    ///
    /// ECS is eventually consistent: a task that was started a moment ago may be missing
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
    fn of_group(
        &self,
        work: &TaskSet,
        group: &str,
    ) -> impl Future<Output = Result<Vec<Task>, TasksError>> + Send;

    /// Returns one task, running or stopped, or `None` if ECS does not know it.
    ///
    /// DescribeTasks returns a stopped task for some time after its stop, and a new task with a delay
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeTasks.html>).
    fn describe(
        &self,
        task: &TaskArn,
    ) -> impl Future<Output = Result<Option<Task>, TasksError>> + Send;

    /// Stops a task by StopTask. Succeeds also if the task has stopped or does not exist.
    ///
    /// The containers of the task get SIGTERM, and SIGKILL after their `stopTimeout`
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_StopTask.html>).
    fn stop(
        &self,
        cluster: &str,
        task_arn: &str,
        reason: &str,
    ) -> impl Future<Output = Result<(), TasksError>> + Send;

    /// Protects the task of a service from scale-in and deployments by UpdateTaskProtection, for `minutes`
    /// from now: 1 to [`PROTECTION_MAX`]. `None` ends the protection. Each call replaces the end that an
    /// earlier call set
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateTaskProtection.html>).
    fn protect(
        &self,
        task: &TaskArn,
        minutes: Option<u16>,
    ) -> impl Future<Output = Result<ProtectionAnswer, TasksError>> + Send;
}

/// An error of a call to ECS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TasksError {
    /// ECS gave no clear answer. A retry may succeed.
    #[error("ECS gave no answer: {0}")]
    Unavailable(String),
    /// The call is not allowed or not valid, or its target does not exist. A retry does not help.
    #[error("ECS refuses the call: {0}")]
    Denied(String),
}
