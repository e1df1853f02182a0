//! Decides which holder a run replaces. No run replaces its own execution or the one that started it.

use super::queued;
use crate::domain::{
    Acquire, Effect, ExecutionArn, HolderId, Lease, LockRecord, Refusal, Snapshot, Terms,
    Timestamp, Transition, WaiterId,
};

/// Joins the front of the queue and, if no permit is free, marks the oldest holder that no other run
/// replaces yet and stops it. One run replaces one holder. The other holders of a semaphore continue.
///
/// - If all holders are already to be replaced, the caller takes the oldest of them that has no
///   committed stop over from its replacer. The caller is before that replacer in the queue, and the
///   replacer may die before it stops the holder.
/// - While the lock rests, is paused or is frozen, no holder is stopped, because the caller could not be
///   granted the permit.
/// - A holder with the caller's run key is not replaced. Such a holder is ending, and its execution may
///   be redriven, so the caller waits for its end.
///
/// # Errors
/// [`Refusal::HeldByParent`] if the caller's own execution holds all permits.
pub(super) fn replace(
    record: &LockRecord,
    terms: &Terms,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    let by = &terms.holder;
    let id = WaiterId::of(by);
    let mut next = record.clone();
    next.front_ticket = next.front_ticket.ahead();
    next.queue.insert(id.clone(), next.front_ticket);
    let mut effects = Vec::new();
    if !record.has_room() {
        let holders = record.oldest_first().into_iter();
        let (own, others): (Vec<_>, Vec<_>) = holders.partition(|(holder, _)| of_one(holder, by));
        // A holder that is being stopped may acquire again under its own name.
        if let ([(holder, _), ..], [], false) =
            (&own[..], &others[..], record.holders.contains_key(by))
        {
            let holder = holder.clone();
            return Err(Refusal::HeldByParent { holder });
        }
        let others = || {
            others
                .iter()
                .filter(|(_, lease)| !has_same_run_key(lease, terms))
        };
        let unmarked = others().find(|(_, lease)| lease.exit.replaced_by.is_none());
        let marked = || others().find(|(_, lease)| !lease.exit.is_committed());
        if let Some((holder, lease)) = unmarked.or_else(marked) {
            let mut lease = lease.clone();
            lease.exit.replaced_by = Some(by.clone());
            next.holders.insert(holder.clone(), lease.clone());
            match record.gate.opens_at() {
                Some(at) if at <= now => effects.push(Effect::Stop(holder.clone(), lease)),
                Some(at) => next.due_by(at),
                None => {}
            }
        }
    }
    next.due_for_waiters(now);
    let outcome = queued(&next, &id);
    Ok(Transition {
        effects,
        ..Transition::to(next, outcome)
    })
}

/// Decides on a repeated request of a waiter that replaces a holder. Its stop is sent again, because the
/// call that marked the holder may have failed before the stop. If no holder has its mark, it marks the
/// oldest one that was granted its permit before the waiter joined.
pub(super) fn repeat_replace(
    record: &LockRecord,
    seen: &Snapshot,
    acquire: &Acquire,
    id: &WaiterId,
    mut transition: Transition,
    now: Timestamp,
) -> Transition {
    let by = &acquire.terms.holder;
    let lets_in = record.gate.lets_in(now);
    let is_own = |(_, lease): &(&HolderId, &Lease)| lease.exit.replaced_by.as_ref() == Some(by);
    if let Some((holder, lease)) = record.holders.iter().find(is_own) {
        let stop = lets_in.then(|| Effect::Stop(holder.clone(), lease.clone()));
        transition.effects.extend(stop);
        return transition;
    }
    let own = seen.waiter.as_ref().filter(|(read, _)| read == id);
    let Some(joined) = own.and_then(|(_, waiter)| Some(waiter.as_ref()?.queued_at)) else {
        return transition;
    };
    // A holder that was granted its permit after the waiter joined came first by the order of the queue,
    // and is not replaced.
    let holders = record.oldest_first().into_iter();
    let mut earlier = holders.filter(|(holder, lease)| {
        let is_free = lease.exit.replaced_by.is_none() && lease.exit.ending.is_none();
        let other = !of_one(holder, by) && !has_same_run_key(lease, &acquire.terms);
        is_free && lease.token.granted_at() < joined && other
    });
    let Some((holder, mut lease)) = earlier.next() else {
        return transition;
    };
    lease.exit.replaced_by = Some(by.clone());
    let mut next = record.clone();
    next.holders.insert(holder.clone(), lease.clone());
    if let Some(at) = record.gate.opens_at() {
        next.due_by(at.max(now));
    }
    let mut marked = Transition::to(next, transition.outcome);
    let stop = lets_in.then_some(Effect::Stop(holder, lease));
    marked.effects = transition.effects.into_iter().chain(stop).collect();
    marked
}

/// Returns the holder whose execution started the caller's. That execution may wait for the end of the
/// caller, so the caller must not wait for its permit.
pub(super) fn parent_of<'a>(record: &'a LockRecord, terms: &Terms) -> Option<&'a HolderId> {
    let parent = terms.parent.as_ref()?;
    record.holders.keys().find(|holder| of_one(holder, parent))
}

/// Returns whether the holder of `lease` has the caller's run key.
fn has_same_run_key(lease: &Lease, terms: &Terms) -> bool {
    lease.run_key.is_some() && lease.run_key == terms.run_key
}

/// Returns whether two holders belong to the same execution, which may hold several permits.
fn of_one(one: &HolderId, other: &HolderId) -> bool {
    let executions = [one, other].map(ExecutionArn::of_holder);
    one == other || executions[0].is_some() && executions[0] == executions[1]
}
