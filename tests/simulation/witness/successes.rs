//! The work of a run key succeeds at most once.

use super::excuse::Excuse;
use crate::cloud::{Cloud, holder_of};
use crate::engine::locked;
use crate::trial::Trial;
use crate::world::World;
use lockstep::domain::{ExecutionArn, HolderId};
use serde_json::Value;

/// For how long a description of the attempt before a retry that was old or denied may have misled a call, in
/// milliseconds: as long as a call of a function takes.
const MISLEADS: u64 = 15_000;

type Verdict = Result<(), String>;

/// Checks what the history is about to say of the run of `holder`: that it succeeded, or that it
/// failed.
pub(crate) fn ends_as(world: &World, cloud: &Cloud, holder: &HolderId, success: bool) -> Verdict {
    let witness = locked(&world.witness);
    let Some(run) = witness.runs.get(holder) else {
        return Ok(());
    };
    let row = cloud.execution_of(holder);
    // A redrive may repeat work that had succeeded, and fail.
    let repeated = row.is_some_and(|row| row.redriven.is_some());
    let what = match (success, run.succeeded) {
        (true, false) => "is said to have succeeded, but its work did not",
        (false, true) if !repeated => "is said to have failed, but its work succeeded",
        _ => return Ok(()),
    };
    Err(format!("{holder} {what}"))
}

/// The statuses with which an execution of exclusive-run succeeds without work.
const WITHOUT_WORK: [&str; 3] = ["skipped", "duplicate", "gaveUp"];

/// Checks an execution that succeeds with `output`: its work has succeeded, or it never got a
/// permit.
pub(crate) fn is_green(world: &World, execution: &ExecutionArn, output: &Value) {
    let holder = holder_of(execution);
    let status = output["status"].as_str().unwrap_or_default();
    if WITHOUT_WORK.contains(&status) {
        let by = output["holder"].as_str().unwrap_or_default();
        return is_retried(world, &holder, output, by);
    }
    if world.tries(Trial::Green) && world.run_is(&holder, |run| !run.succeeded) {
        world.break_promise(format!(
            "{holder} succeeds with {output}, but its work has not"
        ));
    }
}

/// Checks that a retry of a caller is not answered without a run because of its attempt before, which has ended.
fn is_retried(world: &World, holder: &HolderId, output: &Value, by: &str) {
    let before = holder.as_str().strip_suffix("-retry");
    // A user's workflow that does not ask to wait is answered as it asks.
    let is_own = world.execution_is(holder, |row| row.story.is_own());
    // A duplicate of a run that is said to be under way.
    let is_refused = match output["status"].as_str() {
        Some("duplicate") => output["endedAt"].is_null(),
        status => status == Some("skipped"),
    };
    if !is_refused || before != Some(by) || is_own {
        return;
    }
    let attempt = HolderId::new(by).expect("a holder in an answer");
    let misled_at = ExecutionArn::of_holder(&attempt).map(|of| world.last_misled(&of));
    if misled_at.is_some_and(|at| world.now() <= at + MISLEADS) {
        return;
    }
    if world.run_is(&attempt, |run| run.succeeded) {
        return;
    }
    // A waiter is answered at its turn by the record alone.
    if output["status"] == "duplicate" && world.run_is(holder, |run| run.asked.is_some()) {
        return Excuse::KeyInQueue.count(world, holder);
    }
    // Another run waits for the permit, and is next.
    if output["queueLength"]
        .as_u64()
        .is_some_and(|length| length > 0)
    {
        return Excuse::RetryBehindQueue.count(world, holder);
    }
    if world.tries(Trial::Retries) {
        world.break_promise(format!(
            "{holder} succeeds without a run, because of the attempt before it"
        ));
    }
}

/// Notes that `holder` asks to release its grant, as a success or a failure. The work of a
/// workflow's own states or of a process is then done. A task is judged by its exit code.
pub(crate) fn releases(world: &World, holder: &HolderId, success: bool) {
    let by_task = is_by_task(world, holder);
    let mut witness = locked(&world.witness);
    if let Some(run) = witness.runs.get_mut(holder) {
        run.releasing = true;
        // What a late answer made the run wait for is over.
        (run.asks, run.queued) = (false, None);
        run.done |= !by_task;
        run.succeeded |= success && !by_task;
    }
}

/// Notes the answer to the release of `holder` that was called at `called`. Nothing else shows that
/// states or a process succeeded: a run that ends before has not succeeded, as far as anybody can
/// know.
pub(super) fn released(world: &World, holder: &HolderId, called: u64) {
    if is_by_task(world, holder) {
        return;
    }
    let mut witness = locked(&world.witness);
    let Some(run) = witness.runs.get_mut(holder) else {
        return;
    };
    let known = std::mem::replace(&mut run.confirmed, true);
    let in_time = ExecutionArn::of_holder(holder).is_some() || run.has_lease(called);
    drop(witness);
    match (known, in_time) {
        (true, _) => {}
        (false, true) => succeeded(world, holder),
        (false, false) => Excuse::Process.count(world, holder),
    }
}

fn is_by_task(world: &World, holder: &HolderId) -> bool {
    world.execution_is(holder, |row| !row.story.is_own())
}

/// Notes that the work of `holder` has succeeded: its container exited with 0 before it was ordered
/// to stop, or the release of its states or of its process was answered.
pub(crate) fn succeeded(world: &World, holder: &HolderId) {
    let evicted = locked(&world.audit).evictions.contains(holder);
    let mut witness = locked(&world.witness);
    let Some(run) = witness.runs.get_mut(holder) else {
        return;
    };
    run.succeeded = true;
    let lock = run.terms.lock.clone();
    // Lockstep does not record a success of an evicted run, so it meets no expectation.
    if !evicted {
        let of_lock = witness.done.entry(lock).or_default();
        of_lock.push((holder.clone(), world.now()));
    }
    let Some(run) = witness.runs.get(holder) else {
        return;
    };
    let Some(run_key) = run.terms.run_key.clone() else {
        return;
    };
    let key = (run.terms.lock.clone(), run_key);
    let earlier = witness.successes.insert(key.clone(), holder.clone());
    drop(witness);
    world.count("successes of run keys");
    let Some(earlier) = earlier else { return };
    let earlier_evicted = locked(&world.audit).evictions.contains(&earlier);
    let forgotten = locked(&world.audit).has_forgotten(&key);
    if forgotten {
        Excuse::Forgotten.count(world, holder);
    } else if earlier == *holder {
        Excuse::Redriven.count(world, holder);
    } else if evicted || earlier_evicted {
        Excuse::Evicted.count(world, holder);
    } else if was_redriven(world, &earlier) || was_redriven(world, holder) {
        Excuse::Redriven.count(world, holder);
    } else if was_cut_off(world, &earlier) {
        Excuse::LastStep.count(world, holder);
    } else {
        let (lock, key) = key;
        let twice = format!("{lock}: {key} succeeded twice: by {earlier} and by {holder}");
        world.break_promise(twice);
    }
}

/// Returns whether `holder` is a user's workflow whose release was never answered. Its states had
/// come to their end, and nothing else can show that.
fn was_cut_off(world: &World, holder: &HolderId) -> bool {
    let own = world.execution_is(holder, |row| row.story.is_own());
    own && world.run_is(holder, |run| !run.released)
}

/// Returns whether `holder` is a user's workflow that was redriven. It may release, late, what it
/// had done before its key went to another run.
fn was_redriven(world: &World, holder: &HolderId) -> bool {
    world.execution_is(holder, |row| row.story.is_own() && row.redriven.is_some())
}
