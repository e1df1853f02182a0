//! A holder, as show and evict see it: the verdict of a check that writes nothing.

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

/// Time between two sweeps: the schedule of the template.
const SWEEP_INTERVAL: Seconds = Seconds::of(60);

/// Judges a holder. A call of another service that fails is part of the verdict.
pub(super) async fn judge<P: Ports>(
    deps: &Deps<P>,
    lock: &LockKey,
    holder: &HolderId,
    lease: &Lease,
) -> Result<Verdict, Error> {
    let judged = deps.recovery().judge(lock, holder, lease).await;
    judged.map_err(|error| Error::of_command(lock, error))
}

/// The holder with the state of its execution, task and work.
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
        // States of the execution itself run as long as it does.
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

/// What a check does about the holder next. `due` is when the sweep checks its lock.
pub(super) fn next_view(lease: &Lease, next: &Next, due: Option<Timestamp>) -> NextView {
    NextView {
        action: words(&next.action).0,
        from: rfc3339(next.from),
        by: rfc3339(latest(lease, next, due)),
        why: why(&next.action).map(str::to_owned),
    }
}

/// When the sweep has taken the action at the latest, if no event and no caller takes it earlier.
pub(super) fn latest(lease: &Lease, next: &Next, due: Option<Timestamp>) -> Timestamp {
    let swept = match lease.is_swept(next.from) {
        true => next.from,
        false => lease.dead_at(),
    };
    // The sweep takes a lock only `DEAD_AFTER` after it is due.
    due.map_or(swept, |due| due.plus(DEAD_AFTER).max(swept))
        .plus(SWEEP_INTERVAL)
}

/// Why the action is taken, where that takes more than its name.
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

/// The action as a word, and as a predicate of the check that takes it.
pub(super) fn words(action: &Action) -> (&'static str, &'static str) {
    match action {
        Action::Leave => ("leave", "leaves it"),
        Action::Wake => ("wake", "sends it the grant again"),
        Action::Suspect => ("suspect", "marks it as a suspect"),
        Action::DropReplacer { .. } => (
            "dropReplacer",
            "takes the run that waits to replace it out of the queue",
        ),
        Action::Recover { .. } => ("recover", "frees the permit"),
        Action::Stop {
            execution: false,
            work,
            ..
        } if work.is_empty() => ("markEnding", "marks it as ending"),
        Action::Stop { .. } => ("stop", "stops it, and frees the permit when it has stopped"),
        Action::Freeze { .. } => ("freeze", "freezes the lock"),
        Action::Refrain { .. } => (
            "reportNotStopped",
            "raises the alert that it is not stopped",
        ),
        Action::Alert { .. } => (
            "reportMissingEvidence",
            "raises the alert that evidence is missing",
        ),
    }
}

/// The action as the gate of the lock allows it: a lock that is closed does not freeze, and stops no holder for a run
/// that it would not let in.
pub(super) fn through(record: &LockRecord, next: Next) -> Option<Next> {
    let gate = &record.gate;
    match &next.action {
        Action::Freeze { .. } => gate.mode.is_open(next.from).then_some(next),
        Action::Stop {
            commit: Commitment::Stop(StopReason::Replaced),
            ..
        } if record.has_room() => None,
        Action::Stop {
            commit: Commitment::Stop(StopReason::Replaced),
            ..
        } => Some(Next {
            from: next.from.max(gate.opens_at()?),
            ..next
        }),
        _ => Some(next),
    }
}

/// `UNKNOWN` and `HIDDEN` are no statuses of Step Functions: it does not know the execution, or it
/// cannot be described.
fn execution(arn: Option<&ExecutionArn>, observed: &ExecutionObservation) -> ExecutionView {
    let (status, stopped_at, hidden) = match observed {
        ExecutionObservation::Seen(seen) => (status(seen), seen.stopped_at, None),
        ExecutionObservation::Unknown | ExecutionObservation::NotOne => ("UNKNOWN", None, None),
        ExecutionObservation::Hidden(why) => ("HIDDEN", None, Some(why.clone())),
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
