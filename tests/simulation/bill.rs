//! What runs cost: what AWS bills of them, and the events of their histories, counted in the tally of a world.
//!
//! A state transition is billed for each state that is entered and for each retry
//! (<https://aws.amazon.com/step-functions/pricing/>, read 2026-11-24). The types of the events are those of
//! <https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html>. They are counted for
//! states that end by themselves: a state that another branch ends has an event less or more.

use crate::functions::Function;
use crate::invoke::Failure;
use crate::world::World;
use lockstep::domain::LockKey;
use lockstep_tests::steps::{
    ACQUIRE, CONFIRM, HAND_OVER, HELD, QUEUE, QUEUE_AGAIN, RELEASE, RENEW, STOPPED,
};
use serde_json::Value;

/// Entered and billed.
pub(crate) const TRANSITIONS: &str = "state transitions";
/// Of the histories of all executions.
pub(crate) const HISTORY: &str = "history events";
/// To the lock table, of every function: one for each call of the store.
pub(crate) const REQUESTS: &str = "requests to the table";
/// SendTaskSuccess, whatever it says.
pub(crate) const SENDS: &str = "SendTaskSuccess";
/// Requests to EventBridge, one for each batch of events.
pub(crate) const PUTS: &str = "PutEvents";

/// Everything that is counted but steps, in the order of a report.
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

/// One event that is not billed: the start or an end of an execution or of an attempt, ParallelStateStarted, or
/// TaskSubmitted, which `.sync` and `.waitForTaskToken` have after the call has been answered. StateExited is none for
/// a Fail state, nor where an error is not caught.
pub(crate) fn event(world: &World) {
    world.count(HISTORY);
}

/// StateEntered.
pub(crate) fn entered(world: &World) {
    world.count(TRANSITIONS);
    world.count(HISTORY);
}

/// A retry is billed as a state is. It has no StateEntered.
pub(crate) fn retried(world: &World) {
    world.count(TRANSITIONS);
}

/// TaskScheduled and TaskStarted.
pub(crate) fn task_begins(world: &World) {
    world.count(HISTORY);
    world.count(HISTORY);
}

/// An invocation.
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

/// What an invocation has to read of the table before it is carried out, so that its step can be named.
pub(crate) fn has_waiters(world: &World, event: &Value) -> bool {
    let lock = event["grant"]["lock"].as_str().unwrap_or_default();
    let Ok(lock) = LockKey::new(lock) else {
        return false;
    };
    let record = world.store.items(&lock).record;
    record.is_some_and(|record| !record.queue.is_empty())
}

/// An invocation has been answered.
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
