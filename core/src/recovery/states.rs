//! Evidence about work that consists of the states of a workflow: of the holder's own execution, as in a
//! woven workflow, or of another workflow.
//!
//! Lockstep does not start the tasks of such states, so they have no task group of Lockstep. Usually a
//! task ends before the state that waits for it. There are two exceptions:
//!
//! - A failed call of RunTask may have started a task.
//! - A state that timed out, or was stopped because another state failed, may leave its task running.
//!
//! The history of the execution contains the call, and ECS lists the tasks that fit it.

use super::evidence::at_work;
use super::{Action, Evidence, ExecutionObservation, LIST_LAG, STOP_SETTLES, WorkObservation};
use crate::domain::{
    CLOCK_SKEW, EndingCause, ExecutionArn, ExecutionEnd, ExecutionState, FailedStart, Lease,
    RecoveryBasis, Task, Timestamp,
};

/// Returns the execution whose history has to be read before `action` frees the permit: the execution
/// `holder` if its own states are the work, or the execution that does the work. Returns `None` if that
/// execution succeeded, because then it left no task running.
pub(super) fn unread(
    holder: &ExecutionArn,
    lease: &Lease,
    evidence: &Evidence,
    action: &Action,
) -> Option<ExecutionArn> {
    if !matches!(action, Action::Recover { .. }) {
        return None;
    }
    let failed =
        |state| matches!(state, ExecutionState::Ended(end) if end != ExecutionEnd::Succeeded);
    match (&evidence.work, &evidence.execution) {
        (WorkObservation::States(None), ExecutionObservation::Seen(seen)) => {
            let cut = seen.state == ExecutionState::Running && is_over(lease);
            (failed(seen.state) || cut).then(|| holder.clone())
        }
        (WorkObservation::Execution(Some((work, seen))), _) => {
            failed(seen.state).then(|| work.clone())
        }
        _ => None,
    }
}

/// Returns the action on a holder that has reported the end of its guarded states while its execution
/// runs; `None` for any other holder. The states after the guarded ones are not under the lock, so
/// nothing is stopped.
pub(super) fn over(lease: &Lease, evidence: &Evidence, now: Timestamp) -> Option<Action> {
    let since = lease.exit.ending.as_ref().filter(|_| is_over(lease))?.since;
    if !matches!(evidence.work, WorkObservation::States(_)) {
        return None;
    }
    let waits = now < since.plus(STOP_SETTLES) || !at_work(&evidence.work).is_empty();
    Some(match waits {
        true => Action::Leave,
        false => Action::Recover {
            basis: RecoveryBasis::Seen,
            succeeded: false,
            evidence: "the execution reported that its guarded states have ended".into(),
        },
    })
}

fn is_over(lease: &Lease) -> bool {
    lease.exit.cause() == Some(&EndingCause::Over)
}

/// Returns whether the failed call `start` may have created `task`: the task was created between the
/// call and [`LIST_LAG`] after its failure, with [`CLOCK_SKEW`] before the call allowed for. A task
/// without a time may belong to any call.
#[must_use]
pub fn may_be_created_by(task: &Task, start: &FailedStart) -> bool {
    task.created_at.is_none_or(|at| {
        start.called_at <= at.plus(CLOCK_SKEW) && at <= start.failed_at.plus(LIST_LAG)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::TaskSet;
    use crate::testing::task;

    #[test]
    fn a_task_belongs_to_a_call_only_if_created_during_or_10_s_after_it() {
        let at = Timestamp::from_millis;
        let start = FailedStart {
            tasks: TaskSet {
                cluster: "jobs".into(),
                family: None,
                container: None,
            },
            group: "family:report".into(),
            called_at: at(100_000),
            failed_at: at(103_000),
        };
        for (created, expected) in [
            (Some(98_999), false),
            (Some(99_000), true),
            (Some(113_000), true),
            (Some(113_001), false),
            (None, true),
        ] {
            let task = Task {
                created_at: created.map(at),
                ..task("t", false)
            };
            assert_eq!(may_be_created_by(&task, &start), expected, "{created:?}");
        }
    }
}
