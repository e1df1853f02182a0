//! ECS as its API shows it.

use super::{TaskRow, TaskStatus, stop_task};
use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{Timestamp, Work};
use lockstep::tasks::{Container, ProtectionAnswer, Task, TaskArn, Tasks, TasksError};
use std::sync::Arc;

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
}

impl Tasks for SimTasks {
    async fn of_group(&self, _: &Work, group: &str) -> Result<Vec<Task>, TasksError> {
        self.reach().await?;
        let now = self.0.now();
        let cloud = locked(&self.0.cloud);
        let of_group = cloud
            .tasks
            .iter()
            .filter(|(_, row)| row.group == group && row.listed <= now);
        Ok(of_group.map(|(arn, row)| seen(arn, row)).collect())
    }

    async fn look(&self, task: &TaskArn) -> Result<Option<Task>, TasksError> {
        self.reach().await?;
        let cloud = locked(&self.0.cloud);
        let found = cloud.tasks.get_key_value(task.as_str());
        Ok(found.map(|(arn, row)| seen(arn, row)))
    }

    async fn stop(&self, _: &str, arn: &str, why: &str) -> Result<(), TasksError> {
        self.reach().await?;
        self.0.count("tasks stopped by Lockstep");
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

fn seen(arn: &str, row: &TaskRow) -> Task {
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
        started_at: row.started.map(Timestamp::from_millis),
        stopped_at: row.stopped.map(Timestamp::from_millis),
    }
}
