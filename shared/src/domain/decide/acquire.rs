//! Take a permit.

use super::{end_run, oldest_first};
use crate::domain::{
    Acquire, FencingToken, HolderId, Lease, LockRecord, Mode, Outcome, Refusal, Run, RunEnd,
    RunGuard, RunId, RunOutcome, RunWrite, Snapshot, Timestamp, Transition,
};

/// Most lost runs that one grant records. A DynamoDB transaction has at most 100 actions
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>).
/// A run beyond it stays open under a holder that is gone, which frees its run key all the same.
const LOST_RUNS_MAX: usize = 50;

pub(super) fn decide(
    seen: &Snapshot,
    acquire: &Acquire,
    now: Timestamp,
) -> Result<Transition, Refusal> {
    if let Some(refusal) = refuse_succeeded(seen.run.as_ref(), acquire, now) {
        return Err(refusal);
    }
    let record = seen
        .record
        .clone()
        .unwrap_or_else(|| LockRecord::new(acquire.permits));
    if let Some(lease) = record.holders.get(&acquire.holder) {
        return Ok(held_already(&record, &acquire.holder, lease, now));
    }
    match &record.mode {
        Mode::Open => {}
        Mode::Paused { note } => return Err(Refusal::Paused { note: note.clone() }),
        Mode::Frozen { note } => return Err(Refusal::Frozen { note: note.clone() }),
    }
    let displaced = displaced_by(&record, acquire, now)?;
    if now < record.not_before {
        return Err(Refusal::TooSoon {
            not_before: record.not_before,
        });
    }
    Ok(grant(record, displaced, seen.run.as_ref(), acquire, now))
}

/// The same holder again: the same grant. A lease that ran out meanwhile starts anew under the
/// same token, because nobody has taken it over.
fn held_already(
    record: &LockRecord,
    holder: &HolderId,
    lease: &Lease,
    now: Timestamp,
) -> Transition {
    if lease.is_live(now) || lease.is_overrun(now) {
        return Transition::unchanged(Outcome::AlreadyHeld {
            lease: lease.clone(),
        });
    }
    let lease = lease.renewed(now, None);
    let mut next = record.clone();
    next.version += 1;
    next.holders.insert(holder.clone(), lease.clone());
    let outcome = Outcome::AlreadyHeld { lease };
    Transition {
        next: Some(next),
        runs: Vec::new(),
        outcome,
        effects: Vec::new(),
    }
}

/// The dead holders whose permits end if `acquire` is granted.
///
/// A free permit displaces nobody, with one exception: a dead holder of the same run key always
/// goes, or its late heartbeat would make two runs of one key.
fn displaced_by(
    record: &LockRecord,
    acquire: &Acquire,
    now: Timestamp,
) -> Result<Vec<HolderId>, Refusal> {
    let held = || Refusal::Held {
        holders: oldest_first(record),
        permits: record.permits,
    };
    let all_dead = record.holders.values().all(|lease| lease.is_dead(now));
    if !record.queue.is_empty() {
        return Err(held());
    }
    if record.permits != acquire.permits {
        // Another capacity is fine once nobody alive counts on the old one.
        let mismatch = Refusal::PermitsMismatch {
            has: record.permits,
            asked: acquire.permits,
        };
        let everybody = record.holders.keys().cloned().collect();
        return if all_dead {
            Ok(everybody)
        } else {
            Err(mismatch)
        };
    }
    let has_room = record.permits.has_room(record.holders.len());
    let first_dead = record.first_dead(now);
    if let Some(run_key) = &acquire.run_key
        && let Some((holder, lease)) = record.holder_of_run(run_key)
    {
        if lease.is_dead(now) {
            return Ok(vec![holder.clone()]);
        }
        if has_room || first_dead.is_some() {
            let run = Run {
                holder: holder.clone(),
                token: lease.token,
                end: None,
            };
            return Err(Refusal::Duplicate {
                run_key: run_key.clone(),
                run,
            });
        }
    }
    match first_dead {
        _ if has_room => Ok(Vec::new()),
        Some(holder) => Ok(vec![holder.clone()]),
        None => Err(held()),
    }
}

fn grant(
    mut record: LockRecord,
    displaced: Vec<HolderId>,
    seen_run: Option<&Run>,
    acquire: &Acquire,
    now: Timestamp,
) -> Transition {
    let token = FencingToken::next(record.last_token, now);
    let lease = new_lease(acquire, token, now);
    let mut runs = Vec::new();
    let mut taken_from = Vec::new();
    for holder in displaced {
        let Some(old) = record.holders.remove(&holder) else {
            continue;
        };
        // The run of the same key is written once, as the new one.
        let is_other_run = old.run_key.is_none() || old.run_key != acquire.run_key;
        if is_other_run && runs.len() < LOST_RUNS_MAX {
            let end = RunEnd {
                outcome: RunOutcome::Lost,
                at: now,
                retain_until: now.plus(acquire.retention),
            };
            runs.push(end_run(&holder, &old, end));
        }
        taken_from.push((holder, old));
    }
    if acquire.run_key.is_some() {
        let running = seen_run.filter(|run| run.end.is_none());
        let guard = running.map_or(RunGuard::NotTaken(now), |r| RunGuard::RunningUnder(r.token));
        runs.insert(0, (guard, start_run(acquire, token)));
    }
    record.version += 1;
    record.permits = acquire.permits;
    record.last_token = token;
    record.not_before = acquire
        .min_interval
        .map_or(record.not_before, |gap| now.plus(gap));
    record.holders.insert(acquire.holder.clone(), lease.clone());
    let outcome = Outcome::Granted { lease, taken_from };
    Transition {
        next: Some(record),
        runs,
        outcome,
        effects: Vec::new(),
    }
}

pub(super) fn refuse_succeeded(
    run: Option<&Run>,
    acquire: &Acquire,
    now: Timestamp,
) -> Option<Refusal> {
    let run_key = acquire.run_key.clone()?;
    let run = run.filter(|run| run.is_success(now))?.clone();
    Some(Refusal::Duplicate { run_key, run })
}

/// The lease of a grant made at `now`.
pub(crate) fn new_lease(acquire: &Acquire, token: FencingToken, now: Timestamp) -> Lease {
    Lease {
        token,
        expires_at: now.plus(acquire.lease),
        length: acquire.lease,
        run_until: acquire.max_run.map(|most| now.plus(most)),
        run_key: acquire.run_key.clone(),
        beat: None,
    }
}

/// The run that begins with a grant.
pub(crate) fn start_run(acquire: &Acquire, token: FencingToken) -> RunWrite {
    let run = Run {
        holder: acquire.holder.clone(),
        token,
        end: None,
    };
    RunWrite {
        id: RunId::of(acquire.run_key.as_ref(), token),
        run,
    }
}
