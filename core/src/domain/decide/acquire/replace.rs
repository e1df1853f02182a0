//! Runs that replace a holder, and holders that no run may replace: its own execution and the one that started it.

use super::queued;
use crate::domain::{
    Acquire, Effect, ExecutionArn, HolderId, Lease, LockRecord, Refusal, Snapshot, Terms,
    Timestamp, Transition, WaiterId,
};

/// Joins the front of the queue and, if no permit is free, stops the oldest holder that no other run replaces yet.
/// One run replaces one holder: the others of a semaphore continue.
///
/// If all holders are to be replaced, it takes over from the run that replaces the oldest: it goes before that
/// one, which may die before the stop. A lock that rests or is closed stops no holder before it could let the
/// caller in. A holder with the caller's run key, which is ending, is waited for: its execution may be redriven.
///
/// # Errors
/// [`Refusal::HeldByParent`] if the caller's own execution has all permits.
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
        // A holder that is being stopped may ask again under its own name.
        if let ([(holder, _), ..], [], false) =
            (&own[..], &others[..], record.holders.contains_key(by))
        {
            let holder = holder.clone();
            return Err(Refusal::HeldByParent { holder });
        }
        let others = || {
            others
                .iter()
                .filter(|(_, lease)| !is_same_tick(lease, terms))
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

/// A waiter that replaces repeats its request: the call that marked the holder may have failed before the holder
/// was stopped, and the run that marked it may have gone.
pub(super) fn replace_on(
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
    // A run that was granted its permit later has gone before this one, and is not its to replace.
    let holders = record.oldest_first().into_iter();
    let mut earlier = holders.filter(|(holder, lease)| {
        let is_free = lease.exit.replaced_by.is_none() && lease.exit.ending.is_none();
        let other = !of_one(holder, by) && !is_same_tick(lease, &acquire.terms);
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

/// Returns the holder whose execution started the caller's. It may wait for the caller, which would wait
/// for it in turn.
pub(super) fn parent_of<'a>(record: &'a LockRecord, terms: &Terms) -> Option<&'a HolderId> {
    let parent = terms.parent.as_ref()?;
    record.holders.keys().find(|holder| of_one(holder, parent))
}

/// Returns whether the holder of `lease` runs for the caller's run key.
fn is_same_tick(lease: &Lease, terms: &Terms) -> bool {
    lease.run_key.is_some() && lease.run_key == terms.run_key
}

/// Returns whether two holders are one execution, which may hold several permits.
fn of_one(one: &HolderId, other: &HolderId) -> bool {
    let executions = [one, other].map(ExecutionArn::of_holder);
    one == other || executions[0].is_some() && executions[0] == executions[1]
}
