//! The decision on a heartbeat.
//!
//! ```text
//!  the lease is in the record
//!    stop committed ─────────────▶ LeaseLost
//!    over its time, no progress ─▶ by stale policy: Stale, Yielded, Frozen
//!    sent before the last one ───▶ Renewed, as that one left it: a lease's end does not move back
//!    anything else ──────────────▶ Renewed, although it may be over: none has freed it
//!  the lease is not in the record
//!    succeeded, or yielded ──────▶ Ended: nothing left to renew, and no error that stops work
//!    failed a moment ago ────────▶ Ended: it was under way at the release, and is of no redrive
//!    recovered, lost, failed ────▶ Reinstated for a redriven execution, else LeaseLost
//! ```

use super::builder::TransitionBuilder;
use super::reinstate::{LATE_BEATS, reinstate};
use crate::domain::history::ended;
use crate::domain::{
    Act, CLOCK_SKEW, Effect, Ending, Lease, LockRecord, Outcome, Refusal, Renew, Restart, Run,
    RunId, RunOutcome, Snapshot, StalePolicy, Staleness, Timestamp, Transition,
};

pub(super) fn decide(
    seen: &Snapshot,
    renew: &Renew,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&renew.holder, renew.token));
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        return without_lease(seen, renew, now);
    };
    // A committed stop is final. Whichever of the two is written first wins: this heartbeat, or the
    // stop.
    if lease.exit.is_committed() {
        return Err(lost(seen, renew));
    }
    let Some(sent) = sent_at(lease, renew, now) else {
        let expires_at = lease.expires_at;
        return Ok(Transition::unchanged(Outcome::Renewed { expires_at }));
    };
    // The limits are judged after the progress of this very heartbeat, so that progress in the last
    // moment counts.
    let alive = alive(lease, renew, now).paced(renew.pace);
    let next = alive.renewed(sent, renew.beat.clone(), renew.progress.as_deref());
    // The first heartbeat of a redrive may bring a shorter lease, or a clock that is behind.
    let expires_at = next.expires_at.max(lease.expires_at);
    let next = Lease { expires_at, ..next };
    match (next.is_spent(now), lease.stale) {
        (None, _) => Ok(renewed(record, renew, next)),
        // The permit stays: the workflow fails, stops its work, and the lock is free when that has
        // stopped.
        (Some(why), StalePolicy::Terminate) => Err(Refusal::Stale {
            holder: renew.holder.clone(),
            why,
        }),
        (Some(why), StalePolicy::Yield) => Ok(yielded(seen, record, renew, &next, why, now)),
        (Some(why), StalePolicy::Hold) => Ok(frozen(record, renew, next, why, now)),
    }
}

/// Returns when the heartbeat was sent; `None` if the lease already has a later one, which makes this
/// one out of date.
///
/// The heartbeats of a grant come less often the longer it lasts, so one that brings a shorter lease is older, whenever
/// its function was carried out. The first one of a redrive is never out of date.
fn sent_at(lease: &Lease, renew: &Renew, now: Timestamp) -> Option<Timestamp> {
    let length = renew.pace.unwrap_or(lease.pace).length;
    let redriven = renew.redrives.is_some_and(|count| count > lease.redrives);
    if redriven || now.plus(length) >= lease.expires_at {
        return Some(now);
    }
    // The clock of the function that carried out the heartbeat before may be ahead of this one.
    let latest = lease.renewed_at();
    let same = length == lease.pace.length && now.plus(CLOCK_SKEW) >= latest;
    same.then_some(now.max(latest))
}

/// Returns the lease of a holder that sends a heartbeat. It is no longer ending if its execution was
/// redriven since: the heartbeat reports more redrives, or comes too late to have been under way at
/// the end.
fn alive(lease: &Lease, renew: &Renew, now: Timestamp) -> Lease {
    if let Some(redrives) = renew.redrives.filter(|count| *count > lease.redrives) {
        return lease.restarted(Restart::Redriven(redrives), now);
    }
    // The time until the waiter confirmed its hand-over does not count as the run's, nor that in which the task of the
    // attempt before is being stopped.
    if (lease.call.is_some() || renew.resumes) && lease.is_limited() {
        return lease.restarted(Restart::Excused, now);
    }
    // A heartbeat that was under way at the end does not hide that the work is being stopped.
    let late = |ending: &Ending| now >= ending.since.plus(LATE_BEATS);
    let mut lease = lease.clone();
    lease.exit.ending.take_if(|ending| late(ending));
    lease
}

/// Returns the lease with its new end. `due` stays as it is, which saves each heartbeat a write to the
/// index of the sweep.
fn renewed(record: &LockRecord, renew: &Renew, lease: Lease) -> Transition {
    let outcome = Outcome::Renewed {
        expires_at: lease.expires_at,
    };
    let mut next = record.clone();
    next.holders.insert(renew.holder.clone(), lease);
    Transition::to(next, outcome)
}

/// The holder loses its permit and keeps running: its heartbeat state ends without an error.
fn yielded(
    seen: &Snapshot,
    record: &LockRecord,
    renew: &Renew,
    lease: &Lease,
    why: Staleness,
    now: Timestamp,
) -> Transition {
    let evidence = format!("{}; it runs on without its permit", in_words(why));
    let end = ended(
        RunOutcome::Lost,
        Some(evidence.clone()),
        renew.retention,
        now,
    );
    let mut builder = TransitionBuilder::of(record);
    // The record contains the lease before this heartbeat.
    // The guard compares the whole lease, so it must be that one and not the renewed.
    let before = record.holders.get(&renew.holder).unwrap_or(lease);
    builder.close(seen, &renew.holder, before, end, renew.retention);
    let beat = lease.beat.clone().map(Effect::EndHeartbeat);
    builder.effects.extend(beat);
    builder.let_in(seen, now);
    builder.finish(Outcome::Yielded { evidence }, now)
}

/// The holder keeps its permit, and no other is granted until an operator resumes the lock.
fn frozen(
    record: &LockRecord,
    renew: &Renew,
    lease: Lease,
    why: Staleness,
    now: Timestamp,
) -> Transition {
    let expires_at = lease.expires_at;
    let mut transition = renewed(record, renew, lease);
    let note = format!("{} {}", renew.holder, in_words(why));
    // A lock that is closed already is not frozen again by each further heartbeat.
    if let Some(next) = &mut transition.next
        && next.freeze(&note, now)
    {
        let act = Act::freeze(next, &renew.holder, note.clone(), renew.retention, now);
        transition.act = Some(act);
        transition.outcome = Outcome::Frozen { note, expires_at };
    }
    transition
}

/// Returns the answer to a heartbeat whose lease is gone, by how its run ended. An error stops the work,
/// so it is the answer only where the run must not go on.
fn without_lease(seen: &Snapshot, renew: &Renew, now: Timestamp) -> Result<Transition, Refusal> {
    let run = seen
        .runs
        .get(&RunId::Token(renew.token))
        .filter(|run| run.holder == renew.holder);
    // A heartbeat may come after the release of its own run: both branches of the workflow run side
    // by side.
    let may_run_on = run.is_some_and(|run| {
        let yields = run
            .lease
            .as_ref()
            .is_some_and(|lease| lease.stale == StalePolicy::Yield);
        match run.outcome() {
            Some(RunOutcome::Succeeded) => true,
            Some(RunOutcome::Failed) => crossed_release(run, renew, now),
            Some(RunOutcome::Lost) => yields,
            _ => false,
        }
    });
    if may_run_on {
        return Ok(Transition::unchanged(Outcome::Ended));
    }
    let back = run.and_then(|run| reinstate(seen.record.as_ref()?, run, renew, now));
    back.ok_or_else(|| lost(seen, renew))
}

/// Returns whether the heartbeat was under way when its `run` released its permit after a failure: it
/// comes within [`LATE_BEATS`] and counts no redrive since. A heartbeat without a count may be of a
/// redriven execution.
fn crossed_release(run: &Run, renew: &Renew, now: Timestamp) -> bool {
    let known = run.lease.as_ref().map_or(0, |lease| lease.redrives);
    let recent = run
        .end
        .as_ref()
        .is_some_and(|end| now < end.at.plus(LATE_BEATS));
    recent && renew.redrives.is_some_and(|count| count <= known)
}

fn lost(seen: &Snapshot, renew: &Renew) -> Refusal {
    let holders = seen.record.as_ref().map(LockRecord::oldest_first);
    Refusal::LeaseLost {
        holder: renew.holder.clone(),
        token: renew.token,
        holders: holders.unwrap_or_default(),
    }
}

/// Returns why a holder is stale, as a phrase that follows its name.
pub(super) fn in_words(why: Staleness) -> &'static str {
    match why {
        Staleness::Expired(_) => "stopped renewing its lease",
        Staleness::Overran(_) => "is over its time (maxRunSeconds)",
        Staleness::Stalled(_) => "makes no progress (noProgressSeconds)",
    }
}
