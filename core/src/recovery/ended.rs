//! Reads from ECS tasks whether the work of a run succeeded.
//!
//! The end of the work decides about the run key, not the end of the execution around it. Work that
//! succeeded before its execution was aborted, or before its release reached the table, must not run
//! again.

use crate::domain::{Lease, Task, Work};

/// Returns whether the tasks show that the work of the run succeeded: every task of the last attempt
/// ended by itself, and its container [`TaskSet::container`](crate::domain::TaskSet::container) exited
/// with 0.
#[must_use]
pub fn tasks_succeeded(lease: &Lease, tasks: &[Task]) -> bool {
    let container = match &lease.work {
        Some(Work::Tasks(set)) => set.container.as_ref(),
        Some(Work::Workflow(_) | Work::States) | None => None,
    };
    // A retry of the state, or a redrive, starts another task in the same group. A failure of an earlier
    // attempt does not matter, so tasks that stopped before the last task started are left out.
    let last = tasks.iter().filter_map(|task| task.started_at).max();
    // Only a run with a named container succeeds by its tasks: the run of a user's own workflow may
    // consist of more than its tasks.
    let (Some(container), Some(last)) = (container, last) else {
        return false;
    };
    let mut of_last_attempt = tasks
        .iter()
        .filter(|task| task.stopped_at.is_none_or(|at| at >= last));
    of_last_attempt.all(|task| task.succeeded(container))
}
