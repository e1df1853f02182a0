//! How the work of a run ended.
//!
//! A run key follows the end of the work and not that of the execution around it. Work that had
//! succeeded before its execution was aborted, or before its release reached the table, must not
//! run again.

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
    // A retry of the state, or a redrive, starts another task in the same group. A failure of the
    // first attempt says nothing of the last, so tasks that had stopped before the last one began
    // are left out.
    let last = tasks.iter().filter_map(|task| task.started_at).max();
    // Only where a container is named as the run: a workflow of the user's own may be more than its
    // tasks.
    let (Some(container), Some(last)) = (container, last) else {
        return false;
    };
    let mut of_last_attempt = tasks
        .iter()
        .filter(|task| task.stopped_at.is_none_or(|at| at >= last));
    of_last_attempt.all(|task| task.succeeded(container))
}
