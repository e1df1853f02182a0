//! The one function that says what a command does to a lock.

use super::command::{Acquire, Command, Release, Renew};
use super::guard::RunGuard;
use super::holder::HolderId;
use super::lease::Lease;
use super::record::{LockRecord, Mode};
use super::refusal::Refusal;
use super::run::{Run, RunEnd, RunOutcome, RunWrite};
use super::time::Timestamp;
use super::token::FencingToken;
use super::transition::{Effect, Outcome, Snapshot, Transition};

/// What `command` does to a lock seen as `seen` at `now`.
///
/// Pure: the same arguments give the same answer, and nothing else is looked at.
///
/// # Errors
/// A [`Refusal`] when the command changes nothing and the caller has to know why.
pub fn decide(seen: &Snapshot, command: &Command, now: Timestamp) -> Result<Transition, Refusal> {
    match command {
        Command::Acquire(acquire) => decide_acquire(seen, acquire, now),
        Command::Renew(renew) => decide_renew(seen, renew, now),
        Command::Release(release) => Ok(decide_release(seen, release, now)),
    }
}

/// The refusal that the command's run alone tells, without a look at the record: a run key that has
/// had its success.
#[must_use]
pub fn refused_by_run(run: Option<&Run>, command: &Command, now: Timestamp) -> Option<Refusal> {
    let Command::Acquire(acquire) = command else {
        return None;
    };
    refuse_succeeded(run, acquire, now)
}

fn refuse_succeeded(run: Option<&Run>, acquire: &Acquire, now: Timestamp) -> Option<Refusal> {
    let run_key = acquire.run_key.clone()?;
    let run = run.filter(|run| run.is_success(now))?.clone();
    Some(Refusal::Duplicate { run_key, run })
}

fn decide_acquire(
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
        if old.run_key.is_none() || old.run_key != acquire.run_key {
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
        runs.push((guard, start_run(acquire, token)));
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

fn decide_renew(seen: &Snapshot, renew: &Renew, now: Timestamp) -> Result<Transition, Refusal> {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&renew.holder, renew.token));
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        return if seen
            .run
            .as_ref()
            .is_some_and(|run| run.was_released(renew.token))
        {
            Ok(Transition::unchanged(Outcome::Ended))
        } else {
            Err(Refusal::LeaseLost {
                holder: renew.holder.clone(),
                token: renew.token,
                holders: seen.record.as_ref().map(oldest_first).unwrap_or_default(),
            })
        };
    };
    if let Some(run_until) = lease.run_until.filter(|_| lease.is_overrun(now)) {
        return Err(Refusal::Overrun {
            holder: renew.holder.clone(),
            run_until,
        });
    }
    let lease = lease.renewed(now, renew.beat.clone());
    let outcome = Outcome::Renewed {
        expires_at: lease.expires_at,
    };
    let mut next = record.clone();
    next.version += 1;
    next.holders.insert(renew.holder.clone(), lease);
    Ok(Transition {
        next: Some(next),
        runs: Vec::new(),
        outcome,
        effects: Vec::new(),
    })
}

fn decide_release(seen: &Snapshot, release: &Release, now: Timestamp) -> Transition {
    let lease = seen
        .record
        .as_ref()
        .and_then(|r| r.lease(&release.holder, release.token));
    let since = release.token.granted_at();
    let (Some(record), Some(lease)) = (&seen.record, lease) else {
        let own = seen
            .run
            .as_ref()
            .filter(|run| run.was_released(release.token));
        return Transition::unchanged(match own.and_then(|run| run.end) {
            Some(end) => Outcome::Released {
                since,
                at: end.at,
                already: true,
            },
            None => Outcome::Lost {
                holders: seen.record.as_ref().map(oldest_first).unwrap_or_default(),
            },
        });
    };
    let end = RunEnd {
        outcome: release.outcome,
        at: now,
        retain_until: now.plus(release.retention),
    };
    // Another run may have taken the run key over while this one was late: then it is not ours to
    // end any more.
    let foreign = seen
        .run
        .as_ref()
        .is_some_and(|run| run.token != release.token);
    let runs = if foreign {
        Vec::new()
    } else {
        vec![end_run(&release.holder, lease, end)]
    };
    let effects = lease
        .beat
        .iter()
        .cloned()
        .map(Effect::EndHeartbeat)
        .collect();
    let mut next = record.clone();
    next.version += 1;
    next.holders.remove(&release.holder);
    let outcome = Outcome::Released {
        since,
        at: now,
        already: false,
    };
    Transition {
        next: Some(next),
        runs,
        outcome,
        effects,
    }
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
        id: super::run::RunId::of(acquire.run_key.as_ref(), token),
        run,
    }
}

fn end_run(holder: &HolderId, lease: &Lease, end: RunEnd) -> (RunGuard, RunWrite) {
    let run = Run {
        holder: holder.clone(),
        token: lease.token,
        end: Some(end),
    };
    (
        RunGuard::OpenFor(lease.token),
        RunWrite {
            id: lease.run_id(),
            run,
        },
    )
}

fn oldest_first(record: &LockRecord) -> Vec<(HolderId, Lease)> {
    let mut holders: Vec<_> = record
        .holders
        .iter()
        .map(|(holder, lease)| (holder.clone(), lease.clone()))
        .collect();
    holders.sort_by_key(|(_, lease)| lease.token);
    holders
}
