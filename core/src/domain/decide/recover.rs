//! Dead and stale holders: frees their permits, freezes the lock, notes their tasks.
//!
//! Evidence takes calls of other services, during which the holder may renew, release or be
//! redriven. So a recovery names the version of the lease that its evidence was gathered under, and
//! changes nothing under another one: the caller reads the lease again and judges once more.

use super::builder::TransitionBuilder;
use crate::domain::history::ended;
use crate::domain::{
    Act, Effect, Freeze, Lease, NoteTask, Outcome, Recover, RecoveryBasis, Run, RunGuard, RunId,
    RunOutcome, RunWrite, Snapshot, TaskEnd, Timestamp, Transition,
};

/// Frees the permit of a dead or stale holder, and hands it over in the same write.
///
/// The outcome in the history follows what is known of the end of the work: a success that was seen
/// counts before everything else, since it takes the run key. An eviction counts before a loss.
pub(super) fn decide(seen: &Snapshot, recover: &Recover, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&recover.holder, recover.token));
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    // The run has shown a sign of life or has changed since, which voids the evidence.
    if lease.version() != recover.seen {
        return Transition::unchanged(Outcome::Unchanged);
    }
    let evidence = recover.evidence.clone();
    let (outcome, evidence) = match (recover.basis, &lease.exit.replaced_by) {
        // It has renewed its lease, and is within its limits.
        (RecoveryBasis::Expired, _) if !lease.is_dead(now) && lease.is_spent(now).is_none() => {
            return Transition::unchanged(Outcome::Unchanged);
        }
        // It has confirmed its grant, and may have started a task since.
        (RecoveryBasis::Unconfirmed, _) if lease.call.is_none() => {
            return Transition::unchanged(Outcome::Unchanged);
        }
        (RecoveryBasis::Seen, _) if recover.succeeded => (RunOutcome::Succeeded, evidence),
        (RecoveryBasis::Evicted, _) => (RunOutcome::Evicted, evidence),
        _ if let Some(by) = lease.exit.evicted() => {
            (RunOutcome::Evicted, format!("{by}; {evidence}"))
        }
        (RecoveryBasis::Expired, _) => (RunOutcome::Lost, evidence),
        (RecoveryBasis::Seen, Some(by)) => {
            let evidence = format!("replaced by {by}; {evidence}");
            (RunOutcome::Replaced, evidence)
        }
        (RecoveryBasis::Seen | RecoveryBasis::Unconfirmed, _) => (RunOutcome::Recovered, evidence),
    };
    let mut builder = TransitionBuilder::of(record);
    let end = ended(outcome, Some(evidence), recover.retention, now);
    builder.close(seen, &recover.holder, lease, end, recover.retention);
    // Only a holder that may be alive: the state of an execution that has ended waits no longer.
    if recover.basis == RecoveryBasis::Expired {
        let beat = lease.beat.clone().map(Effect::EndHeartbeat);
        builder.effects.extend(beat);
    }
    builder.let_in(seen, now);
    let outcome = Some(outcome);
    builder.finish(Outcome::Freed { outcome }, now)
}

/// Closes the lock for new grants, because its holder is stale and is not to be, or cannot be,
/// stopped. The holder keeps its permit.
pub(super) fn freeze(seen: &Snapshot, freeze: &Freeze, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&freeze.holder, freeze.token));
    let unread = |lease: &Lease| now >= lease.hidden_until();
    let stale = lease.filter(|lease| lease.staleness(now).is_some() || unread(lease));
    let (Some(record), Some(lease)) = (&seen.record, stale) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let note = freeze.note.clone();
    let mut next = record.clone();
    if !next.freeze(&note, now) {
        return Transition::unchanged(Outcome::Unchanged);
    }
    let outcome = Outcome::Frozen {
        note: note.clone(),
        expires_at: lease.expires_at,
    };
    let mut transition = Transition::to(next, outcome);
    if let Some(next) = &transition.next {
        let act = Act::freeze(next, &freeze.holder, note, freeze.retention, now);
        transition.act = Some(act);
    }
    transition
}

/// Notes a task in the run's entry in the history, whether the run holds its permit or has ended.
///
/// The event of a task comes beside the run: before its end, after it, or twice. So it writes the
/// entry alone, and the write that ends the run keeps a task that is there
/// ([`RunWrite::over`](crate::domain::RunWrite::over)).
pub(super) fn note_task(seen: &Snapshot, note: &NoteTask) -> Transition {
    let nothing = Transition::unchanged(Outcome::Unchanged);
    let id = RunId::Token(note.token);
    let record = seen.record.as_ref();
    let held = record.and_then(|record| record.holder_under(note.token));
    let begun =
        held.map(|(holder, lease)| Run::started(holder.clone(), note.token, lease.run_key.clone()));
    let Some(run) = seen.runs.get(&id).cloned().or(begun) else {
        return nothing;
    };
    if !is_news(run.task.as_ref(), &note.task) {
        return nothing;
    }
    // An entry that another call has ended, or ended once more, since it was read must not lose
    // that end.
    let guard = match run.end {
        Some(ref end) => RunGuard::EndedAt(note.token, end.at),
        None => RunGuard::OpenFor(note.token),
    };
    let run = Run {
        task: Some(note.task.clone()),
        ..run
    };
    Transition {
        runs: vec![(guard, RunWrite { id, run })],
        ..Transition::unchanged(Outcome::Done)
    }
}

/// Events come twice and out of order: of one task, only a later version is news.
fn is_news(known: Option<&TaskEnd>, seen: &TaskEnd) -> bool {
    known.is_none_or(|known| known.arn != seen.arn || known.version < seen.version)
}
