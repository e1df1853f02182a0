//! What is true of executions and tasks, whatever an API says of them.

mod ecs;
mod executions;
mod step_functions;
mod tasks;

pub(crate) use ecs::SimTasks;
pub(crate) use executions::{abort, begin, begin_again, close_state, end, has_failed, open_state};
pub(crate) use step_functions::SimExecutions;
pub(crate) use tasks::{Batch, await_task, place, run_task, stop_task};

use crate::engine::JobId;
use crate::slot::Slot;
use lockstep::domain::{FencingToken, HolderId, LockKey, TaskToken, Work};
use lockstep::executions::{ExecutionArn, ExecutionEnd};
use serde_json::Value;
use std::collections::BTreeMap;

/// Step Functions and ECS, as they are.
#[derive(Default)]
pub(crate) struct Cloud {
    pub(crate) executions: BTreeMap<ExecutionArn, ExecutionRow>,
    pub(crate) states: BTreeMap<TaskToken, WaitingState>,
    pub(crate) tasks: BTreeMap<String, TaskRow>,
}

/// An execution.
pub(crate) struct ExecutionRow {
    pub(crate) lock: LockKey,
    pub(crate) started: u64,
    pub(crate) ended: Option<(u64, ExecutionEnd)>,
    /// When it was last started again after its end.
    pub(crate) redriven: Option<u64>,
    pub(crate) job: JobId,
    /// Whether its work has succeeded: a redrive does not repeat it.
    pub(crate) worked: bool,
}

/// A state that waits for its task token.
pub(crate) struct WaitingState {
    pub(crate) execution: ExecutionArn,
    pub(crate) answer: Slot<Value>,
}

/// An ECS task.
pub(crate) struct TaskRow {
    pub(crate) lock: LockKey,
    pub(crate) holder: HolderId,
    pub(crate) token: FencingToken,
    pub(crate) group: String,
    pub(crate) work: Work,
    pub(crate) status: TaskStatus,
    pub(crate) version: u64,
    /// Since when lists show it.
    pub(crate) listed: u64,
    pub(crate) started: Option<u64>,
    pub(crate) stopped: Option<u64>,
    pub(crate) exit_code: Option<i64>,
    /// Tells the container to stop.
    pub(crate) signal: Slot<()>,
    /// Tells whoever waits for the end.
    pub(crate) over: Slot<i64>,
}

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskStatus {
    Pending,
    Running,
    Stopping,
    Stopped,
}

impl TaskStatus {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Stopping => "STOPPING",
            Self::Stopped => "STOPPED",
        }
    }
}

impl Cloud {
    /// Whether the execution behind `holder` runs; `None` when the holder is no execution.
    pub(crate) fn runs(&self, holder: &HolderId) -> Option<bool> {
        let arn = ExecutionArn::of_holder(holder)?;
        let row = self.executions.get(&arn);
        Some(row.is_some_and(|row| row.ended.is_none()))
    }

    /// The tasks of `holder` that are not over.
    pub(crate) fn live_tasks<'a>(
        &'a self,
        holder: &'a HolderId,
    ) -> impl Iterator<Item = (&'a String, &'a TaskRow)> {
        let live = |row: &TaskRow| row.holder == *holder && row.status != TaskStatus::Stopped;
        self.tasks.iter().filter(move |(_, row)| live(row))
    }

    /// Whether anything of the cloud is still at work.
    pub(crate) fn is_busy(&self) -> bool {
        let runs = self.executions.values().any(|row| row.ended.is_none());
        let works = self
            .tasks
            .values()
            .any(|row| row.status != TaskStatus::Stopped);
        runs || works
    }
}
