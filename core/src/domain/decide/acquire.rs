//! The decision on an acquire.
//!
//! An acquire takes no permit from another holder. A holder whose lease has expired keeps its permit
//! until `recover` frees it on evidence: an expired lease shows that the holder did not renew it, and
//! does not show that its work has stopped. So an acquire does not look at the leases of other holders.
//!
//! ```text
//!  the run key has had a success ─▶ Duplicate
//!  the caller holds a permit ─────▶ AlreadyHeld, under the same token
//!  a holder has its run key ──────▶ Duplicate, unless that holder is ending
//!  the lock is closed ────────────▶ Frozen, Paused, or a place in the queue
//!  another capacity in use ───────▶ PermitsMismatch, or a place in the queue
//!  the caller waits ──────────────▶ keeps its place, Granted, or GaveUp
//!  a permit is free, none waits ──▶ Granted; Duplicate while a run with its run key runs;
//!                                   while that run is ending, as if no permit were free
//!  its parent holds a permit ─────▶ HeldByParent
//!  anything else ─────────────────▶ by overlap policy: refused, queued, or a replacement, which is
//!                                   Duplicate while a run with its run key runs
//! ```

mod replace;

use self::replace::{parent_of, repeat_replace, replace};
use super::builder::TransitionBuilder;
use crate::domain::fast_path::enqueue;
use crate::domain::{
    Acquire, Effect, FencingToken, HolderId, Lease, LockRecord, Mode, Outcome, Permits, QUEUE_MAX,
    Refusal, Restart, Run, RunId, RunKey, Snapshot, Terms, Timestamp, Transition, WaiterId,
    WhenFull, WhenPaused,
};
use std::borrow::Cow;

pub(super) fn decide(
    seen: &Snapshot,
    acquire: &Acquire,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    let terms = &acquire.terms;
    // This comes first because it needs no record: on the fast path the conflict returns the marker
    // alone.
    if let Some(refusal) = refuse_succeeded(seen, terms, now) {
        return Err(refusal);
    }
    let record = with_capacity(seen, terms.permits);
    let held = record.holders.get(&terms.holder);
    let is_free = held.is_none();
    if let Some(lease) = held.filter(|lease| is_kept(lease, terms)) {
        return Ok(held_already(&record, acquire, lease, now));
    }
    let waits_as = waits_as(&record, &terms.holder);
    // A second delivery of the same event neither waits for its own run nor replaces it. A caller that
    // is in the queue already keeps its place, because the run with its run key may fail.
    if waits_as.is_none()
        && let Some((run_key, holder, lease)) = under_way(&record, terms)
    {
        let run = Run::started(holder.clone(), lease.token, Some(run_key.clone()));
        return Err(duplicate(run_key, run));
    }
    // A caller that is in the queue keeps its place, even if the lock has been paused or frozen since.
    // The resume hands the permit over.
    let when_full = match waits_as {
        Some(_) => acquire.when_full,
        None => when_full(&record, acquire, now)?,
    };
    // If two callers expect different capacities, each would grant permits by its own. So the second
    // waits until no run holds a permit, because only then may the capacity change, or is refused.
    let waits = matches!(when_full, WhenFull::Queue { .. }) || waits_as.is_some();
    if record.permits != terms.permits && !waits {
        return Err(Refusal::PermitsMismatch {
            has: record.permits,
            asked: terms.permits,
            holders: record.oldest_first(),
        });
    }
    if let Some(id) = waits_as {
        return Ok(repeat_wait(&record, seen, acquire, &id, now));
    }
    // If runs wait, a free permit belongs to the first waiter, which gets it by a hand-over. No run
    // overtakes the queue.
    let fits = record.permits == terms.permits;
    let has_turn = record.queue.is_empty() && record.can_grant(now) && is_free && fits;
    if has_turn {
        match refuse_running(&record, seen, terms, now) {
            Ok(()) => return Ok(granted(&record, seen, acquire, None, now)),
            // A run with the same run key is being stopped. Until its end the caller is treated as if no
            // permit were free.
            Err(Refusal::Held { .. }) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    if let Some(holder) = parent_of(&record, terms) {
        let holder = holder.clone();
        return Err(Refusal::HeldByParent { holder });
    }
    match when_full {
        WhenFull::Refuse => Err(no_permit(&record, now)),
        // `wait_until` is a point in time that the workflow computed once. A call after it, by a retry
        // or because it was delayed, must not leave a place in the queue for which no state waits.
        WhenFull::Queue { .. } | WhenFull::Replace if acquire.has_given_up(now) => {
            Ok(Transition::unchanged(gave_up(&record)))
        }
        WhenFull::Queue { most } if record.queue.len() >= most.min(QUEUE_MAX) => {
            Err(queue_full(&record, most))
        }
        WhenFull::Queue { most } => {
            let mut transition = join(&record, &WaiterId::of(&terms.holder), now);
            // The fast write is not valid if the write creates the record or changes the capacity, or if
            // the caller waits only because the lock is paused.
            let alike = acquire.when_full == when_full;
            let alike = alike && (record.gate.mode == Mode::Open || acquire.waits_paused(most));
            let plain = matches!(record, Cow::Borrowed(_)) && is_free && alike && fits && !has_turn;
            transition.fast_path = enqueue(acquire, most, &record, now).filter(|_| plain);
            Ok(transition)
        }
        WhenFull::Replace if record.queue.len() >= QUEUE_MAX => Err(queue_full(&record, QUEUE_MAX)),
        WhenFull::Replace => {
            // Its turn would be answered `Duplicate`, so no holder is stopped for it.
            refuse_yielded(seen, terms, now)?;
            replace(&record, terms, now)
        }
    }
}

/// Returns whether the caller gets the grant of `lease` again:
///
/// - if the holder is not ending, or
/// - if it is ending, its execution was redriven since, and no stop is committed.
///
/// Otherwise work of the grant may still run, and the caller waits for its end like any other run.
fn is_kept(lease: &Lease, terms: &Terms) -> bool {
    lease.exit.ending.is_none() || !lease.exit.is_committed() && terms.redrives > lease.redrives
}

/// Returns the short name of `holder` if it is in the queue. The hash is computed only if the lock has
/// waiters.
fn waits_as(record: &LockRecord, holder: &HolderId) -> Option<WaiterId> {
    let id = (!record.queue.is_empty()).then(|| WaiterId::of(holder));
    id.filter(|id| record.queue.contains_key(id))
}

/// Returns the record, with the capacity `permits` if the lock has no holder and no waiter. Of a lock
/// without a record, returns its new record.
///
/// The record is borrowed if its capacity does not change. If it is owned, the write also changes the
/// capacity or creates the record, so it depends on the version that was seen.
fn with_capacity(seen: &Snapshot, permits: Permits) -> Cow<'_, LockRecord> {
    match &seen.record {
        Some(record) if record.permits == permits || !record.is_idle() => Cow::Borrowed(record),
        Some(record) => Cow::Owned(LockRecord {
            permits,
            ..record.clone()
        }),
        None => Cow::Owned(seen.new_record(permits)),
    }
}

/// Returns the same grant to a holder that acquires again. An expired lease is renewed under the same
/// token, because no other run got the permit. A waiter confirms its hand-over with this request.
fn held_already(
    record: &LockRecord,
    acquire: &Acquire,
    lease: &Lease,
    now: Timestamp,
) -> Transition {
    // An execution that was redriven before its work began acquires again. The lease must contain the
    // new number of redrives, or the end of the previous attempt would count as the end of this one.
    let redriven = acquire.terms.redrives > lease.redrives;
    // If the answer with the grant was lost, the time limits of the run begin now.
    let learned = lease.learned(now);
    let is_new = learned.is_some();
    let lease = &match redriven {
        true => lease.restarted(Restart::Redriven(acquire.terms.redrives), now),
        false => learned.unwrap_or_else(|| lease.clone()),
    };
    // A run that exceeded a limit does not get a new lease by asking again. Its next heartbeat, or
    // recovery, applies its stale policy.
    let good = lease.is_live(now) || lease.is_spent(now).is_some();
    let called = lease.call.is_some();
    let (lease, next) = match good && !called && !redriven && !is_new {
        true => (lease.clone(), None),
        false => {
            let lease = match good {
                // The time until the waiter confirmed its hand-over does not count as run time.
                _ if called && lease.is_limited() => {
                    lease.restarted(Restart::Excused, now).confirmed()
                }
                true => lease.confirmed(),
                false => lease.renewed(now, None, None),
            };
            let mut next = record.clone();
            let holder = acquire.terms.holder.clone();
            next.holders.insert(holder, lease.clone());
            (lease, Some(next))
        }
    };
    let outcome = Outcome::AlreadyHeld { lease };
    match next {
        Some(next) => Transition::to(next, outcome),
        None => Transition::unchanged(outcome),
    }
}

/// Decides on a repeated request of a waiter: it keeps its place, is granted a permit, or gives up.
fn repeat_wait(
    record: &LockRecord,
    seen: &Snapshot,
    acquire: &Acquire,
    id: &WaiterId,
    now: Timestamp,
) -> Transition {
    // A waiter may be granted a permit here and by a hand-over. Both writes depend on its ticket, so
    // only one of them succeeds.
    let is_first = record.first_waiter().is_some_and(|(first, _)| first == id);
    let key_is_free = refuse_running(record, seen, &acquire.terms, now).is_ok();
    let is_free = !record.holders.contains_key(&acquire.terms.holder);
    let fits = record.permits == acquire.terms.permits || record.holders.is_empty();
    if is_first && record.can_grant(now) && key_is_free && is_free && fits {
        return granted(record, seen, acquire, Some(id), now);
    }
    if acquire.has_given_up(now) {
        let mut builder = TransitionBuilder::of(record);
        // The waiting state that has this task token is the caller's own, and ends with this answer.
        builder.leave_queue(id, None);
        let outcome = gave_up(&builder.next);
        return builder.finish(outcome, now);
    }
    let mut transition = Transition::unchanged(queued(record, id));
    // The write that freed the permit has a hand-over as its effect. The function may have died before
    // the hand-over, so the next waiter that asks executes it again.
    if record.can_grant(now) {
        transition.effects.push(Effect::HandOver);
    }
    if acquire.when_full == WhenFull::Replace && !record.has_room() {
        return repeat_replace(record, seen, acquire, id, transition, now);
    }
    transition
}

/// Returns the grant of a free permit to the caller.
fn granted(
    record: &LockRecord,
    seen: &Snapshot,
    acquire: &Acquire,
    waited_as: Option<&WaiterId>,
    now: Timestamp,
) -> Transition {
    let lease = acquire
        .terms
        .lease(FencingToken::next(record.last_token, now), now);
    let mut builder = TransitionBuilder::of(record);
    match waited_as {
        Some(id) => builder.leave_queue(id, None),
        // A waiting state has registered its side item before the decision.
        None if acquire.task_token.is_some() => {
            builder.drop_side_item(&WaiterId::of(&acquire.terms.holder));
        }
        None => {}
    }
    builder.grant(seen, &acquire.terms, lease.clone(), now);
    if builder.next.can_grant(now) && !builder.next.queue.is_empty() {
        builder.effects.push(Effect::HandOver);
    }
    builder.finish(Outcome::Granted { lease }, now)
}

/// Returns the write of a place at the end of the queue. A lock that is not due becomes due at once, as
/// with `DueUnlessSet` on the fast path, so that both paths leave the same record.
fn join(record: &LockRecord, id: &WaiterId, now: Timestamp) -> Transition {
    let mut next = record.clone();
    next.last_ticket = next.last_ticket.behind();
    next.queue.insert(id.clone(), next.last_ticket);
    next.due = next.due.or(Some(now));
    next.due_for_waiters(now);
    let outcome = queued(&next, id);
    Transition::to(next, outcome)
}

fn queued(record: &LockRecord, id: &WaiterId) -> Outcome {
    Outcome::Queued {
        position: record.position(id).unwrap_or_default(),
        length: record.queue.len(),
        holders: record.oldest_first(),
    }
}

fn gave_up(record: &LockRecord) -> Outcome {
    Outcome::GaveUp {
        waiting: record.queue.len(),
        holders: record.oldest_first(),
    }
}

/// Returns the refusal of a caller without a permit: `TooSoon` with the end of the rest if the lock only
/// rests, and `Held` with the holders otherwise.
fn no_permit(record: &LockRecord, now: Timestamp) -> Refusal {
    if record.queue.is_empty() && record.has_room() && record.gate.not_before > now {
        return Refusal::TooSoon {
            not_before: record.gate.not_before,
        };
    }
    Refusal::Held {
        holders: record.oldest_first(),
        permits: record.permits,
        waiting: record.queue.len(),
    }
}

fn queue_full(record: &LockRecord, most: usize) -> Refusal {
    Refusal::QueueFull {
        most,
        waiting: record.queue.len(),
        holders: record.oldest_first(),
    }
}

/// Returns what the caller does if no permit is free.
///
/// # Errors
/// - [`Refusal::Frozen`] if the lock is frozen, because the caller might wait in vain.
/// - [`Refusal::Paused`] if the lock is paused, unless the caller waits for the resume.
fn when_full(record: &LockRecord, acquire: &Acquire, now: Timestamp) -> Result<WhenFull, Refusal> {
    let (note, until) = match &record.gate.mode {
        mode if mode.is_open(now) => return Ok(acquire.when_full),
        Mode::Open => return Ok(acquire.when_full),
        Mode::Frozen { note } => return Err(Refusal::Frozen { note: note.clone() }),
        Mode::Paused { note, until } => (note.clone(), *until),
    };
    match acquire.when_paused {
        WhenPaused::Queue { most } => Ok(WhenFull::Queue { most }),
        WhenPaused::CatchUp if record.queue.is_empty() => Ok(WhenFull::Queue { most: 1 }),
        WhenPaused::CatchUp | WhenPaused::Refuse => Err(Refusal::Paused {
            note,
            until,
            waiting: record.queue.len(),
            holders: record.oldest_first(),
        }),
    }
}

/// Returns the refusal of a run whose run key had a success within its retention; `None` without a run
/// key.
pub(super) fn refuse_succeeded(seen: &Snapshot, terms: &Terms, now: Timestamp) -> Option<Refusal> {
    // The end of the retention in the item decides, because DynamoDB's TTL deletes items late.
    let run_key = terms.run_key.clone()?;
    let run = seen.runs.get(&RunId::Key(run_key.clone()));
    let run = Box::new(run.filter(|run| run.is_success(now))?.clone());
    Some(Refusal::Duplicate { run_key, run })
}

/// Refuses a run if another run with the same run key is still running, with or without a permit. If
/// that run is ending, it is not known yet whether it leaves the key free: then the refusal is that of a
/// held lock.
fn refuse_running(
    record: &LockRecord,
    seen: &Snapshot,
    terms: &Terms,
    now: Timestamp,
) -> Result<(), Refusal> {
    // A holder has this run key. For a caller that is not in the queue it is ending: `under_way` has answered for any
    // other. For a waiter it may be at work, and only the fact of the refusal counts.
    if record.holder_of(terms).is_some() {
        return Err(no_permit(record, now));
    }
    refuse_yielded(seen, terms, now)
}

/// Refuses a run whose run key belongs to a run that lost its permit under `yield` and continues. The key
/// is taken until the end of that run is known.
fn refuse_yielded(seen: &Snapshot, terms: &Terms, now: Timestamp) -> Result<(), Refusal> {
    let Some(run_key) = &terms.run_key else {
        return Ok(());
    };
    let marker = seen.runs.get(&RunId::Key(run_key.clone()));
    match marker.filter(|run| run.runs_on(terms.retention, now)) {
        Some(run) => Err(duplicate(run_key, run.clone())),
        None => Ok(()),
    }
}

/// Returns the other holder with the caller's run key that is not ending, with the key and the lease;
/// `None` if there is none.
fn under_way<'a>(
    record: &'a LockRecord,
    terms: &'a Terms,
) -> Option<(&'a RunKey, &'a HolderId, &'a Lease)> {
    let (holder, lease) = record.holder_of(terms)?;
    let runs = lease.exit.ending.is_none() && *holder != terms.holder;
    Some((terms.run_key.as_ref()?, holder, lease)).filter(|_| runs)
}

fn duplicate(run_key: &RunKey, run: Run) -> Refusal {
    Refusal::Duplicate {
        run_key: run_key.clone(),
        run: Box::new(run),
    }
}
