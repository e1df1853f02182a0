//! An operator's orders: pause, resume, drop a waiter, clear a rest, forget a run key, a start. Each leaves an entry in the
//! history.
//!
//! Each order but a start can be repeated: what is as ordered already is left unchanged, without a second
//! entry. The entries are under the version of the record that the order wrote, which no other
//! write has, so an order is in the history once.

use super::builder::TransitionBuilder;
use crate::domain::history::ended;
use crate::domain::{
    Act, ActKind, AuditNote, Dismissal, DropWaiter, Effect, Forget, HolderId, LockRecord, Mode,
    Opening, Outcome, Permits, Refusal, Restart, Run, RunGuard, RunId, RunOutcome, RunWrite,
    Snapshot, StalePolicy, Timestamp, Transition,
};

/// Pauses the lock: holders finish, and no permit is granted. A lock may be paused before its first
/// run.
///
/// # Errors
/// [`Refusal::Frozen`] for a frozen lock, whose holder an operator has to check.
pub(super) fn pause(
    seen: &Snapshot,
    audit: &AuditNote,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    // A lock without a record gets one. Its capacity does not matter: an idle lock takes that of
    // its first caller.
    let record = seen.record.clone();
    let mut next = record.unwrap_or_else(|| LockRecord::new(Permits::ONE));
    let before = next.gate.clone();
    let paused = next.gate.pause(audit.signed(), until);
    paused.map_err(|note| Refusal::Frozen { note })?;
    if next.gate == before {
        return Ok(Transition::unchanged(Outcome::Unchanged));
    }
    next.due_if_idle();
    // The sweep resumes the lock then, also one that is idle and would never be due.
    if let Some(end) = until {
        next.due_by(end);
    }
    let paused = Transition::to(next, Outcome::Done);
    Ok(ordered(paused, ActKind::Paused, audit, now))
}

/// Lets the lock grant permits again, and hands a free permit over to the first waiter at once.
///
/// A pause that is over is ended by the sweep. Until then the lock grants permits as one that is open does.
pub(super) fn open(
    seen: &Snapshot,
    opening: Opening,
    audit: &AuditNote,
    now: Timestamp,
) -> Transition {
    let applies = |record: &&LockRecord| match opening {
        Opening::Resume => record.gate.mode != Mode::Open,
        // Another pause or a resume may have replaced the pause since the sweep read it. A lock that freezes next
        // is not opened in between.
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
            // Of a paused lock, the operator has checked no holder.
            if record.gate.is_frozen() {
                excuse(&mut builder.next, now);
                // While it was frozen, the limits of its holders were no reason for a check.
                if let Some(due) = builder.next.next_due() {
                    builder.next.due_by(due);
                }
            }
        }
        Opening::PauseEnd => builder.next.open(now),
        Opening::Rest => builder.next.gate.not_before = now,
    }
    builder.next.due_if_idle();
    // A stop that had to wait for the opening.
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

/// Gives new time to the holders that have frozen the lock: the operator has decided that they may continue. Without it,
/// the next heartbeat or check of such a holder would freeze the lock again at once.
///
/// The limits of a holder that exceeded one of them start again. The lease of a holder starts again if the holder was silent, or if
/// nobody could read for an hour whether it was alive. All other leases keep their end, because the end of its lease is all that
/// shows that a process has died.
fn excuse(record: &mut LockRecord, now: Timestamp) {
    for lease in record.holders.values_mut() {
        let freezes = lease.stale != StalePolicy::Yield;
        let silent = freezes && lease.is_silent(now) || now >= lease.hidden_until();
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

/// Makes the run key of a run that has succeeded free. The marker of the key stays, with an end that
/// is no success.
///
/// # Errors
/// [`Refusal::Duplicate`] while a run with the key is under way, with or without its permit.
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
    // Were the key freed under a run, that run and the next would both succeed with it.
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
    // Every version reads this outcome of a marker, and each one that is no success leaves the key free.
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
    // Only the success that was seen: a run may have been granted the key since its retention
    // ended.
    let guard = RunGuard::EndedAt(run.token, end.at);
    transition.runs.push((guard, RunWrite { id, run: freed }));
    Ok(transition)
}

/// Notes a start in the history. It changes nothing else of the lock, and is no repetition of an earlier start.
pub(super) fn note_start(seen: &Snapshot, audit: &AuditNote, now: Timestamp) -> Transition {
    match &seen.record {
        Some(record) => {
            let noted = Transition::to(record.clone(), Outcome::Done);
            ordered(noted, ActKind::Started, audit, now)
        }
        None => Transition::unchanged(Outcome::Unchanged),
    }
}

/// Takes the place in the queue, and never a permit: a waiter that was granted one in between keeps
/// it.
///
/// Also of a waiter whose side item is missing or damaged. A damaged one at the head of the queue keeps the
/// holder from its release and the others from their turn.
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
    // The act has the operator as its actor, so the note names the waiter.
    let name = drop.holder.as_ref().map_or(id.as_str(), HolderId::as_str);
    let audit = AuditNote {
        note: format!("waiter {name}: {}", drop.audit.note),
        ..drop.audit.clone()
    };
    ordered(freed, ActKind::Evicted, &audit, now)
}

/// Returns the transition with the act that it is, if it writes.
fn ordered(transition: Transition, kind: ActKind, audit: &AuditNote, now: Timestamp) -> Transition {
    let next = transition.next.as_ref();
    Transition {
        act: next.map(|next| Act::ordered(next, kind, audit, now)),
        ..transition
    }
}
