//! The decision on an acquire.

use super::builder::TransitionBuilder;
use crate::domain::fast_path::enqueue;
use crate::domain::{
    Acquire, Effect, FencingToken, HolderId, Lease, LockRecord, Mode, Outcome, Permits, QUEUE_MAX,
    Refusal, Run, RunId, Snapshot, Terms, Timestamp, Transition, WaiterId, WhenFull, WhenPaused,
};
use std::borrow::Cow;

pub(super) fn decide(
    seen: &Snapshot,
    acquire: &Acquire,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    let terms = &acquire.terms;
    if let Some(refusal) = refuse_succeeded(seen, terms, now) {
        return Err(refusal);
    }
    let record = with_capacity(seen.record.as_ref(), terms.permits);
    // Under a committed stop the caller does not get its old grant again, but may wait for its end.
    let held = record.holders.get(&terms.holder);
    let is_free = held.is_none();
    if let Some(lease) = held.filter(|lease| !lease.is_stopped()) {
        return Ok(held_already(&record, acquire, lease, now));
    }
    let waits_as = waits_as(&record, &terms.holder);
    let when_full = match waits_as {
        Some(_) => acquire.when_full,
        None => when_full(&record, acquire, now)?,
    };
    if record.permits != terms.permits {
        return Err(Refusal::PermitsMismatch {
            has: record.permits,
            asked: terms.permits,
            holders: record.oldest_first(),
        });
    }
    if let Some(id) = waits_as {
        return Ok(wait_on(&record, seen, acquire, &id, now));
    }
    if record.queue.is_empty() && record.can_grant(now) && is_free {
        refuse_running(&record, seen, terms, now)?;
        return Ok(granted(&record, seen, acquire, None, now));
    }
    match when_full {
        WhenFull::Refuse => Err(no_permit(&record, now)),
        WhenFull::Queue { .. } | WhenFull::Replace if acquire.has_given_up(now) => {
            Ok(Transition::unchanged(gave_up(&record)))
        }
        WhenFull::Queue { most } if record.queue.len() >= most.min(QUEUE_MAX) => {
            Err(queue_full(&record, most))
        }
        WhenFull::Queue { most } => {
            let mut transition = join(&record, &WaiterId::of(&terms.holder), now);
            // A write that creates the record or changes the capacity depends on the record's
            // version, and so does a place at a paused lock that the caller would not take at an
            // open one.
            let alike = acquire.when_full == when_full;
            let alike = alike && (record.mode == Mode::Open || acquire.waits_paused(most));
            let plain = matches!(record, Cow::Borrowed(_)) && is_free && alike;
            transition.fast_path = enqueue(acquire, most, &record, now).filter(|_| plain);
            Ok(transition)
        }
        WhenFull::Replace if record.queue.len() >= QUEUE_MAX => Err(queue_full(&record, QUEUE_MAX)),
        WhenFull::Replace => Ok(replace(&record, &terms.holder, now)),
    }
}

/// The short name of `holder`, if it waits. The name is a hash, which a lock without waiters needs none of.
fn waits_as(record: &LockRecord, holder: &HolderId) -> Option<WaiterId> {
    let id = (!record.queue.is_empty()).then(|| WaiterId::of(holder));
    id.filter(|id| record.queue.contains_key(id))
}

/// The record, with `permits` where no holder or waiter relies on another capacity.
fn with_capacity(record: Option<&LockRecord>, permits: Permits) -> Cow<'_, LockRecord> {
    match record {
        Some(record) if record.permits == permits || !record.is_idle() => Cow::Borrowed(record),
        Some(record) => Cow::Owned(LockRecord {
            permits,
            ..record.clone()
        }),
        None => Cow::Owned(LockRecord::new(permits)),
    }
}

/// A holder that acquires again gets the same grant. An expired lease is renewed under the same
/// token, because no other run has taken the permit over. A waiter confirms its hand-over with this
/// request.
fn held_already(
    record: &LockRecord,
    acquire: &Acquire,
    lease: &Lease,
    now: Timestamp,
) -> Transition {
    let redriven = acquire.terms.redrives > lease.redrives;
    let lease = &match redriven {
        true => lease.redriven(acquire.terms.redrives, now),
        false => lease.clone(),
    };
    let good = lease.is_live(now) || lease.is_spent(now).is_some();
    let (lease, next) = match good && lease.call.is_none() && !redriven {
        true => (lease.clone(), None),
        false => {
            let lease = match good {
                // The time until the waiter confirmed its hand-over does not count as the run's.
                true if lease.is_spent(now).is_some() => Lease {
                    call: None,
                    ..lease.excused(now)
                },
                true => Lease {
                    call: None,
                    ..lease.clone()
                },
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

/// A waiter repeats its request: it keeps its place, is granted a permit, or gives up.
fn wait_on(
    record: &LockRecord,
    seen: &Snapshot,
    acquire: &Acquire,
    id: &WaiterId,
    now: Timestamp,
) -> Transition {
    let is_first = record.first_waiter().is_some_and(|(first, _)| first == id);
    let key_is_free = refuse_running(record, seen, &acquire.terms, now).is_ok();
    let is_free = !record.holders.contains_key(&acquire.terms.holder);
    if is_first && record.can_grant(now) && key_is_free && is_free {
        return granted(record, seen, acquire, Some(id), now);
    }
    if acquire.has_given_up(now) {
        let mut builder = TransitionBuilder::of(record);
        builder.leave_queue(id, None);
        let outcome = gave_up(&builder.next);
        return builder.finish(outcome, now);
    }
    let mut transition = Transition::unchanged(queued(record, id));
    if record.can_grant(now) {
        transition.effects.push(Effect::HandOver);
    }
    let replaced = record.holders.iter().find(|(_, lease)| {
        acquire.when_full == WhenFull::Replace
            && lease.replaced_by.as_ref() == Some(&acquire.terms.holder)
    });
    let stop = replaced.map(|(holder, lease)| Effect::Stop(holder.clone(), lease.clone()));
    transition.effects.extend(stop);
    transition
}

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
        // A waiting state has registered before the lock was known to be free.
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

fn join(record: &LockRecord, id: &WaiterId, now: Timestamp) -> Transition {
    let mut next = record.clone();
    next.last_ticket = next.last_ticket.behind();
    next.queue.insert(id.clone(), next.last_ticket);
    next.due = next.due.or(Some(now));
    next.due_for_waiters(now);
    let outcome = queued(&next, id);
    Transition::to(next, outcome)
}

/// Joins the front of the queue and, if no permit is free, stops the oldest holder that no other
/// run replaces yet. One run replaces one holder: the others of a semaphore continue.
fn replace(record: &LockRecord, by: &HolderId, now: Timestamp) -> Transition {
    let id = WaiterId::of(by);
    let mut next = record.clone();
    next.front_ticket = next.front_ticket.ahead();
    next.queue.insert(id.clone(), next.front_ticket);
    let mut effects = Vec::new();
    let oldest = record
        .oldest_first()
        .into_iter()
        .find(|(_, lease)| lease.replaced_by.is_none());
    if let Some((holder, mut lease)) = oldest.filter(|_| !record.has_room()) {
        lease.replaced_by = Some(by.clone());
        next.holders.insert(holder.clone(), lease.clone());
        effects.push(Effect::Stop(holder, lease));
    }
    next.due_for_waiters(now);
    let outcome = queued(&next, &id);
    Transition {
        effects,
        ..Transition::to(next, outcome)
    }
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

fn no_permit(record: &LockRecord, now: Timestamp) -> Refusal {
    if record.queue.is_empty() && record.has_room() && record.not_before > now {
        return Refusal::TooSoon {
            not_before: record.not_before,
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

/// What the caller does without a free permit. A closed lock refuses it: a frozen one always, because a wait
/// may be in vain, and a paused one unless the caller waits for the resume.
fn when_full(record: &LockRecord, acquire: &Acquire, now: Timestamp) -> Result<WhenFull, Refusal> {
    let (note, until) = match &record.mode {
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

pub(super) fn refuse_succeeded(seen: &Snapshot, terms: &Terms, now: Timestamp) -> Option<Refusal> {
    let run_key = terms.run_key.clone()?;
    let run = seen.runs.get(&RunId::Key(run_key.clone()));
    let run = Box::new(run.filter(|run| run.is_success(now))?.clone());
    Some(Refusal::Duplicate { run_key, run })
}

/// Refuses a run whose run key has another run under way, with or without its permit. If that run
/// is ending, whether it leaves the key free is not known yet, and the refusal is that of a held
/// lock.
fn refuse_running(
    record: &LockRecord,
    seen: &Snapshot,
    terms: &Terms,
    now: Timestamp,
) -> Result<(), Refusal> {
    let Some(run_key) = &terms.run_key else {
        return Ok(());
    };
    let run = match record.holder_of(terms) {
        Some((_, lease)) if lease.ending.is_some() => return Err(no_permit(record, now)),
        Some((holder, lease)) => Run::started(holder.clone(), lease.token, Some(run_key.clone())),
        None => {
            let marker = seen.runs.get(&RunId::Key(run_key.clone()));
            match marker.filter(|run| run.runs_on(terms.retention, now)) {
                Some(run) => run.clone(),
                None => return Ok(()),
            }
        }
    };
    Err(Refusal::Duplicate {
        run_key: run_key.clone(),
        run: Box::new(run),
    })
}
