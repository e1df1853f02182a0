//! A stop in two steps: mark a silent holder, then commit the stop. And holders that are ending.

use crate::domain::{
    Ending, EndingCause, FencingToken, HolderId, Lease, LeaseVersion, LockRecord, MarkEnding,
    Outcome, Snapshot, Stop, StopEvicted, StopReason, Suspect, Timestamp, Transition, WaiterId,
};

/// Marks a holder whose lease is over while its execution runs. A heartbeat clears the mark.
pub(super) fn suspect(seen: &Snapshot, suspect: &Suspect, now: Timestamp) -> Transition {
    let Some((record, lease)) = held(seen, &suspect.holder, suspect.token) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let silent = lease.version() == suspect.seen && lease.is_dead(now);
    if !silent || lease.suspect.is_some() || lease.is_stopped() {
        return Transition::unchanged(Outcome::Unchanged);
    }
    let marked = Lease {
        suspect: Some(now),
        ..lease.clone()
    };
    changed(record, &suspect.holder, marked)
}

/// Commits the stop, after which heartbeats are refused. A heartbeat that comes first voids the
/// stop of a silent holder, and not that of a replaced one.
pub(super) fn commit(seen: &Snapshot, stop: &Stop, now: Timestamp) -> Transition {
    let Some((record, lease)) = held(seen, &stop.holder, stop.token) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    let holds = match stop.reason {
        StopReason::Silent => {
            let suspicion_over = lease
                .suspect
                .is_some_and(|at| now >= lease.suspicion_ends(at));
            lease.version() == stop.seen && lease.is_dead(now) && suspicion_over
        }
        StopReason::Replaced => lease
            .replaced_by
            .as_ref()
            .is_some_and(|by| record.queue.contains_key(&WaiterId::of(by))),
    };
    if !holds || lease.is_stopped() {
        return Transition::unchanged(Outcome::Unchanged);
    }
    changed(
        record,
        &stop.holder,
        ending(lease, EndingCause::Stopped, now),
    )
}

/// Commits the stop of a holder that an operator evicts, whatever its lease is. A repetition changes
/// nothing.
pub(super) fn evicted(seen: &Snapshot, evict: &StopEvicted, now: Timestamp) -> Transition {
    let Some((record, lease)) = held(seen, &evict.holder, evict.token) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    if lease.is_stopped() && lease.evicted.is_some() {
        return Transition::unchanged(Outcome::Done);
    }
    if evict.seen.is_some_and(|seen| is_void(seen, lease)) {
        return Transition::unchanged(Outcome::Unchanged);
    }
    let stopped = Lease {
        evicted: Some(evict.audit.signed()),
        ..ending(lease, EndingCause::Stopped, now)
    };
    changed(record, &evict.holder, stopped)
}

/// Whether a heartbeat since `seen` voids the evidence that was gathered then: the execution was redriven.
/// A mark that another check has set since does not.
fn is_void(seen: LeaseVersion, lease: &Lease) -> bool {
    let now_marked = LeaseVersion {
        ending: lease.ending.is_some(),
        ..seen
    };
    now_marked != lease.version()
}

/// Marks a holder as ending: its work is being stopped.
pub(super) fn mark_ending(seen: &Snapshot, mark: &MarkEnding, now: Timestamp) -> Transition {
    let Some((record, lease)) = held(seen, &mark.holder, mark.token) else {
        let record = seen.record.as_ref();
        let holders = record.map(LockRecord::oldest_first).unwrap_or_default();
        return Transition::unchanged(Outcome::Lost { holders });
    };
    if mark.seen.is_some_and(|seen| is_void(seen, lease)) {
        return Transition::unchanged(Outcome::Unchanged);
    }
    if lease.ending.is_some() {
        return Transition::unchanged(Outcome::Done);
    }
    changed(record, &mark.holder, ending(lease, EndingCause::Over, now))
}

fn ending(lease: &Lease, cause: EndingCause, now: Timestamp) -> Lease {
    let since = lease.ending.map_or(now, |ending| ending.since);
    Lease {
        ending: Some(Ending { since, cause }),
        ..lease.clone()
    }
}

fn held<'a>(
    seen: &'a Snapshot,
    holder: &HolderId,
    token: FencingToken,
) -> Option<(&'a LockRecord, &'a Lease)> {
    let record = seen.record.as_ref()?;
    Some((record, record.lease(holder, token)?))
}

fn changed(record: &LockRecord, holder: &HolderId, lease: Lease) -> Transition {
    let mut next = record.clone();
    next.due_by(lease.next_check(&next.mode));
    next.holders.insert(holder.clone(), lease);
    Transition::to(next, Outcome::Done)
}
