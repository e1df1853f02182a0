//! ECS in memory, for tests.

#[cfg(test)]
mod tests;

use super::{ProtectionAnswer, Tasks, TasksError};
use crate::faults::{Faults, lock};
use lockstep_core::domain::{Task, TaskArn, TaskSet};
use std::sync::Mutex;

/// ECS in memory. It has the tasks that a test adds, and records the calls.
///
/// [`Tasks::stop`] only records the call. The test itself puts the stopped task by [`Self::put`].
#[derive(Debug, Default)]
pub struct MemoryTasks {
    inner: Mutex<Inner>,
    faults: Faults<TasksCall, TasksError>,
}

#[derive(Debug, Default)]
struct Inner {
    placed: Vec<Placed>,
    stops: Vec<StopOfTask>,
    wishes: Vec<(TaskArn, Option<u16>)>,
    /// The reason and detail with which every call of [`Tasks::protect`] is refused.
    refusal: Option<(String, String)>,
}

#[derive(Debug)]
struct Placed {
    work: TaskSet,
    group: String,
    task: Task,
}

/// A call of [`Tasks`] that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TasksCall {
    /// [`Tasks::of_group`].
    OfGroup,
    /// [`Tasks::describe`].
    Describe,
    /// [`Tasks::stop`].
    Stop,
    /// [`Tasks::protect`].
    Protect,
}

/// The arguments of a call of [`Tasks::stop`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopOfTask {
    /// The cluster.
    pub cluster: String,
    /// The task.
    pub task_arn: String,
    /// The reason.
    pub reason: String,
}

impl MemoryTasks {
    /// Adds `task` of `group` to the cluster and family of `work`, or replaces the task with the same ARN.
    pub fn put(&self, work: &TaskSet, group: &str, task: Task) {
        let mut inner = lock(&self.inner);
        inner.placed.retain(|placed| placed.task.arn != task.arn);
        inner.placed.push(Placed {
            work: work.clone(),
            group: group.to_owned(),
            task,
        });
    }

    /// Removes a task.
    pub fn forget(&self, task_arn: &str) {
        let mut inner = lock(&self.inner);
        inner.placed.retain(|placed| placed.task.arn != task_arn);
    }

    /// Makes the next `call` fail with `error`.
    pub fn fail_next(&self, call: TasksCall, error: TasksError) {
        self.faults.next(call, error);
    }

    /// Makes every `call` fail with `error` until [`Self::heal`].
    pub fn fail_every(&self, call: TasksCall, error: TasksError) {
        self.faults.every(call, error);
    }

    /// Leaves every call from now on without a response.
    pub fn silence(&self) {
        self.faults.silence();
    }

    /// Makes all calls succeed again.
    pub fn heal(&self) {
        self.faults.heal();
    }

    /// Makes ECS refuse every call of [`Tasks::protect`] from now on, with `reason` and `detail`.
    pub fn refuse_protection(&self, reason: &str, detail: &str) {
        lock(&self.inner).refusal = Some((reason.to_owned(), detail.to_owned()));
    }

    /// Returns the tasks and minutes of the calls of [`Tasks::protect`], in order, including the refused
    /// ones.
    pub fn wishes(&self) -> Vec<(TaskArn, Option<u16>)> {
        lock(&self.inner).wishes.clone()
    }

    /// Returns the calls of [`Tasks::stop`], in order, including those for stopped tasks.
    pub fn stops(&self) -> Vec<StopOfTask> {
        lock(&self.inner).stops.clone()
    }
}

impl Tasks for MemoryTasks {
    async fn of_group(&self, work: &TaskSet, group: &str) -> Result<Vec<Task>, TasksError> {
        self.faults.strike(&TasksCall::OfGroup).await?;
        let inner = lock(&self.inner);
        let found = inner.placed.iter().filter(|placed| {
            let same_family = work.family.is_none() || placed.work.family == work.family;
            let same_cluster = name(&placed.work.cluster) == name(&work.cluster);
            same_cluster && same_family && placed.group == group
        });
        Ok(found.map(|placed| placed.task.clone()).collect())
    }

    async fn describe(&self, task: &TaskArn) -> Result<Option<Task>, TasksError> {
        self.faults.strike(&TasksCall::Describe).await?;
        let inner = lock(&self.inner);
        let mut placed = inner.placed.iter();
        let found = placed.find(|placed| placed.task.arn == task.as_str());
        Ok(found.map(|placed| placed.task.clone()))
    }

    async fn stop(&self, cluster: &str, task_arn: &str, reason: &str) -> Result<(), TasksError> {
        self.faults.strike(&TasksCall::Stop).await?;
        lock(&self.inner).stops.push(StopOfTask {
            cluster: cluster.to_owned(),
            task_arn: task_arn.to_owned(),
            reason: reason.to_owned(),
        });
        Ok(())
    }

    /// Protects `task`. The answer has no end of the protection, because this type has no clock.
    async fn protect(
        &self,
        task: &TaskArn,
        minutes: Option<u16>,
    ) -> Result<ProtectionAnswer, TasksError> {
        self.faults.strike(&TasksCall::Protect).await?;
        let mut inner = lock(&self.inner);
        inner.wishes.push((task.clone(), minutes));
        if let Some((reason, detail)) = inner.refusal.clone() {
            return Ok(ProtectionAnswer::Refused { reason, detail });
        }
        let on = minutes.map(|_| ProtectionAnswer::On(None));
        Ok(on.unwrap_or(ProtectionAnswer::Off))
    }
}

/// Returns the name of a cluster, which requests give by name or by ARN.
fn name(cluster: &str) -> &str {
    cluster.rsplit('/').next().unwrap_or(cluster)
}
