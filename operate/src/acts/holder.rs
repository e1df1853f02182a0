//! A holder as `show` and `evict` see it: the verdict of a check that writes nothing.

use crate::contract::{ExecutionView, HolderView, NextView, TaskView};
use lockstep::error::Error;
use lockstep::events::console;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{
    DEAD_AFTER, ExecutionArn, ExecutionDescription, ExecutionState, HolderId, Lease, LockKey,
    LockRecord, Seconds, StopReason, TaskArn, Timestamp, rfc3339,
};
use lockstep_core::recovery::{
    Action, Commitment, ExecutionObservation, Next, TaskObservation, Verdict, WorkObservation,
};

/// Time between two sweeps, as scheduled in the SAM template.
const SWEEP_INTERVAL: Seconds = Seconds::of(60);

/// Judges a holder. A failed call to Step Functions or ECS is part of the verdict and not an error.
pub(super) async fn judge<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    holder: &HolderId,
    lease: &Lease,
) -> Result<Verdict, Error> {
    let judged = deps.recovery().judge(lock, holder, lease).await;
    judged.map_err(|error| Error::of_command(lock, error))
}

/// Returns the view of a holder, with the state of its execution, task and work.
pub(super) fn view(holder: &HolderId, verdict: &Verdict, now: Timestamp) -> HolderView {
    let mut view = HolderView::of(holder, &verdict.lease, now);
    if let Some(arn) = ExecutionArn::of_holder(holder) {
        view.execution = Some(execution(Some(&arn), &verdict.described));
    }
    match &verdict.evidence.task {
        TaskObservation::Seen(task) => {
            let container = TaskArn::container_of(holder);
            view.tasks.push(TaskView::of(task, container));
        }
        TaskObservation::Hidden(why) => view.hidden = Some(why.clone()),
        TaskObservation::Unknown | TaskObservation::NotOne => {}
    }
    match &verdict.evidence.work {
        // The states of an execution run for as long as the execution itself, which the view contains
        // already.
        WorkObservation::NotNamed | WorkObservation::States(None) => {}
        WorkObservation::Tasks(tasks) | WorkObservation::States(Some(tasks)) => {
            let views = tasks.iter().map(|task| TaskView::of(task, None));
            view.tasks.extend(views);
        }
        WorkObservation::Execution(None) => {
            view.workflow = Some(execution(None, &ExecutionObservation::Unknown));
        }
        WorkObservation::Execution(Some((arn, seen))) => {
            let seen = ExecutionObservation::Seen(*seen);
            view.workflow = Some(execution(Some(arn), &seen));
        }
        WorkObservation::Hidden(why) => view.hidden = Some(why.clone()),
    }
    view
}

/// Returns the view of what a check does to the holder of `record` next.
pub(super) fn next_view(record: &LockRecord, lease: &Lease, next: &Next) -> NextView {
    NextView {
        action: words(&next.action).0,
        from: rfc3339(next.from),
        by: rfc3339(latest(record, lease, next)),
        why: why(&next.action).map(str::to_owned),
    }
}

/// Returns the time by which a sweep has taken the action, if no event and no acquire leads to it earlier.
pub(super) fn latest(record: &LockRecord, lease: &Lease, next: &Next) -> Timestamp {
    let is_checked = match record.gate.is_frozen() {
        true => lease.is_due_without_limits(next.from),
        false => lease.is_checked_by_sweep(next.from),
    };
    let swept = match is_checked {
        true => next.from,
        false => lease.dead_at(),
    };
    // The sweep takes a lock only `DEAD_AFTER` after it is due. A sweep that comes before the action writes when the lock is
    // due next.
    let due = match record.due {
        Some(due) if due.plus(DEAD_AFTER) < next.from => record.next_due(),
        due => due,
    };
    due.map_or(swept, |due| due.plus(DEAD_AFTER).max(swept))
        .plus(SWEEP_INTERVAL)
}

/// Returns the reason for the action; `None` for an action whose name says enough.
pub(super) fn why(action: &Action) -> Option<&str> {
    match action {
        Action::Recover { evidence, .. } => Some(evidence),
        Action::Stop { why, .. }
        | Action::Freeze { why }
        | Action::Refrain { why }
        | Action::Alert { why } => Some(why),
        Action::Leave | Action::Wake | Action::Suspect | Action::DropReplacer { .. } => None,
    }
}

/// Returns the action as a word of the JSON contract, and as a predicate for a sentence about Lockstep.
pub(super) fn words(action: &Action) -> (&'static str, &'static str) {
    match action {
        Action::Leave => ("leave", "leaves the holder alone"),
        Action::Wake => ("wake", "sends the holder its grant again"),
        Action::Suspect => (
            "suspect",
            "marks the holder as a suspect, and applies its stale policy if it stays silent for another heartbeat",
        ),
        Action::DropReplacer { .. } => (
            "dropReplacer",
            "removes the run that waits to replace the holder from the queue",
        ),
        Action::Recover { .. } => ("recover", "frees the permit"),
        Action::Stop {
            execution: false,
            work,
            ..
        } if work.is_empty() => (
            "markEnding",
            "marks the holder as ending, and frees the permit once its work has stopped",
        ),
        Action::Stop { .. } => (
            "stop",
            "stops the holder, and frees the permit once its work has stopped",
        ),
        Action::Freeze { .. } => (
            "freeze",
            "freezes the lock, which then grants no permit until an operator resumes it",
        ),
        Action::Refrain { .. } => (
            "reportNotStopped",
            "publishes an alert that the holder is not stopped",
        ),
        Action::Alert { .. } => (
            "reportMissingEvidence",
            "publishes an alert that evidence is missing",
        ),
    }
}

/// Returns what a check does to a holder of `record` next, or `None` if no later check acts. The gate of the lock limits
/// two actions:
/// - a closed lock does not freeze;
/// - a holder is stopped for its replacer only when the lock would grant the replacer a permit: never while a permit is
///   free, and not before the gate opens.
pub(super) fn next_action(record: &LockRecord, verdict: &Verdict) -> Option<Next> {
    let opens_at = record.gate.opens_at();
    let turns = opens_at.into_iter().chain(record.gate.mode.pause_end());
    verdict.next_where(turns, |action, at| match action {
        Action::Freeze { .. } => record.gate.mode.is_open(at),
        Action::Stop {
            commit: Commitment::Stop(StopReason::Replaced),
            ..
        } => !record.has_room() && opens_at.is_some_and(|opens| at >= opens),
        _ => true,
    })
}

/// Returns the view of an execution. Two of its statuses are not from Step Functions: `UNKNOWN` for an
/// execution that Step Functions does not know, and `HIDDEN` for one that could not be described.
fn execution(arn: Option<&ExecutionArn>, observed: &ExecutionObservation) -> ExecutionView {
    let (status, stopped_at, hidden) = match observed {
        ExecutionObservation::Seen(seen) => (status(seen), seen.stopped_at, None),
        ExecutionObservation::Unknown | ExecutionObservation::NotOne => ("UNKNOWN", None, None),
        ExecutionObservation::Hidden(why) | ExecutionObservation::Unanswered(why) => {
            ("HIDDEN", None, Some(why.clone()))
        }
    };
    ExecutionView {
        arn: arn.map(ToString::to_string),
        console: arn.and_then(console::execution),
        status,
        stopped_at: stopped_at.map(rfc3339),
        hidden,
    }
}

fn status(seen: &ExecutionDescription) -> &'static str {
    match seen.state {
        ExecutionState::Running => "RUNNING",
        ExecutionState::Ended(end) => end.as_str(),
    }
}
