//! ECS in memory, for tests of what stands above it.

#[cfg(test)]
mod tests;

use super::{ProtectionAnswer, Tasks, TasksError};
use crate::domain::{Task, TaskArn, Work};
use crate::faults::{Faults, lock};
use std::sync::Mutex;

/// ECS in memory: it knows what a test has told it, and remembers what it was asked to stop.
///
/// A stop is only remembered. How long a task takes to stop is the test's to say, by
/// [`Self::put`]ting it again.
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
    /// What every wish for protection is refused with.
    refusal: Option<(String, String)>,
}

#[derive(Debug)]
struct Placed {
    work: Work,
    group: String,
    task: Task,
}

/// A call of [`Tasks`], to let it fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TasksCall {
    /// [`Tasks::of_group`].
    OfGroup,
    /// [`Tasks::look`].
    Look,
    /// [`Tasks::stop`].
    Stop,
    /// [`Tasks::protect`].
    Protect,
}

/// What [`Tasks::stop`] was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopOfTask {
    /// In which cluster.
    pub cluster: String,
    /// Which task.
    pub task_arn: String,
    /// Why.
    pub reason: String,
}

impl MemoryTasks {
    /// `task` of `group` is where `work` says, as it is from now on. Its ARN tells it from others.
    pub fn put(&self, work: &Work, group: &str, task: Task) {
        let mut inner = lock(&self.inner);
        inner.placed.retain(|placed| placed.task.arn != task.arn);
        inner.placed.push(Placed {
            work: work.clone(),
            group: group.to_owned(),
            task,
        });
    }

    /// ECS no longer lists this task.
    pub fn forget(&self, task_arn: &str) {
        let mut inner = lock(&self.inner);
        inner.placed.retain(|placed| placed.task.arn != task_arn);
    }

    /// The next such call fails.
    pub fn fail_next(&self, call: TasksCall, error: TasksError) {
        self.faults.next(call, error);
    }

    /// Every such call fails, until [`Self::heal`].
    pub fn fail_every(&self, call: TasksCall, error: TasksError) {
        self.faults.every(call, error);
    }

    /// All calls succeed again.
    pub fn heal(&self) {
        self.faults.heal();
    }

    /// Every wish for protection is refused from now on, for this reason.
    pub fn refuse_protection(&self, reason: &str, detail: &str) {
        lock(&self.inner).refusal = Some((reason.to_owned(), detail.to_owned()));
    }

    /// What was wished of the protection of which tasks, in order: minutes, or none any more. A
    /// wish that was refused is among them.
    pub fn wishes(&self) -> Vec<(TaskArn, Option<u16>)> {
        lock(&self.inner).wishes.clone()
    }

    /// What was to be stopped, in order; tasks that had stopped before are named as well.
    pub fn stops(&self) -> Vec<StopOfTask> {
        lock(&self.inner).stops.clone()
    }
}

impl Tasks for MemoryTasks {
    async fn of_group(&self, work: &Work, group: &str) -> Result<Vec<Task>, TasksError> {
        self.faults.strike(&TasksCall::OfGroup)?;
        let inner = lock(&self.inner);
        let found = inner.placed.iter().filter(|placed| {
            let same_family = work.family.is_none() || placed.work.family == work.family;
            let same_cluster = name(&placed.work.cluster) == name(&work.cluster);
            same_cluster && same_family && placed.group == group
        });
        Ok(found.map(|placed| placed.task.clone()).collect())
    }

    async fn look(&self, task: &TaskArn) -> Result<Option<Task>, TasksError> {
        self.faults.strike(&TasksCall::Look)?;
        let inner = lock(&self.inner);
        let mut placed = inner.placed.iter();
        let found = placed.find(|placed| placed.task.arn == task.as_str());
        Ok(found.map(|placed| placed.task.clone()))
    }

    async fn stop(&self, cluster: &str, task_arn: &str, reason: &str) -> Result<(), TasksError> {
        self.faults.strike(&TasksCall::Stop)?;
        lock(&self.inner).stops.push(StopOfTask {
            cluster: cluster.to_owned(),
            task_arn: task_arn.to_owned(),
            reason: reason.to_owned(),
        });
        Ok(())
    }

    /// It has no clock, so it does not say until when.
    async fn protect(
        &self,
        task: &TaskArn,
        minutes: Option<u16>,
    ) -> Result<ProtectionAnswer, TasksError> {
        self.faults.strike(&TasksCall::Protect)?;
        let mut inner = lock(&self.inner);
        inner.wishes.push((task.clone(), minutes));
        if let Some((reason, detail)) = inner.refusal.clone() {
            return Ok(ProtectionAnswer::Refused { reason, detail });
        }
        let on = minutes.map(|_| ProtectionAnswer::On(None));
        Ok(on.unwrap_or(ProtectionAnswer::Off))
    }
}

/// A cluster goes by its name or its ARN, as with ECS.
fn name(cluster: &str) -> &str {
    cluster.rsplit('/').next().unwrap_or(cluster)
}
