//! Marks holders that are about to leave: suspects, holders that are ending, and holders whose stop is
//! committed.
//!
//! ```text
//!  live ── lease dead ──▶ suspect ── a heartbeat's time ──▶ stop committed ──▶ stopped ──▶ recover
//!   ▲                        │       (10 s at least)         heartbeats are refused
//!   └─────── heartbeat ──────┘
//! ```
//!
//! If the table is unavailable for longer than a lease, every lease expires although every holder is
//! alive. The mark as a suspect gives each holder time to renew its lease. The commit names the version
//! of the lease that was judged, so a heartbeat that is written first voids the stop.

use crate::domain::{
    AuditNote, EndingCause, Exit, ExitStep, Lease, LeaseVersion, LockRecord, Mark, Outcome,
    Snapshot, StopReason, Timestamp, Transition, WaiterId,
};

/// Marks the holder. It keeps its permit. A repeated command changes nothing.
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
            // If the function dies before it stops the holder, the sweep stops it.
            next.due_by(lease.next_check(&next.gate.mode));
            next.holders.insert(mark.holder.clone(), lease);
            Transition::to(next, Outcome::Done)
        }
        Marked::Already => Transition::unchanged(Outcome::Done),
        Marked::Void => Transition::unchanged(Outcome::Unchanged),
    }
}

/// Result of a mark.
enum Marked {
    /// The mark is set. Contains the new exit of the holder.
    Now(Exit),
    /// An earlier call has set the mark.
    Already,
    /// The evidence no longer holds.
    Void,
}

/// Marks a holder as a suspect: its lease has expired, and its execution runs. A heartbeat clears the mark.
fn suspect(lease: &Lease, seen: Option<LeaseVersion>, now: Timestamp) -> Marked {
    let silent = is_same(seen, lease) && lease.is_dead(now);
    // An existing mark keeps its time. Otherwise each check would start the time again.
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
    if is_evidence_void(seen, lease) {
        return Marked::Void;
    }
    match lease.exit.ending {
        Some(_) => Marked::Already,
        None => Marked::Now(lease.exit.ending(EndingCause::Over, now)),
    }
}

/// Commits the stop. Later heartbeats are refused. A heartbeat that is written first voids the stop of a
/// stale holder, and does not void the stop of a replaced holder.
fn stop(
    record: &LockRecord,
    lease: &Lease,
    reason: StopReason,
    seen: Option<LeaseVersion>,
    now: Timestamp,
) -> Marked {
    let holds = match reason {
        // The conditions are checked again on the present lease, because the evidence is older than this
        // write.
        StopReason::Stale => is_same(seen, lease) && lease.staleness(now).is_some(),
        // A holder that is to be replaced may renew its lease, so the version does not matter. The stop
        // requires that the replacer still waits, and that the lock could grant it the permit at once.
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

/// Commits the stop of a holder that an operator evicts, whether its lease is live or not.
fn evict(lease: &Lease, audit: &AuditNote, seen: Option<LeaseVersion>, now: Timestamp) -> Marked {
    // If the holder is being stopped for another reason, the operator's note is set too, so that the
    // history shows the eviction.
    if lease.exit.evicted().is_some() {
        return Marked::Already;
    }
    if is_evidence_void(seen, lease) {
        return Marked::Void;
    }
    let cause = EndingCause::Evicted(audit.signed());
    Marked::Now(lease.exit.ending(cause, now))
}

/// Returns whether the lease still has the version `seen`. Without a version every lease counts as
/// unchanged.
fn is_same(seen: Option<LeaseVersion>, lease: &Lease) -> bool {
    seen.is_none_or(|seen| seen == lease.version())
}

/// Returns whether the evidence that was gathered under `seen` is void, because the lease was renewed or
/// the execution was redriven since. A mark as ending that another check has set since does not void it.
fn is_evidence_void(seen: Option<LeaseVersion>, lease: &Lease) -> bool {
    let ending = lease.exit.ending.is_some();
    seen.is_some_and(|seen| LeaseVersion { ending, ..seen } != lease.version())
}
