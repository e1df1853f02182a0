//! Acts of operators: pause, resume, drop a waiter, clear a rest, free a run key, start a run. Each act
//! leaves an entry in the history.
//!
//! Each act but a start can be repeated: if the lock is in the requested state already, nothing is
//! written, and the history gets no second entry. The key of an entry is the version of the record that
//! the act wrote. Each write has its own version, so an act is in the history once.

use super::builder::TransitionBuilder;
use crate::domain::history::ended;
use crate::domain::{
    Act, ActKind, AuditNote, Dismissal, DropWaiter, Effect, Forget, HolderId, LockRecord, Mode,
    Opening, Outcome, Permits, Refusal, Restart, Run, RunGuard, RunId, RunOutcome, RunWrite,
    Snapshot, StalePolicy, Timestamp, Transition,
};

/// Pauses the lock: its holders keep their permits, and no permit is granted. A lock may be paused
/// before its first run.
///
/// # Errors
/// [`Refusal::Frozen`] if the lock is frozen: an operator has to check its holder first.
pub(super) fn pause(
    seen: &Snapshot,
    audit: &AuditNote,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    // A lock without a record gets one. Its capacity does not matter, because an idle lock takes the
    // capacity of its first caller.
    let record = seen.record.clone();
    let mut next = record.unwrap_or_else(|| LockRecord::new(Permits::ONE));
    let before = next.gate.clone();
    let paused = next.gate.pause(audit.signed(), until);
    paused.map_err(|note| Refusal::Frozen { note })?;
    if next.gate == before {
        return Ok(Transition::unchanged(Outcome::Unchanged));
    }
    next.due_if_idle();
    // The sweep resumes the lock at the end of the pause. An idle lock would never be due otherwise.
    if let Some(end) = until {
        next.due_by(end);
    }
    let paused = Transition::to(next, Outcome::Done);
    Ok(ordered(paused, ActKind::Paused, audit, now))
}

/// Opens the lock or ends its rest, and hands a free permit over to the first waiter in the same write.
///
/// The sweep ends an expired pause. Until then the lock grants permits like an open lock.
pub(super) fn open(
    seen: &Snapshot,
    opening: Opening,
    audit: &AuditNote,
    now: Timestamp,
) -> Transition {
    let applies = |record: &&LockRecord| match opening {
        Opening::Resume => record.gate.mode != Mode::Open,
        // An operator may have paused the lock anew or resumed it since the sweep read it. If a holder
        // under `hold` is stale, the lock freezes next and is not opened in between.
        Opening::PauseEnd => {
            let is_over = record.gate.mode.pause_end().is_some_and(|end| end <= now);
            is_over && record.why_frozen(now).is_none()
        }
        Opening::Rest => record.gate.not_before > now,
    };
    let Some(record) = seen.record.as_ref().filter(applies) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    match opening {
        Opening::Resume => {
            builder.next.open(now);
            // The operator who resumes a frozen lock has checked its holder. For a paused lock that is
            // not known.
            if record.gate.is_frozen() {
                excuse(&mut builder.next, now);
                // While the lock was frozen, the limits of its holders did not make it due.
                if let Some(due) = builder.next.next_due() {
                    builder.next.due_by(due);
                }
            }
        }
        Opening::PauseEnd => builder.next.open(now),
        Opening::Rest => builder.next.gate.not_before = now,
    }
    builder.next.due_if_idle();
    // A holder that is to be replaced is stopped only when the lock is open.
    if builder
        .next
        .holders
        .values()
        .any(|lease| lease.exit.replaced_by.is_some())
    {
        builder.next.due_by(now);
    }
    builder.let_in(seen, now);
    let kind = match opening {
        Opening::Resume | Opening::PauseEnd => ActKind::Resumed,
        Opening::Rest => ActKind::RestCleared,
    };
    ordered(builder.finish(Outcome::Done, now), kind, audit, now)
}

/// Gives new time to the holders because of which the lock froze, because the operator has decided that
/// they may continue. Otherwise the next heartbeat or check of such a holder would freeze the lock
/// again.
///
/// - If the evidence about a holder could not be read for an hour, its lease and its limits start again.
/// - If a holder under another stale policy than `yield` was silent, its lease and its limits start again.
/// - If a holder under another stale policy than `yield` exceeded a limit, its limits start again.
/// - All other leases keep their end: the end of its lease may be the only sign that a process has died.
fn excuse(record: &mut LockRecord, now: Timestamp) {
    for lease in record.holders.values_mut() {
        let freezes = lease.stale != StalePolicy::Yield;
        let silent = freezes && lease.is_silent(now) || now >= lease.freezes_without_evidence_at();
        let spent = freezes && lease.is_spent(now).is_some();
        let restarted = lease.restarted(Restart::Excused, now);
        if silent {
            *lease = restarted;
        } else if spent {
            lease.run_until = restarted.run_until;
            lease.stalls_at = restarted.stalls_at;
        }
    }
}

/// Frees the run key of a run that has succeeded. The marker of the key stays, with the outcome
/// `evicted`.
///
/// # Errors
/// [`Refusal::Duplicate`] while a run with the key is running, with or without its permit.
pub(super) fn forget(
    seen: &Snapshot,
    forget: &Forget,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    let Forget { run_key, audit } = forget;
    // A lock without a record was never granted, so none of its run keys can have a success.
    let Some(record) = &seen.record else {
        return Ok(Transition::unchanged(Outcome::Unchanged));
    };
    let id = RunId::Key(run_key.clone());
    let marker = seen.runs.get(&id);
    // If the key were freed while a run has it, that run and the next could both succeed with it.
    let held = record.holder_of_run(run_key);
    let held = held.map(|(holder, lease)| Run::started(holder.clone(), lease.token, None));
    let runs_on = marker.filter(|run| run.runs_on(audit.retention, now));
    if let Some(run) = held.or_else(|| runs_on.cloned()) {
        return Err(Refusal::Duplicate {
            run_key: run_key.clone(),
            run: Box::new(run),
        });
    }
    let success = marker.filter(|run| run.is_success(now));
    let Some((run, end)) = success.and_then(|run| Some((run, run.end.as_ref()?))) else {
        return Ok(Transition::unchanged(Outcome::Unchanged));
    };
    let audit = AuditNote {
        note: format!("run key {}: {}", run_key.as_str(), audit.note),
        ..audit.clone()
    };
    // Earlier versions know this outcome too, and any outcome but a success leaves the key free.
    let ended = ended(
        RunOutcome::Evicted,
        Some(audit.signed()),
        audit.retention,
        now,
    );
    let freed = Run {
        end: Some(ended.of_marker(audit.retention)),
        ..run.clone()
    };
    let forgotten = Transition::to(record.clone(), Outcome::Done);
    let mut transition = ordered(forgotten, ActKind::Forgotten, &audit, now);
    // The guard requires the success that was seen, because another run may have been granted the key
    // since the retention ended.
    let guard = RunGuard::EndedAt(run.token, end.at);
    transition.runs.push((guard, RunWrite { id, run: freed }));
    Ok(transition)
}

/// Records a start in the history. Nothing else of the lock changes. Each start gets an entry, also one
/// that repeats an earlier start. The history is of a record, so a lock without one gets it.
pub(super) fn note_start(seen: &Snapshot, audit: &AuditNote, now: Timestamp) -> Transition {
    let record = seen.record.clone();
    let record = record.unwrap_or_else(|| {
        let mut new = seen.new_record(Permits::ONE);
        // The sweep ends its pause.
        new.due_if_idle();
        new
    });
    let noted = Transition::to(record, Outcome::Done);
    ordered(noted, ActKind::Started, audit, now)
}

/// Takes a waiter out of the queue. A waiter that was granted a permit in between keeps the permit.
///
/// Also takes out a waiter whose side item is missing or damaged. A damaged side item at the head of the
/// queue blocks the release of the holder and the turn of the other waiters.
pub(super) fn drop_waiter(seen: &Snapshot, drop: &DropWaiter, now: Timestamp) -> Transition {
    let id = &drop.waiter;
    let queued = seen.record.as_ref();
    let Some(record) = queued.filter(|record| record.queue.contains_key(id)) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    let known = seen.waiter.as_ref().filter(|(seen, _)| seen == id);
    let item = known.and_then(|(_, item)| item.as_ref());
    builder.leave_queue(id, item);
    let gone = item.map(|waiter| Effect::Dismiss(waiter.clone(), Dismissal::Evicted));
    builder.effects.extend(gone);
    if builder.next.can_grant(now) && !builder.next.queue.is_empty() {
        builder.effects.push(Effect::HandOver);
    }
    let freed = builder.finish(Outcome::Freed { outcome: None }, now);
    // The actor of the act is the operator, so the note names the waiter.
    let name = drop.holder.as_ref().map_or(id.as_str(), HolderId::as_str);
    let audit = AuditNote {
        note: format!("waiter {name}: {}", drop.audit.note),
        ..drop.audit.clone()
    };
    ordered(freed, ActKind::Evicted, &audit, now)
}

/// Returns the transition with the act as its entry in the history, if the transition changes the
/// record.
fn ordered(transition: Transition, kind: ActKind, audit: &AuditNote, now: Timestamp) -> Transition {
    let next = transition.next.as_ref();
    Transition {
        act: next.map(|next| Act::ordered(next, kind, audit, now)),
        ..transition
    }
}
