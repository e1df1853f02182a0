//! Marks holders that are about to leave: a stop in two steps, and holders that are ending.
//!
//! ```text
//!  live ── lease over ──▶ suspect ── a heartbeat's time ──▶ stop committed ──▶ stopped ──▶ recover
//!   ▲                        │       (10 s at least)         heartbeats are refused
//!   └─────── heartbeat ──────┘
//! ```
//!
//! An outage of the table that is longer than a lease ends every lease, while every holder is well.
//! The mark gives each holder the time to renew. The commit names the lease that was judged, so a
//! heartbeat that comes first voids the stop.

use crate::domain::{
    AuditNote, EndingCause, Exit, ExitStep, Lease, LeaseVersion, LockRecord, Mark, Outcome,
    Snapshot, StopReason, Timestamp, Transition, WaiterId,
};

/// Marks the holder, which keeps its permit. A repetition changes nothing.
pub(super) fn decide(seen: &Snapshot, mark: &Mark, now: Timestamp) -> Transition {
    let record = seen.record.as_ref();
    let held = record.and_then(|r| Some((r, r.lease(&mark.holder, mark.token)?)));
    let Some((record, lease)) = held else {
        let holders = record.map(LockRecord::oldest_first).unwrap_or_default();
        return Transition::unchanged(Outcome::Lost { holders });
    };
    let marked = match &mark.step {
        ExitStep::Suspect => suspect(lease, mark.seen, now),
        ExitStep::Ending => ending(lease, mark.seen, now),
        ExitStep::Stop(reason) => stop(record, lease, *reason, mark.seen, now),
        ExitStep::Evict(audit) => evict(lease, audit, mark.seen, now),
    };
    match marked {
        Marked::Now(exit) => {
            let lease = Lease {
                exit,
                ..lease.clone()
            };
            let mut next = record.clone();
            // The sweep continues a stop that died with its function.
            next.due_by(lease.next_check(&next.gate.mode));
            next.holders.insert(mark.holder.clone(), lease);
            Transition::to(next, Outcome::Done)
        }
        Marked::Already => Transition::unchanged(Outcome::Done),
        Marked::Void => Transition::unchanged(Outcome::Unchanged),
    }
}

/// What a mark does to the exit of a holder.
enum Marked {
    /// The exit with the mark.
    Now(Exit),
    /// An earlier call has set the mark.
    Already,
    /// The evidence no longer holds.
    Void,
}

/// Marks a holder as a suspect: its lease has expired, and its execution runs. A heartbeat clears the mark.
fn suspect(lease: &Lease, seen: Option<LeaseVersion>, now: Timestamp) -> Marked {
    let silent = is_same(seen, lease) && lease.is_dead(now);
    // A mark that stands keeps its time, which would start again with each check.
    if !silent || lease.exit.suspect.is_some() {
        return Marked::Void;
    }
    Marked::Now(Exit {
        suspect: Some(now),
        ..lease.exit.clone()
    })
}

/// Marks a holder as ending: its work is being stopped.
fn ending(lease: &Lease, seen: Option<LeaseVersion>, now: Timestamp) -> Marked {
    if is_void(seen, lease) {
        return Marked::Void;
    }
    match lease.exit.ending {
        Some(_) => Marked::Already,
        None => Marked::Now(lease.exit.ending(EndingCause::Over, now)),
    }
}

/// Commits the stop, after which heartbeats are refused. A heartbeat that comes first voids the
/// stop of a stale holder. It does not void the stop of a replaced holder.
fn stop(
    record: &LockRecord,
    lease: &Lease,
    reason: StopReason,
    seen: Option<LeaseVersion>,
    now: Timestamp,
) -> Marked {
    let holds = match reason {
        // All of it is asked again under the lease as it is now: the evidence is older than this
        // write.
        StopReason::Stale => is_same(seen, lease) && lease.staleness(now).is_some(),
        // A replaced holder may renew as often as it likes, so its version does not matter. What
        // matters is that the run it is stopped for still waits, and could be let in by that alone.
        StopReason::Replaced => {
            let replacer = lease.exit.replaced_by.as_ref().map(WaiterId::of);
            let waits = replacer.is_some_and(|id| record.queue.contains_key(&id));
            waits && record.gate.lets_in(now) && !record.has_room()
        }
    };
    match holds && !lease.exit.is_committed() {
        true => Marked::Now(lease.exit.ending(EndingCause::Stopped, now)),
        false => Marked::Void,
    }
}

/// Commits the stop of a holder that an operator evicts, whatever its lease is.
fn evict(lease: &Lease, audit: &AuditNote, seen: Option<LeaseVersion>, now: Timestamp) -> Marked {
    // A holder that is being stopped for another reason gets the operator's note all the same: the
    // history has the eviction.
    if lease.exit.evicted().is_some() {
        return Marked::Already;
    }
    if is_void(seen, lease) {
        return Marked::Void;
    }
    let cause = EndingCause::Evicted(audit.signed());
    Marked::Now(lease.exit.ending(cause, now))
}

/// Returns whether the lease is as it was seen.
fn is_same(seen: Option<LeaseVersion>, lease: &Lease) -> bool {
    seen.is_none_or(|seen| seen == lease.version())
}

/// Returns whether a heartbeat since `seen` voids the evidence that was gathered then: the execution was
/// redriven. A mark that another check has set since does not.
fn is_void(seen: Option<LeaseVersion>, lease: &Lease) -> bool {
    let ending = lease.exit.ending.is_some();
    seen.is_some_and(|seen| LeaseVersion { ending, ..seen } != lease.version())
}
