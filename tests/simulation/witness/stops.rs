//! No work is stopped while its holder's lease is good, except for a reason that docs/guarantees.md
//! states. That holds for a stop by a function, by the workflow and by a refused heartbeat.

use super::excuse::Excuse;
use super::ledger::{RunFacts, Terms, Witness};
use crate::cloud::{Cloud, holder_of};
use crate::engine::locked;
use crate::world::{World, short};
use lockstep::domain::{ExecutionArn, FencingToken, HolderId, LockRecord};
use std::collections::BTreeSet;

/// Judges a stop when it is committed. From then on heartbeats are refused, and the calls that
/// follow are completed under the same grant, whatever happens to the run that asked for the stop.
pub(crate) fn commits(world: &World, before: Option<&LockRecord>, after: Option<&LockRecord>) {
    let stopped = |record: Option<&LockRecord>| -> BTreeSet<(HolderId, FencingToken)> {
        let holders = record.into_iter().flat_map(|record| &record.holders);
        let stopped = holders.filter(|(_, lease)| lease.exit.is_committed());
        stopped
            .map(|(holder, lease)| (holder.clone(), lease.token))
            .collect()
    };
    for grant in stopped(after).difference(&stopped(before)) {
        note_replaced(world, grant);
        stops(world, &grant.0, "a committed stop");
    }
}

/// Notes a grant whose stop is committed while another run waits to replace it. A waiter may not have
/// learned of its grant yet.
fn note_replaced(world: &World, grant: &(HolderId, FencingToken)) {
    let cloud = locked(&world.cloud);
    let mut witness = locked(&world.witness);
    let run = witness.runs.get(&grant.0);
    let replaced = run.is_some_and(|run| is_replaced(&cloud, &witness, &grant.0, run, world.now()));
    if replaced {
        witness.replaced.insert(grant.clone());
    }
}

/// Judges a stop of an execution by Lockstep, when StopExecution arrives.
pub(crate) fn stops_execution(world: &World, execution: &ExecutionArn) {
    stops(world, &holder_of(execution), "StopExecution");
}

/// Judges a stop of a task by Step Functions while the execution goes on: the state timed out, or
/// another branch has failed.
pub(crate) fn workflow_stops_task(world: &World, execution: &ExecutionArn) {
    stops(world, &holder_of(execution), "the workflow");
}

fn stops(world: &World, holder: &HolderId, call: &str) {
    let verdict = judge(world, &locked(&world.cloud), holder);
    report(world, holder, call, verdict);
}

/// Judges a stop of a task by Lockstep, when StopTask arrives. A task from before a redrive may be
/// stopped under any lease.
pub(crate) fn stops_task(world: &World, task: &str) {
    let cloud = locked(&world.cloud);
    let Some(row) = cloud.tasks.get(task) else {
        return;
    };
    let holder = row.holder.clone();
    let redriven = cloud.execution_of(&holder).and_then(|row| row.redriven);
    let left_over = redriven.is_some_and(|at| row.requested < at);
    let verdict = if left_over || !row.now.status.is_live() {
        Ok("stops: what was left")
    } else {
        judge(world, &cloud, &holder)
    };
    drop(cloud);
    report(world, &holder, "StopTask", verdict);
}

/// Judges a refused heartbeat, which also stops the work. A heartbeat after the run's own release
/// is late and stops nothing.
pub(super) fn refuses(world: &World, holder: &HolderId) {
    let cloud = locked(&world.cloud);
    if world.run_is(holder, |run| run.releasing) {
        return;
    }
    let mut verdict = judge(world, &cloud, holder);
    let works = cloud.live_tasks(holder).next().is_some();
    // The answer to the report may come after the recovery that the report led to. The workflow
    // fails next.
    if verdict.is_err() && !works && world.run_is(holder, |run| run.stopping) {
        verdict = Ok("stops: it has reported the end of its work, which has ended");
    }
    // A user's workflow does not report its redrives. Within a second of its last heartbeat, which
    // clocks may differ by, its old end counts for as long as DescribeExecution shows it.
    let row = cloud.execution_of(holder).filter(|row| row.story.is_own());
    let redriven = row.and_then(|row| row.redriven);
    drop(cloud);
    if verdict.is_err() && redriven.is_some_and(|at| world.now() < at + DESCRIBED_LATE + BEAT) {
        Excuse::RedrivenMeanwhile.count(world, holder);
        verdict = Ok("stops: redriven while judged by its end");
    }
    if verdict.is_err() && was_replaced(&locked(&world.witness), holder, 0, |_| true) {
        verdict = Ok("stops: was replaced");
    }
    report(world, holder, "a refused heartbeat", verdict);
}

fn judge(world: &World, cloud: &Cloud, holder: &HolderId) -> Result<&'static str, String> {
    let now = world.now();
    if cloud.runs(holder) != Some(true) {
        return Ok("stops: the execution has ended");
    }
    if locked(&world.audit).evictions.contains(holder) {
        return Ok("stops: evicted");
    }
    let mut witness = locked(&world.witness);
    let Some(run) = witness.runs.get(holder) else {
        return Ok("stops: an unknown run");
    };
    if !run.has_lease(now) {
        return Ok("stops: the lease is over");
    }
    if run.terms.policy == "terminate" && run.is_over_time(now) {
        return Ok("stops: over its time");
    }
    if is_replaced(cloud, &witness, holder, run, now) {
        return Ok("stops: replaced");
    }
    if was_replaced(&witness, holder, now.saturating_sub(COMMITTED), |_| true) {
        return Ok("stops: was replaced");
    }
    // The end of a run that replaces may not be described yet.
    let ended_just_now = |other: &HolderId| {
        let ended = cloud.execution_of(other).and_then(|row| row.ended);
        ended.is_some_and(|(at, _)| now < at + DESCRIBED_LATE + COMMITTED)
    };
    let grant = run.grant.map(|(token, _)| (holder.clone(), token));
    let left = run.lease_until.saturating_sub(now) / 1000;
    if was_replaced(&witness, holder, 0, ended_just_now) {
        witness.replaced.extend(grant);
        Excuse::ReplacerJustEnded.count(world, holder);
        return Ok("stops: replaced by a run that has just ended");
    }
    // A stop that has begun is completed, even if one of its calls has failed.
    if grant.is_some_and(|grant| witness.replaced.contains(&grant)) {
        return Ok("stops: was replaced");
    }
    Err(format!("its lease is good for {left} s more"))
}

/// Returns the other runs of the same lock that replace `holder`.
fn replacers<'a>(
    witness: &'a Witness,
    holder: &'a HolderId,
    run: &'a RunFacts,
) -> impl Iterator<Item = (&'a HolderId, &'a RunFacts)> {
    let replaces = |terms: &Terms| terms.overlap == "replace";
    witness.runs.iter().filter(move |(other, facts)| {
        let key = run.terms.run_key.as_ref();
        let same = witness.same_tick && key.is_some() && facts.terms.run_key.as_ref() == key;
        let other = *other != holder && facts.terms.lock == run.terms.lock;
        other && !same && replaces(&facts.terms)
    })
}

/// Returns whether a run that replaces `holder` waits for a permit of the same lock.
fn is_replaced(
    cloud: &Cloud,
    witness: &Witness,
    holder: &HolderId,
    run: &RunFacts,
    now: u64,
) -> bool {
    replacers(witness, holder, run).any(|(other, facts)| {
        let latest = |wait| facts.asked.unwrap_or(now) + wait + PAST_ITS_WAIT;
        let in_time = facts.terms.wait.is_none_or(|wait| now <= latest(wait));
        // Nothing shows whether a process runs.
        facts.asks && in_time && cloud.runs(other) != Some(false)
    })
}

/// Returns whether a run that replaces, and of which `is` holds, has asked for a permit of the same
/// lock since the grant of `holder`. A stop that was committed then stands, whatever has happened
/// to that run.
fn was_replaced(
    witness: &Witness,
    holder: &HolderId,
    since: u64,
    is: impl Fn(&HolderId) -> bool,
) -> bool {
    let Some(run) = witness.runs.get(holder) else {
        return false;
    };
    let granted = run.grant.map_or(u64::MAX, |(_, at)| at.max(since));
    let asked = |facts: &RunFacts| facts.asked_last.is_some_and(|at| at >= granted);
    replacers(witness, holder, run).any(|(other, facts)| asked(facts) && is(other))
}

/// How long after its recovery a redriven workflow learns of it, in milliseconds: at its next
/// heartbeat.
const BEAT: u64 = 45_000;

/// How long DescribeExecution may show an execution as it was before its end, in milliseconds.
const DESCRIBED_LATE: u64 = 5000;

/// How long a committed stop takes at most, in milliseconds: one call of a function.
const COMMITTED: u64 = 15_000;

/// How much longer than `waitSeconds` after its first request a run may wait, in milliseconds: its
/// request may take some attempts.
const PAST_ITS_WAIT: u64 = 60_000;

fn report(world: &World, holder: &HolderId, call: &str, verdict: Result<&'static str, String>) {
    let name = short(holder.as_str());
    match verdict {
        Ok(why) => {
            world.note("witness", format_args!("{call} of {name}: {why}"));
            world.count(why);
        }
        Err(what) => world.break_promise(format!("{call} stops the work of {name}, but {what}")),
    }
}
