//! ECS as its API shows it.

use super::{TaskRow, TaskStatus, stop_task};
use crate::engine::locked;
use crate::witness;
use crate::world::World;
use lockstep::domain::{Container, Task, TaskArn, TaskSet, Timestamp};
use lockstep::tasks::{ProtectionAnswer, Tasks, TasksError};
use std::sync::Arc;

/// How far DescribeTasks may be behind the events, in milliseconds.
const LAG: u64 = 5000;

/// ECS as its API shows it.
#[derive(Clone)]
pub(crate) struct SimTasks(pub(crate) Arc<World>);

impl SimTasks {
    async fn reach(&self) -> Result<(), TasksError> {
        self.0.linger(5..=40).await;
        if self.0.fault(20) {
            self.0.count("ECS unavailable");
            return Err(TasksError::Unavailable("simulated".into()));
        }
        Ok(())
    }

    /// Which time the answer shows: ECS is eventually consistent.
    fn shown(&self) -> u64 {
        let now = self.0.now();
        if self.0.fault(100) {
            self.0.count("old answers of ECS");
            return now - self.0.number(0..=LAG);
        }
        now
    }
}

impl Tasks for SimTasks {
    async fn of_group(&self, work: &TaskSet, group: &str) -> Result<Vec<Task>, TasksError> {
        self.reach().await?;
        let (now, shown) = (self.0.now(), self.shown());
        let cloud = locked(&self.0.cloud);
        let of_group = cloud
            .tasks
            .iter()
            .filter(|(_, row)| is_at(row, work, group))
            .filter(|(_, row)| row.listed <= now);
        Ok(of_group.map(|(arn, row)| seen(arn, row, shown)).collect())
    }

    async fn describe(&self, task: &TaskArn) -> Result<Option<Task>, TasksError> {
        self.reach().await?;
        let shown = self.shown();
        let cloud = locked(&self.0.cloud);
        let found = cloud.tasks.get_key_value(task.as_str());
        Ok(found.map(|(arn, row)| seen(arn, row, shown)))
    }

    async fn stop(&self, _: &str, arn: &str, why: &str) -> Result<(), TasksError> {
        self.reach().await?;
        self.0.count("tasks stopped by Lockstep");
        witness::stops_task(&self.0, arn);
        stop_task(&self.0, arn, why);
        Ok(())
    }

    /// No task here belongs to a service.
    async fn protect(&self, _: &TaskArn, _: Option<u16>) -> Result<ProtectionAnswer, TasksError> {
        self.reach().await?;
        Ok(ProtectionAnswer::Refused {
            reason: "TASK_NOT_VALID".into(),
            detail: "not a task of a service".into(),
        })
    }
}

/// ListTasks takes a cluster by its name or its ARN, and narrows by family.
fn is_at(row: &TaskRow, work: &TaskSet, group: &str) -> bool {
    let cluster = work.cluster.rsplit('/').next();
    let family = work.family.as_deref();
    row.request.as_ref().is_some_and(|request| {
        cluster == Some(&request.cluster)
            && family.is_none_or(|name| name == request.family())
            && request.group() == group
    })
}

fn seen(arn: &str, row: &TaskRow, at: u64) -> Task {
    let row = row.at(at);
    let container = Container {
        name: "job".into(),
        runtime_id: row.started.map(|at| format!("{at}-1")),
        exit_code: row.exit_code,
        reason: None,
    };
    Task {
        arn: arn.to_owned(),
        version: row.version,
        stopped: row.status == TaskStatus::Stopped,
        containers: vec![container],
        stopped_reason: row
            .stopped
            .map(|_| "Essential container in task exited".into()),
        ended_by_itself: Task::is_own_end(
            row.stopping.map(|(_, code)| code),
            row.exited.map(Timestamp::from_millis),
            row.stopping.map(|(at, _)| Timestamp::from_millis(at)),
        ),
        started_at: row.started.map(Timestamp::from_millis),
        stopped_at: row.stopped.map(Timestamp::from_millis),
    }
}
