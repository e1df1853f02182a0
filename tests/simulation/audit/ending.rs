//! Promises about the end of grants: nobody loses a permit without a reason that is true, and the
//! history tells it.

use super::{Book, Verdict, Write};
use crate::cloud::Cloud;
use crate::world::World;
use lockstep::domain::{CLOCK_SKEW, HolderId, Lease, RunId, RunOutcome, RunWrite, StalePolicy};

/// For how long a task may have been on its way before others can see it, in milliseconds.
const UNSEEN: u64 = 5_000;

/// For how long an execution may have been running again before others can see it.
const REDRIVEN: u64 = 15_000;

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

/// What the history says of a grant that is over stays, except that a redriven execution may have
/// ended its work after all.
fn rewrite(write: &Write<'_>, book: &mut Book, run: &RunWrite) -> Verdict {
    let (RunId::Token(token), Some(outcome)) = (&run.id, run.run.outcome()) else {
        return Ok(());
    };
    let newest = book
        .grants
        .last_key_value()
        .is_some_and(|(last, _)| last == token);
    let Some(entry) = book.grants.get_mut(token) else {
        return Ok(());
    };
    let Some((at, before)) = entry.over.filter(|(_, before)| *before != outcome) else {
        return Ok(());
    };
    let released = write
        .audit
        .releases
        .contains(&(entry.holder.clone(), *token));
    if outcome != RunOutcome::Succeeded || !released || !newest {
        return Err(format!(
            "token {token} was {before:?} and is {outcome:?} now"
        ));
    }
    entry.over = Some((at, outcome));
    if let Some(key) = &run.run.run_key {
        book.successes.insert(key.clone(), *token);
    }
    write.world.count("succeeded after all");
    Ok(())
}

fn end(write: &Write<'_>, book: &mut Book, holder: &HolderId, lease: &Lease) -> Verdict {
    let id = RunId::Token(lease.token);
    let written = write.change.runs.iter().find(|(_, write)| write.id == id);
    let outcome = written.and_then(|(_, write)| write.run.outcome());
    let outcome = outcome.ok_or_else(|| format!("{holder} left without a word in the history"))?;
    let world = write.world;
    let name = holder.as_str().rsplit(':').next().unwrap_or_default();
    world.note(
        "auditor",
        format_args!("{} of {name} is over: {outcome:?}", lease.token),
    );
    if !is_true(write, holder, lease, outcome) {
        return Err(format!(
            "{holder} under {} was {outcome:?} without a reason",
            lease.token
        ));
    }
    if let (RunOutcome::Succeeded, Some(key)) = (outcome, &lease.run_key) {
        let earlier = book.successes.insert(key.clone(), lease.token);
        if let Some(earlier) = earlier.filter(|earlier| *earlier != lease.token) {
            return Err(format!(
                "{key:?} had two successes: {earlier} and {}",
                lease.token
            ));
        }
    }
    if let Some(entry) = book.grants.get_mut(&lease.token) {
        entry.over = Some((world.now(), outcome));
    }
    Ok(())
}

/// Whether the truth bears out what the history says of an end.
fn is_true(write: &Write<'_>, holder: &HolderId, lease: &Lease, outcome: RunOutcome) -> bool {
    let Write {
        world,
        cloud,
        audit,
        ..
    } = write;
    match outcome {
        RunOutcome::Succeeded | RunOutcome::Failed => {
            world.count("releases");
            audit.releases.contains(&(holder.clone(), lease.token))
        }
        RunOutcome::Recovered | RunOutcome::Replaced => {
            let replaced = outcome == RunOutcome::Replaced;
            world.count(if replaced { "replaced" } else { "recoveries" });
            is_over(world, cloud, holder) && (!replaced || lease.replaced_by.is_some())
        }
        RunOutcome::Lost => {
            world.count("lost");
            may_be_lost(world, cloud, holder, lease)
        }
        RunOutcome::Evicted => {
            world.count("evicted");
            // A waiter that is gone is sent away too, even if its turn has just come.
            audit.evictions.contains(holder) || is_over(world, cloud, holder)
        }
        RunOutcome::Paused | RunOutcome::Resumed | RunOutcome::Frozen => false,
    }
}

/// The execution has ended and none of its tasks works, as far as anybody could see.
fn is_over(world: &World, cloud: &Cloud, holder: &HolderId) -> bool {
    let now = world.now();
    let arn = lockstep::executions::ExecutionArn::of_holder(holder);
    let row = arn.and_then(|arn| cloud.executions.get(&arn));
    let ended = row.is_some_and(|row| {
        row.ended.is_some() || row.redriven.is_some_and(|at| now < at + REDRIVEN)
    });
    let at_work = cloud
        .live_tasks(holder)
        .any(|(_, row)| row.listed + UNSEEN < now);
    ended && !at_work
}

/// Silence alone frees a permit only where the policy says so, or where nobody can be asked.
fn may_be_lost(world: &World, cloud: &Cloud, holder: &HolderId, lease: &Lease) -> bool {
    let now = world.timestamp();
    let allowed = lease.stale == StalePolicy::Yield || cloud.runs(holder).is_none();
    let expired = now >= lease.expires_at.plus(CLOCK_SKEW);
    allowed && (expired || lease.is_spent(now).is_some())
}
