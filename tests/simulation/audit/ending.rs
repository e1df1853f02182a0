//! Promises about the end of grants: no run loses a permit without a true reason, and the history
//! tells the reason.
//!
//! Promises about a world at rest: no run is forgotten, and the history is complete.

use super::{Book, Verdict, Write, all_kept, kept};
use crate::cloud::{Cloud, TaskRow};
use crate::engine::locked;
use crate::witness::{self, Excuse};
use crate::world::{World, short};
use lockstep::domain::{
    CLOCK_SKEW, HolderId, Lease, LockKey, Mode, RunId, RunOutcome, RunWrite, StalePolicy,
};
use std::collections::BTreeMap;

/// How old the evidence of a write may be, in milliseconds: calls before the write have gathered
/// it.
const EVIDENCE: u64 = 10_000;

pub(super) fn check(write: &Write<'_>, book: &mut Book) -> Verdict {
    let holders = write.before.iter().flat_map(|before| &before.holders);
    for (holder, lease) in holders {
        if write.after.lease(holder, lease.token).is_none() {
            end(write, book, holder, lease)?;
        }
    }
    write
        .change
        .runs
        .iter()
        .try_for_each(|(_, run)| rewrite(write, book, run))
}

/// Checks a change of the history of a grant that is over. One change is allowed: the work came to
/// its own end later. A success never changes.
fn rewrite(write: &Write<'_>, book: &mut Book, run: &RunWrite) -> Verdict {
    let (RunId::Token(token), Some(outcome)) = (&run.id, run.run.outcome()) else {
        return Ok(());
    };
    let Some(entry) = book.grants.get_mut(token) else {
        return Ok(());
    };
    let Some((at, before)) = entry.over.filter(|(_, before)| *before != outcome) else {
        return Ok(());
    };
    let is_reported = matches!(outcome, RunOutcome::Succeeded | RunOutcome::Failed);
    kept(is_reported && before != RunOutcome::Succeeded, || {
        format!("token {token} was {before:?} and is {outcome:?} now")
    })?;
    let success = outcome == RunOutcome::Succeeded;
    witness::ends_as(write.world, write.cloud, &entry.holder, success)?;
    entry.over = Some((at, outcome));
    // If another run has the key by now, its marker stays.
    let runs = &write.change.runs;
    let marked = runs.iter().any(|(_, run)| matches!(run.id, RunId::Key(_)));
    if let Some(key) = run.run.run_key.as_ref().filter(|_| success && marked) {
        book.successes.insert(key.clone(), *token);
    }
    let after_all = if success {
        "succeeded after all"
    } else {
        "failed after all"
    };
    write.world.count(after_all);
    Ok(())
}

fn end(write: &Write<'_>, book: &mut Book, holder: &HolderId, lease: &Lease) -> Verdict {
    let id = RunId::Token(lease.token);
    let written = write.change.runs.iter().find(|(_, write)| write.id == id);
    let outcome = written.and_then(|(_, write)| write.run.outcome());
    let outcome = outcome.ok_or_else(|| format!("{holder} left without a word in the history"))?;
    let world = write.world;
    let (token, name) = (lease.token, short(holder.as_str()));
    world.note(
        "auditor",
        format_args!("{token} of {name} is over: {outcome:?}"),
    );
    if matches!(outcome, RunOutcome::Succeeded | RunOutcome::Failed) {
        let success = outcome == RunOutcome::Succeeded;
        witness::ends_as(world, write.cloud, holder, success)?;
    }
    kept(is_true(write, holder, lease, outcome), || {
        format!("{holder} under {token} was {outcome:?} without a reason")
    })?;
    if let (RunOutcome::Succeeded, Some(key)) = (outcome, &lease.run_key) {
        book.successes.insert(key.clone(), lease.token);
    }
    if let Some(entry) = book.grants.get_mut(&lease.token) {
        entry.over = Some((world.now(), outcome));
    }
    Ok(())
}

/// Returns whether the truth confirms what the history says of an end.
fn is_true(write: &Write<'_>, holder: &HolderId, lease: &Lease, outcome: RunOutcome) -> bool {
    let Write {
        world,
        cloud,
        audit,
        ..
    } = write;
    match outcome {
        RunOutcome::Succeeded | RunOutcome::Failed => {
            // The end of the work may be seen before the run releases.
            let released = audit.releases.contains(&(holder.clone(), lease.token));
            world.count(if released { "releases" } else { "ends seen" });
            let seen =
                outcome == RunOutcome::Succeeded && world.run_is(holder, |run| run.succeeded);
            released || seen || is_over(write, holder, lease) || is_cut_off(world, cloud, holder)
        }
        RunOutcome::Recovered | RunOutcome::Replaced => {
            let replaced = outcome == RunOutcome::Replaced;
            world.count(if replaced { "replaced" } else { "recoveries" });
            let over = is_over(write, holder, lease) || is_cut_off(world, cloud, holder);
            over && (!replaced || lease.exit.replaced_by.is_some())
        }
        RunOutcome::Lost => {
            world.count("lost");
            may_be_lost(world, cloud, holder, lease)
        }
        RunOutcome::Evicted => {
            world.count("evicted");
            // Without force, only the dead are evicted: also a waiter that is gone and whose turn
            // has just come.
            let forced = audit.evictions.contains(holder);
            forced || is_over(write, holder, lease) || is_silent(world, cloud, holder, lease)
        }
    }
}

/// Returns whether the execution has ended and none of its work runs. What no call could see early
/// enough is excused and counted.
fn is_over(write: &Write<'_>, holder: &HolderId, lease: &Lease) -> bool {
    let (world, cloud, now) = (write.world, write.cloud, write.world.now());
    let Some(row) = cloud.execution_of(holder) else {
        return false;
    };
    if row.ended.is_none() {
        let redriven = row.redriven.is_some_and(|at| now < at + EVIDENCE);
        redriven.then(|| Excuse::RedrivenMeanwhile.count(world, holder));
        return redriven;
    }
    let evicted = write.audit.evictions.contains(holder);
    let works = |row: &TaskRow| {
        // The name of a child contains the token: a later grant does not see what an evicted one
        // left.
        let is_left = evicted && row.request.is_none() && row.token < lease.token;
        is_left.then(|| Excuse::Evicted.count(world, holder));
        !is_left
    };
    !cloud.live_tasks(holder).any(|(_, row)| works(row))
}

/// Returns whether the execution runs, has reported that its work is being stopped, and has no task
/// at work.
fn is_cut_off(world: &World, cloud: &Cloud, holder: &HolderId) -> bool {
    let reported = world.run_is(holder, |run| run.stopping);
    reported && cloud.live_tasks(holder).next().is_none()
}

/// Returns whether silence alone may free the permit: the policy allows it, or no service can be
/// asked.
fn may_be_lost(world: &World, cloud: &Cloud, holder: &HolderId, lease: &Lease) -> bool {
    let yields = lease.stale == StalePolicy::Yield || cloud.runs(holder).is_none();
    // By the clock that is furthest ahead.
    let spent = lease.is_spent(world.timestamp().plus(CLOCK_SKEW)).is_some();
    is_silent(world, cloud, holder, lease) || yields && (spent || is_expired(world, lease))
}

/// Returns whether the holder is a process, which no service shows, and its lease has expired.
fn is_silent(world: &World, cloud: &Cloud, holder: &HolderId, lease: &Lease) -> bool {
    cloud.runs(holder).is_none() && is_expired(world, lease)
}

/// Returns whether the lease has expired by the true time, so that no clock shows it as good.
fn is_expired(world: &World, lease: &Lease) -> bool {
    world.timestamp() >= lease.expires_at.plus(CLOCK_SKEW)
}

/// Checks what must be true of a lock after the world has been calm for long enough.
pub(crate) fn finish(world: &World, lock: &LockKey) -> Verdict {
    let items = world.store.items(lock);
    let Some(record) = &items.record else {
        return Ok(());
    };
    let idle_due = record.due == record.success_due();
    all_kept(&[
        (record.holders.is_empty(), "somebody holds the lock forever"),
        (record.queue.is_empty(), "somebody waits forever"),
        (record.gate.mode == Mode::Open, "the lock stays closed"),
        (
            idle_due,
            "an idle lock is due for something else than a missing success",
        ),
    ])
    .map_err(|rule| format!("{rule}: {record:?}"))?;
    let audit = locked(&world.audit);
    let none = BTreeMap::new();
    let grants = audit.books.get(lock).map_or(&none, |book| &book.grants);
    for (token, entry) in grants {
        let over = entry.over.map(|(_, outcome)| outcome);
        kept(over.is_some(), || format!("token {token} has no end"))?;
        let run = items.runs.get(&RunId::Token(*token));
        let run = run.filter(|run| run.holder == entry.holder);
        let recorded = run.and_then(|run| run.outcome());
        kept(recorded == over, || {
            format!("token {token} was {over:?}, but the history has {recorded:?}")
        })?;
    }
    for id in items.runs.keys() {
        let known = !matches!(id, RunId::Token(token) if !grants.contains_key(token));
        kept(known, || {
            format!("the history has {id:?}, which no write granted")
        })?;
    }
    drop(audit);
    witness::at_rest(world, lock)
}
