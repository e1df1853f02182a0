//! An operator's orders: pause, resume, evict. Each leaves an entry in the history.

use super::builder::TransitionBuilder;
use super::ended;
use crate::domain::{
    AuditNote, Dismissal, DropUnread, Effect, Evict, HolderId, LockRecord, Mode, Outcome, Permits,
    Run, RunEnd, RunGuard, RunId, RunOutcome, RunWrite, Snapshot, StalePolicy, Timestamp,
    Transition, WaiterId,
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
pub(super) fn pause(seen: &Snapshot, audit: &AuditNote, now: Timestamp) -> Transition {
    let record = seen.record.clone();
    let mut next = record.unwrap_or_else(|| LockRecord::new(Permits::ONE));
    let note = audit.signed();
    if next.mode == (Mode::Paused { note: note.clone() }) {
        return Transition::unchanged(Outcome::Unchanged);
    }
    next.mode = Mode::Paused { note };
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
    // The operator has decided that the holder may continue: its time limits start again.
    for lease in builder.next.holders.values_mut() {
        if lease.stale == StalePolicy::Hold && lease.staleness(now).is_some() {
            *lease = lease.excused(now);
        }
    }
    builder.let_in(seen, now);
    let mut transition = builder.finish(Outcome::Done, now);
    let entry = entry(&transition, audit, RunOutcome::Resumed, now);
    transition.runs.extend(entry);
    transition
}

/// Takes the permit, or the place in the queue, at once. The holder's next heartbeat is refused:
/// its lease is lost.
pub(super) fn evict(seen: &Snapshot, evict: &Evict, now: Timestamp) -> Transition {
    let Some(record) = &seen.record else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    if let Some(lease) = record.holders.get(&evict.holder) {
        let audit = &evict.audit;
        let end = ended(
            RunOutcome::Evicted,
            Some(audit.signed()),
            audit.retention,
            now,
        );
        builder.close(&evict.holder, lease, end);
        builder.let_in(seen, now);
        let outcome = Some(RunOutcome::Evicted);
        return builder.finish(Outcome::Freed { outcome }, now);
    }
    drop_waiter(seen, evict, now)
}

/// Takes the place in the queue, and never a permit: a waiter that was granted one in between keeps
/// it.
pub(super) fn drop_waiter(seen: &Snapshot, evict: &Evict, now: Timestamp) -> Transition {
    let id = WaiterId::of(&evict.holder);
    let queued = seen.record.as_ref();
    let Some(record) = queued.filter(|record| record.queue.contains_key(&id)) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    let known = seen.waiter.as_ref().filter(|(seen, _)| *seen == id);
    let item = known.and_then(|(_, item)| item.as_ref());
    builder.leave_queue(&id, item);
    let gone = item.map(|waiter| Effect::Dismiss(waiter.clone(), Dismissal::Evicted));
    builder.effects.extend(gone);
    let mut transition = builder.finish(Outcome::Freed { outcome: None }, now);
    let audit = about_waiter(&evict.audit, evict.holder.as_str());
    let entry = entry(&transition, &audit, RunOutcome::Evicted, now);
    transition.runs.extend(entry);
    transition
}

/// Takes the place in the queue of a waiter whose side item is missing or damaged. A damaged
/// one at the head of the queue keeps the holder from its release and the others from their turn.
pub(super) fn drop_unread(seen: &Snapshot, drop: &DropUnread, now: Timestamp) -> Transition {
    let queued = seen.record.as_ref();
    let queued = queued.filter(|record| record.queue.contains_key(&drop.waiter));
    let Some(record) = queued else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let mut builder = TransitionBuilder::of(record);
    builder.leave_queue(&drop.waiter, None);
    if builder.next.can_grant(now) && !builder.next.queue.is_empty() {
        builder.effects.push(Effect::HandOver);
    }
    let mut transition = builder.finish(Outcome::Freed { outcome: None }, now);
    let audit = about_waiter(&drop.audit, drop.waiter.as_str());
    let entry = entry(&transition, &audit, RunOutcome::Evicted, now);
    transition.runs.extend(entry);
    transition
}

/// The note of an act on a waiter names it, because the entry has the actor as its holder.
fn about_waiter(audit: &AuditNote, waiter: &str) -> AuditNote {
    AuditNote {
        note: format!("waiter {waiter}: {}", audit.note),
        ..audit.clone()
    }
}

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
