//! The cost of runs: what AWS bills for them, and the events of their histories, counted in the
//! tally of a world.
//!
//! A state transition is billed for each state that is entered and for each retry
//! (<https://aws.amazon.com/step-functions/pricing/>, read 2026-11-24). The types of the events are
//! those of <https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html>.
//! The count is exact for states that end by themselves: a state that another branch ends has an
//! event less or more.

use crate::functions::Function;
use crate::invoke::Failure;
use crate::world::World;
use lockstep::domain::LockKey;
use lockstep_tests::steps::{
    ACQUIRE, CONFIRM, HAND_OVER, HELD, QUEUE, QUEUE_AGAIN, RELEASE, RENEW, STOPPED,
};
use serde_json::Value;

/// States that were entered and retries, which AWS bills.
pub(crate) const TRANSITIONS: &str = "state transitions";
/// Events in the histories of all executions.
pub(crate) const HISTORY: &str = "history events";
/// Requests of all functions to the lock table: one for each call of the store.
pub(crate) const REQUESTS: &str = "requests to the table";
/// Calls of SendTaskSuccess, whatever they say.
pub(crate) const SENDS: &str = "SendTaskSuccess";
/// Requests to EventBridge, one for each batch of events.
pub(crate) const PUTS: &str = "PutEvents";

/// Everything that is counted except steps, in the order of a report.
pub(crate) const COUNTED: [&str; 9] = [
    TRANSITIONS,
    HISTORY,
    "invocations of acquire-lock",
    "invocations of heartbeat",
    "invocations of release-lock",
    "invocations of reaper",
    REQUESTS,
    SENDS,
    PUTS,
];

/// Counts one event that is not billed: the start or an end of an execution or of an attempt,
/// ParallelStateStarted, or TaskSubmitted, which `.sync` and `.waitForTaskToken` have after the
/// call has been answered. A Fail state has no StateExited, and neither has a state whose error is
/// not caught.
pub(crate) fn event(world: &World) {
    world.count(HISTORY);
}

/// Counts StateEntered, which is billed.
pub(crate) fn entered(world: &World) {
    world.count(TRANSITIONS);
    world.count(HISTORY);
}

/// Counts a retry, which is billed as a state is. It has no StateEntered.
pub(crate) fn retried(world: &World) {
    world.count(TRANSITIONS);
}

/// Counts TaskScheduled and TaskStarted.
pub(crate) fn task_begins(world: &World) {
    world.count(HISTORY);
    world.count(HISTORY);
}

/// Counts an invocation.
pub(crate) fn invoked(world: &World, function: Function) {
    world.count(match function {
        Function::Acquire => "invocations of acquire-lock",
        Function::Heartbeat => "invocations of heartbeat",
        Function::Release => "invocations of release-lock",
        Function::Reaper => "invocations of reaper",
        Function::Operate => "invocations of operate",
        Function::Work => "invocations of the user's functions",
    });
}

/// Returns whether the lock of a release has waiters before the invocation. The name of its step
/// depends on that.
pub(crate) fn has_waiters(world: &World, event: &Value) -> bool {
    let lock = event["grant"]["lock"].as_str().unwrap_or_default();
    let Ok(lock) = LockKey::new(lock) else {
        return false;
    };
    let record = world.store.items(&lock).record;
    record.is_some_and(|record| !record.queue.is_empty())
}

/// Counts the step of an invocation that has been answered.
pub(crate) fn answered(
    world: &World,
    function: Function,
    event: &Value,
    had_waiters: bool,
    answer: &Result<Value, Failure>,
) {
    let Ok(answer) = answer else { return };
    let holder = event["holder"].as_str().unwrap_or_default();
    let step = match (function, answer["status"].as_str().unwrap_or_default()) {
        (Function::Acquire, "granted") => ACQUIRE,
        (Function::Acquire, "skipped") => HELD,
        (Function::Acquire, "queued") if world.is_first(QUEUE, holder) => QUEUE,
        (Function::Acquire, "queued") => QUEUE_AGAIN,
        (Function::Acquire, "alreadyHeld") => CONFIRM,
        (Function::Heartbeat, "renewed") => RENEW,
        (Function::Release, "released") if had_waiters => HAND_OVER,
        (Function::Release, "released") => RELEASE,
        (Function::Reaper, _) if event["source"] == "aws.ecs" => STOPPED,
        _ => return,
    };
    world.count(step);
}
