//! Frees the permits of dead and stale holders, freezes the lock because of a stale holder, and records
//! the task that a run ended with.
//!
//! Gathering evidence takes calls to other services. In the meantime the holder may renew or release, or
//! its execution may be redriven. So a recovery names the version of the lease under which its evidence
//! was gathered. If the lease has another version, the recovery changes nothing, and the caller reads
//! the lease again and judges it again.

use super::builder::TransitionBuilder;
use crate::domain::history::ended;
use crate::domain::{
    Act, Effect, ExecutionArn, Freeze, Lease, NoteTask, Outcome, Recover, RecoveryBasis, Run,
    RunGuard, RunId, RunOutcome, RunWrite, Snapshot, StalePolicy, TaskEnd, Timestamp, Transition,
};

/// Frees the permit of a dead or stale holder, and hands the permit over in the same write.
///
/// The outcome in the history follows from what is known of the end of the work. A success that was seen
/// takes precedence over all other outcomes, because it takes the run key. An eviction takes precedence
/// over a loss.
pub(super) fn decide(seen: &Snapshot, recover: &Recover, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&recover.holder, recover.token));
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    // The lease was renewed or has changed since, so the evidence is void.
    if lease.version() != recover.seen {
        return Transition::unchanged(Outcome::Unchanged);
    }
    let evidence = recover.evidence.clone();
    let (outcome, evidence) = match (recover.basis, &lease.exit.replaced_by) {
        // The holder has renewed its lease, and has exceeded no limit.
        (RecoveryBasis::Expired, _) if !lease.is_dead(now) && lease.is_spent(now).is_none() => {
            return Transition::unchanged(Outcome::Unchanged);
        }
        // The holder has confirmed its grant, and may have started a task since.
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
    // A silent execution continues under `yield`. A process has stopped its work before its lease ends.
    let runs_on = lease.stale == StalePolicy::Yield && outcome == RunOutcome::Lost;
    let runs_on = runs_on && ExecutionArn::of_holder(&recover.holder).is_some();
    builder.close(
        seen,
        &recover.holder,
        lease,
        end,
        runs_on,
        recover.retention,
    );
    // Only a holder that may be alive has a waiting heartbeat state: no state of an ended execution
    // waits.
    if recover.basis == RecoveryBasis::Expired {
        let beat = lease.beat.clone().map(Effect::EndHeartbeat);
        builder.effects.extend(beat);
    }
    builder.let_in(seen, now);
    let outcome = Some(outcome);
    builder.finish(Outcome::Freed { outcome }, now)
}

/// Freezes the lock, because a holder is stale and must not or cannot be stopped, or because the
/// evidence about it could not be read for an hour. The holder keeps its permit.
pub(super) fn freeze(seen: &Snapshot, freeze: &Freeze, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&freeze.holder, freeze.token));
    let unread = |lease: &Lease| now >= lease.freezes_without_evidence_at();
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

/// Records a task in the entry of its run in the history, whether the run holds its permit or has ended.
///
/// The event of a task may arrive before the end of the run, after it, or twice. So this command writes
/// only the entry, and the write that ends the run keeps the task that is in the entry
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
    if !is_newer_task(run.task.as_ref(), &note.task) {
        return nothing;
    }
    // The guard fails if another call has written an end, or a new end, since the entry was read: that
    // end must not be lost.
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

/// Returns whether `seen` is to be recorded: it is another task, or a later version of the same task.
/// Events may arrive twice and out of order.
fn is_newer_task(known: Option<&TaskEnd>, seen: &TaskEnd) -> bool {
    known.is_none_or(|known| known.arn != seen.arn || known.version < seen.version)
}
