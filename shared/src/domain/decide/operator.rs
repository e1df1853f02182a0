//! An operator's orders: pause, resume, drop a waiter, clear a rest, forget a run key. Each leaves an entry in the history.
//!
//! Each order can be repeated: what is as ordered already is left unchanged, without a second
//! entry. The entries are under the version of the record that the order wrote, which no other
//! write has, so an order is in the history once.

use super::builder::TransitionBuilder;
use super::ended;
use crate::domain::{
    AuditNote, Dismissal, DropWaiter, Effect, Forget, HolderId, LockRecord, Mode, Outcome, Permits,
    Refusal, Restart, Run, RunEnd, RunGuard, RunId, RunOutcome, RunWrite, Snapshot, StalePolicy,
    Timestamp, Transition,
};

/// The history entry of an act that writes `next`, under the version of `next`.
pub(super) fn act(next: &LockRecord, actor: &HolderId, end: RunEnd) -> (RunGuard, RunWrite) {
    let at = end.at;
    let run = Run {
        end: Some(end),
        ..Run::started(actor.clone(), next.last_token, None)
    };
    let id = RunId::Act(next.version);
    (RunGuard::NotTaken(at), RunWrite { id, run })
}

/// Pauses the lock: holders finish, and no permit is granted. A lock may be paused before its first
/// run.
pub(super) fn pause(
    seen: &Snapshot,
    audit: &AuditNote,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Transition {
    // A lock without a record gets one. Its capacity does not matter: an idle lock takes that of
    // its first caller.
    let record = seen.record.clone();
    let mut next = record.unwrap_or_else(|| LockRecord::new(Permits::ONE));
    let note = audit.signed();
    let mode = Mode::Paused { note, until };
    if next.mode == mode {
        return Transition::unchanged(Outcome::Unchanged);
    }
    next.mode = mode;
    next.due_if_idle();
    // The sweep resumes the lock then, also one that is idle and would never be due.
    if let Some(end) = until {
        next.due_by(end);
    }
    let mut transition = Transition::to(next, Outcome::Done);
    transition.runs = entry(&transition, audit, RunOutcome::Paused, now);
    transition
}

/// Resumes the lock, and hands a free permit over to the first waiter at once.
pub(super) fn resume(seen: &Snapshot, audit: &AuditNote, now: Timestamp) -> Transition {
    let closed = seen.record.as_ref().filter(|r| r.mode != Mode::Open);
    let Some(record) = closed else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    builder.next.mode = Mode::Open;
    // A paused lock was expected to have no success. Under a freeze the expectation goes on.
    if matches!(record.mode, Mode::Paused { .. }) {
        builder.next.expect_from(now);
    }
    // The operator has decided that the holder may continue: its time limits start again.
    // Only one that has frozen the lock: it is stale under `hold`, or whether it is dead could not be read. Without new
    // time, its next heartbeat or the next check would freeze the lock again at once.
    for lease in builder.next.holders.values_mut() {
        let holds = lease.stale == StalePolicy::Hold && lease.staleness(now).is_some();
        if holds || now >= lease.hidden_until() {
            *lease = lease.restarted(Restart::Excused, now);
        }
    }
    opened(builder, seen, audit, RunOutcome::Resumed, now)
}

/// Resumes a lock whose pause is over. Until then the lock grants permits as one that is open does.
pub(super) fn end_pause(seen: &Snapshot, audit: &AuditNote, now: Timestamp) -> Transition {
    // The pause may have been replaced since the sweep read it, by another pause or a resume: only
    // one whose time is over is ended.
    let over = |record: &&LockRecord| record.mode.pause_end().is_some_and(|end| end <= now);
    let Some(record) = seen.record.as_ref().filter(over) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    builder.next.mode = Mode::Open;
    builder.next.expect_from(now);
    opened(builder, seen, audit, RunOutcome::Resumed, now)
}

/// Ends the rest after the last grant, and hands a free permit over to the first waiter at once.
pub(super) fn clear_rest(seen: &Snapshot, audit: &AuditNote, now: Timestamp) -> Transition {
    let resting = seen.record.as_ref().filter(|r| r.not_before > now);
    let Some(record) = resting else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    builder.next.not_before = now;
    opened(builder, seen, audit, RunOutcome::RestCleared, now)
}

/// Lets the first waiter of a lock in that grants permits again, and notes the act as `outcome`.
fn opened(
    mut builder: TransitionBuilder<'_>,
    seen: &Snapshot,
    audit: &AuditNote,
    outcome: RunOutcome,
    now: Timestamp,
) -> Transition {
    builder.next.due_if_idle();
    builder.let_in(seen, now);
    let mut transition = builder.finish(Outcome::Done, now);
    let entry = entry(&transition, audit, outcome, now);
    transition.runs.extend(entry);
    transition
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
    let mut transition = Transition::to(record.clone(), Outcome::Done);
    transition.runs = entry(&transition, &audit, RunOutcome::Forgotten, now);
    // Only the success that was seen: a run may have been granted the key since its retention
    // ended.
    let guard = RunGuard::EndedAt(run.token, end.at);
    transition.runs.push((guard, RunWrite { id, run: freed }));
    Ok(transition)
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
    let mut transition = builder.finish(Outcome::Freed { outcome: None }, now);
    // The entry has the actor as its holder, so the note names the waiter.
    let name = drop.holder.as_ref().map_or(id.as_str(), HolderId::as_str);
    let audit = AuditNote {
        note: format!("waiter {name}: {}", drop.audit.note),
        ..drop.audit.clone()
    };
    let entry = entry(&transition, &audit, RunOutcome::Evicted, now);
    transition.runs.extend(entry);
    transition
}

/// The entry of an act in the history; none, if nothing is written.
fn entry(
    transition: &Transition,
    audit: &AuditNote,
    outcome: RunOutcome,
    now: Timestamp,
) -> Vec<(RunGuard, RunWrite)> {
    let end = ended(outcome, Some(audit.signed()), audit.retention, now);
    let next = transition.next.iter();
    next.map(|next| act(next, &audit.actor, end.clone()))
        .collect()
}
