//! A stop in two steps: mark a silent holder, then commit the stop. And holders that are ending.
//!
//! ```text
//!  live ── lease over ──▶ suspect ── a heartbeat's time ──▶ stop committed ──▶ stopped ──▶ recover
//!   ▲                        │       (10 s at least)         heartbeats are refused
//!   └─────── heartbeat ──────┘
//! ```
//!
//! After an outage of the table longer than a lease, every lease is over and every holder is well.
//! The mark gives each the time to renew; the commit, under the lease as it was seen, leaves no
//! moment in which a heartbeat is accepted and the work stopped all the same.

use crate::domain::{
    Ending, EndingCause, FencingToken, HolderId, Lease, LeaseVersion, LockRecord, MarkEnding,
    Outcome, Snapshot, Stop, StopEvicted, StopReason, Suspect, Timestamp, Transition, WaiterId,
};

/// Marks a holder whose lease is over while its execution runs. A heartbeat clears the mark.
pub(super) fn suspect(seen: &Snapshot, suspect: &Suspect, now: Timestamp) -> Transition {
    let Some((record, lease)) = held(seen, &suspect.holder, suspect.token) else {
        return Transition::unchanged(Outcome::Unchanged);
    };
    // A mark that stands is not set anew: its time would start again with each check.
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
        // All of it is asked again under the lease as it is now: the evidence is older than this
        // write.
        StopReason::Silent => {
            let suspicion_over = lease
                .suspect
                .is_some_and(|at| now >= lease.suspicion_ends(at));
            lease.version() == stop.seen && lease.is_dead(now) && suspicion_over
        }
        // A replaced holder may renew as often as it likes, so its version does not matter. What
        // matters is that the run it is stopped for still waits.
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
    // A holder that is being stopped for another reason gets the operator's note all the same: the
    // history has the eviction.
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

/// The lease with the mark. The time of an earlier mark stays: late heartbeats are judged by it.
fn ending(lease: &Lease, cause: EndingCause, now: Timestamp) -> Lease {
    let since = lease.ending.map_or(now, |ending| ending.since);
    Lease {
        ending: Some(Ending { since, cause }),
        ..lease.clone()
    }
}

/// The record and the lease of this grant; `None` if it has ended, whatever holds the lock now.
fn held<'a>(
    seen: &'a Snapshot,
    holder: &HolderId,
    token: FencingToken,
) -> Option<(&'a LockRecord, &'a Lease)> {
    let record = seen.record.as_ref()?;
    Some((record, record.lease(holder, token)?))
}

/// The lock is due as soon as the lease asks for it: a stop that dies with its function is gone on
/// with by the sweep.
fn changed(record: &LockRecord, holder: &HolderId, lease: Lease) -> Transition {
    let mut next = record.clone();
    next.due_by(lease.next_check(&next.mode));
    next.holders.insert(holder.clone(), lease);
    Transition::to(next, Outcome::Done)
}
