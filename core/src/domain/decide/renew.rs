//! The decision on a heartbeat.
//!
//! ```text
//!  the lease is in the record
//!    stop committed ─────────────▶ LeaseLost
//!    a limit is exceeded ────────▶ by stale policy: Stale, Yielded, Frozen
//!    sent before the last one ───▶ Renewed, with the end unchanged: it does not move back
//!    anything else ──────────────▶ Renewed, even if the lease has expired: nobody freed the permit
//!  the lease is not in the record
//!    succeeded, or yielded ──────▶ Ended: no lease to renew, and no error, which would stop the work
//!    failed less than 15 s ago ──▶ Ended if it reports a redrive count and no new redrive: sent before the release
//!    recovered, lost, failed ────▶ Reinstated for a redriven execution, else LeaseLost
//! ```

use super::builder::TransitionBuilder;
use super::reinstate::{LATE_HEARTBEAT_MAX, reinstate};
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
    // A committed stop is final: of a heartbeat and a stop, the one that is written first wins.
    if lease.exit.is_committed() {
        return Err(lost(seen, renew));
    }
    let Some(sent) = sent_at(lease, renew, now) else {
        let expires_at = lease.expires_at;
        return Ok(Transition::unchanged(Outcome::Renewed { expires_at }));
    };
    // The limits are checked after the progress of this heartbeat is applied, so that this progress
    // counts.
    let alive = alive(lease, renew, now).paced(renew.pace);
    let next = alive.renewed(sent, renew.beat.clone(), renew.progress.as_deref());
    // The first heartbeat after a redrive may set a shorter lease, or come from a clock that is behind.
    let expires_at = next.expires_at.max(lease.expires_at);
    let next = Lease { expires_at, ..next };
    match (next.is_spent(now), lease.stale) {
        (None, _) => Ok(renewed(record, renew, next)),
        // The holder keeps its permit. Its workflow fails and stops the work. The permit is free once
        // the work has stopped.
        (Some(why), StalePolicy::Terminate) => Err(Refusal::Stale {
            holder: renew.holder.clone(),
            why,
        }),
        (Some(why), StalePolicy::Yield) => Ok(yielded(seen, record, renew, &next, why, now)),
        // The permit of a holder that is ending is free once its work has stopped.
        (Some(_), StalePolicy::Hold) if next.exit.ending.is_some() => {
            Ok(renewed(record, renew, next))
        }
        (Some(why), StalePolicy::Hold) => Ok(frozen(record, renew, next, why, now)),
    }
}

/// Returns when the heartbeat was sent; `None` if a later heartbeat has renewed the lease already.
///
/// The longer a grant lasts, the longer the time between its heartbeats and the lease that each sets. So
/// a heartbeat that sets a shorter lease is older, whenever its function ran. The first heartbeat after
/// a redrive is never out of date.
fn sent_at(lease: &Lease, renew: &Renew, now: Timestamp) -> Option<Timestamp> {
    let length = renew.pace.unwrap_or(lease.pace).length;
    let redriven = renew.redrives.is_some_and(|count| count > lease.redrives);
    if redriven || now.plus(length) >= lease.expires_at {
        return Some(now);
    }
    // The clock of the function that executed the last heartbeat may be ahead of this clock.
    let latest = lease.renewed_at();
    let same = length == lease.pace.length && now.plus(CLOCK_SKEW) >= latest;
    same.then_some(now.max(latest))
}

/// Returns the lease of a holder that sends a heartbeat. The holder is no longer ending if its execution
/// was redriven since: the heartbeat reports more redrives, or arrives more than [`LATE_HEARTBEAT_MAX`] after
/// the ending began.
fn alive(lease: &Lease, renew: &Renew, now: Timestamp) -> Lease {
    if let Some(redrives) = renew.redrives.filter(|count| *count > lease.redrives) {
        return lease.restarted(Restart::Redriven(redrives), now);
    }
    // Two times do not count as run time: the time until a waiter confirms its hand-over, and the time
    // in which a redriven run waits until the task of its previous attempt has stopped.
    if (lease.call.is_some() || renew.resumes) && lease.is_limited() {
        return lease.restarted(Restart::Excused, now);
    }
    // A heartbeat that was sent before the ending began does not clear it.
    let late = |ending: &Ending| now >= ending.since.plus(LATE_HEARTBEAT_MAX);
    let mut lease = lease.clone();
    lease.exit.ending.take_if(|ending| late(ending));
    lease
}

/// Returns the write of the renewed lease. `due` stays as it is, so a heartbeat writes nothing to the
/// index of the sweep.
fn renewed(record: &LockRecord, renew: &Renew, lease: Lease) -> Transition {
    let outcome = Outcome::Renewed {
        expires_at: lease.expires_at,
    };
    let mut next = record.clone();
    next.holders.insert(renew.holder.clone(), lease);
    Transition::to(next, outcome)
}

/// Ends the grant of a stale holder under `yield`. The holder keeps running, and its heartbeat state
/// ends without an error.
fn yielded(
    seen: &Snapshot,
    record: &LockRecord,
    renew: &Renew,
    lease: &Lease,
    why: Staleness,
    now: Timestamp,
) -> Transition {
    let evidence = format!("{}; it continues without its permit", in_words(why));
    let end = ended(
        RunOutcome::Lost,
        Some(evidence.clone()),
        renew.retention,
        now,
    );
    let mut builder = TransitionBuilder::of(record);
    // The guard compares the whole lease with the record, so this must be the lease before this
    // heartbeat.
    let before = record.holders.get(&renew.holder).unwrap_or(lease);
    builder.close(seen, &renew.holder, before, end, true, renew.retention);
    let beat = lease.beat.clone().map(Effect::EndHeartbeat);
    builder.effects.extend(beat);
    builder.let_in(seen, now);
    builder.finish(Outcome::Yielded { evidence }, now)
}

/// Renews the lease and freezes the lock. The holder keeps its permit, and no permit is granted until an
/// operator resumes the lock.
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
    // If the lock is paused or frozen already, the heartbeat only renews the lease.
    if let Some(next) = &mut transition.next
        && next.freeze(&note, now)
    {
        let act = Act::freeze(next, &renew.holder, note.clone(), renew.retention, now);
        transition.act = Some(act);
        transition.outcome = Outcome::Frozen { note, expires_at };
    }
    transition
}

/// Returns the answer to a heartbeat whose lease is not in the record. It depends on how the run ended:
/// an error stops the work, so the answer is an error only if the run must not continue.
fn without_lease(seen: &Snapshot, renew: &Renew, now: Timestamp) -> Result<Transition, Refusal> {
    let run = seen
        .runs
        .get(&RunId::Token(renew.token))
        .filter(|run| run.holder == renew.holder);
    // A heartbeat may arrive after the release of its own run, because the two branches of the workflow
    // run in parallel.
    let may_run_on = run.is_some_and(|run| {
        let yields = run
            .lease
            .as_ref()
            .is_some_and(|lease| lease.stale == StalePolicy::Yield);
        match run.outcome() {
            Some(RunOutcome::Succeeded) => true,
            Some(RunOutcome::Failed) => was_sent_before_release(run, renew, now),
            Some(RunOutcome::Lost) => yields,
            _ => false,
        }
    });
    if may_run_on {
        return Ok(Transition::unchanged(Outcome::Ended));
    }
    let back = run.and_then(|run| reinstate(seen, run, renew, now));
    back.ok_or_else(|| lost(seen, renew))
}

/// Returns whether the heartbeat was sent before `run` released its permit after a failure: it arrives
/// within [`LATE_HEARTBEAT_MAX`] and reports no redrive since. A heartbeat that reports no number of redrives
/// does not qualify, because it may come from a redriven execution.
fn was_sent_before_release(run: &Run, renew: &Renew, now: Timestamp) -> bool {
    let known = run.lease.as_ref().map_or(0, |lease| lease.redrives);
    let recent = run
        .end
        .as_ref()
        .is_some_and(|end| now < end.at.plus(LATE_HEARTBEAT_MAX));
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
        Staleness::Overran(_) => "exceeded its run time (maxRunSeconds)",
        Staleness::Stalled(_) => "made no progress for too long (noProgressSeconds)",
    }
}
