//! The decision on a heartbeat.

use super::builder::TransitionBuilder;
use super::ended;
use super::operator::act;
use super::reinstate::{LATE_BEATS, reinstate};
use crate::domain::{
    Effect, Lease, LockRecord, Mode, Outcome, Refusal, Renew, RunId, RunOutcome, Snapshot,
    StalePolicy, Staleness, Timestamp, Transition,
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
    if lease.is_stopped() {
        return Err(lost(seen, renew));
    }
    let alive = alive(lease, renew, now).paced(renew.pace);
    let next = alive.renewed(now, renew.beat.clone(), renew.progress.as_deref());
    match (next.is_spent(now), lease.stale) {
        (None, _) => Ok(renewed(record, renew, next)),
        (Some(why), StalePolicy::Terminate) => Err(Refusal::Stale {
            holder: renew.holder.clone(),
            why,
        }),
        (Some(why), StalePolicy::Yield) => Ok(yielded(seen, record, renew, &next, why, now)),
        (Some(why), StalePolicy::Hold) => Ok(frozen(record, renew, next, why, now)),
    }
}

/// The lease of a holder that sends a heartbeat. It is no longer ending if its execution was
/// redriven since: the heartbeat reports more redrives, or comes too late to have been under way at
/// the end.
fn alive(lease: &Lease, renew: &Renew, now: Timestamp) -> Lease {
    if let Some(redrives) = renew.redrives.filter(|count| *count > lease.redrives) {
        return lease.redriven(redrives, now);
    }
    // The time until the waiter confirmed its hand-over does not count as the run's.
    if lease.call.is_some() && lease.is_spent(now).is_some() {
        return lease.excused(now);
    }
    let ending = lease
        .ending
        .filter(|ending| now < ending.since.plus(LATE_BEATS));
    Lease {
        ending,
        ..lease.clone()
    }
}

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
    let before = record.holders.get(&renew.holder).unwrap_or(lease);
    builder.close(&renew.holder, before, end, renew.retention);
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
    if record.mode != Mode::Open {
        return transition;
    }
    let note = format!("{} {}", renew.holder, in_words(why));
    if let Some(next) = &mut transition.next {
        next.mode = Mode::Frozen { note: note.clone() };
        let end = ended(RunOutcome::Frozen, Some(note.clone()), renew.retention, now);
        transition.runs = vec![act(next, &renew.holder, end)];
    }
    transition.outcome = Outcome::Frozen { note, expires_at };
    transition
}

fn without_lease(seen: &Snapshot, renew: &Renew, now: Timestamp) -> Result<Transition, Refusal> {
    let run = seen
        .runs
        .get(&RunId::Token(renew.token))
        .filter(|run| run.holder == renew.holder);
    let may_run_on = run.is_some_and(|run| {
        let yields = run
            .lease
            .as_ref()
            .is_some_and(|lease| lease.stale == StalePolicy::Yield);
        match run.outcome() {
            Some(RunOutcome::Succeeded) => true,
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

fn lost(seen: &Snapshot, renew: &Renew) -> Refusal {
    let holders = seen.record.as_ref().map(LockRecord::oldest_first);
    Refusal::LeaseLost {
        holder: renew.holder.clone(),
        token: renew.token,
        holders: holders.unwrap_or_default(),
    }
}

/// Why a holder is stale, as a phrase that follows its name.
pub(super) fn in_words(why: Staleness) -> &'static str {
    match why {
        Staleness::Expired(_) => "stopped renewing its lease",
        Staleness::Overran(_) => "is over its time (maxRunSeconds)",
        Staleness::Stalled(_) => "makes no progress (noProgressSeconds)",
    }
}
