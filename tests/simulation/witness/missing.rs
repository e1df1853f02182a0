//! No success that came within its time is reported as missing.

use super::ledger::RunFacts;
use crate::engine::locked;
use crate::trial::Trial;
use crate::world::World;
use lockstep::domain::{CLOCK_SKEW, ExecutionEnd, HolderId, LockKey};
use serde_json::Value;

/// How old the record may be from which the reaper reports, in milliseconds: the check of one lock
/// takes no longer.
const READ_MAX: u64 = 15_000;

/// How long it takes until a success is recorded, in milliseconds: the sweep, and its calls.
const RECORDED: u64 = 90_000;

/// A success that a release reported, between the times of its call and of its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Success {
    called: u64,
    answered: u64,
}

/// Notes the answer to a release with a success that was called at `called`. A repeated release is
/// left out, because it may have taken effect long before.
pub(super) fn answered(world: &World, lock: &LockKey, called: u64, answer: &Value) {
    if answer["status"] == "released" && answer["alreadyReleased"] == false {
        let success = Success {
            called,
            answered: world.now(),
        };
        let mut witness = locked(&world.witness);
        let of_lock = witness.met.entry(lock.clone()).or_default();
        of_lock.push(success);
    }
}

/// Checks a report of the reaper that no run of `lock` has succeeded in its time.
pub(crate) fn reported(world: &World, lock: &LockKey) {
    let now = world.now();
    world.count("successes reported as missing");
    let cloud = locked(&world.cloud);
    let witness = locked(&world.witness);
    let every = witness.expected.get(lock).copied().unwrap_or_default();
    let since = now.saturating_sub(every) + 2 * CLOCK_SKEW.millis();
    let of_lock = witness.met.get(lock).map(Vec::as_slice).unwrap_or_default();
    let in_time = |success: &&Success| success.called > since && success.answered + READ_MAX < now;
    let in_time = of_lock.iter().find(in_time).copied();
    // A success may also be recorded by evidence, or after its run had yielded.
    let quiet = world.last_fault();
    let done = witness
        .done
        .get(lock)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let seen = |at: u64| at > since.max(quiet + RECORDED) && at + RECORDED < now;
    // The release records the success of a run that had yielded. An execution that was ended does
    // not reach its release.
    let released = |holder: &HolderId| {
        let yields = |run: &RunFacts| run.terms.policy == "yield";
        let ended = cloud.execution_of(holder).and_then(|row| row.ended);
        let cut_off = ended.is_some_and(|(_, end)| end != ExecutionEnd::Succeeded);
        !(cut_off && witness.runs.get(holder).is_some_and(yields))
    };
    let recorded = done
        .iter()
        .find(|(holder, at)| seen(*at) && released(holder));
    let recorded = recorded.map(|(_, at)| *at);
    let recorded = recorded.filter(|_| world.tries(Trial::Successes) && in_time.is_none());
    drop((cloud, witness));
    if let Some(at) = recorded {
        let ago = (now - at) / 1000;
        world.break_promise(format!(
            "{lock}: a success is reported as missing, {ago} s after one"
        ));
    }
    if let Some(success) = in_time {
        world.break_promise(format!(
            "{lock}: a success is reported as missing after {success:?}, and one is expected every {every} ms"
        ));
    }
}
