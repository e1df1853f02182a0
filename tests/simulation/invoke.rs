//! Invocations of functions: late, lost, cut off, run twice.

use crate::engine::locked;
use crate::functions;
use crate::slot::{First, Slot, race};
use crate::world::World;
use lockstep::contract::ErrorName;
use serde_json::Value;
use std::sync::Arc;

/// The functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Acquire,
    Heartbeat,
    Release,
    Reaper,
}

/// The error that a workflow sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) String);

/// How long a workflow waits for an answer, in milliseconds.
const TIMEOUT: u64 = 15_000;

impl Failure {
    /// Whether a workflow tries again.
    pub(crate) fn is_transient(&self) -> bool {
        let ours = ErrorName::ALL.iter().find(|name| name.as_str() == self.0);
        ours.is_none_or(|name| name.is_retryable())
    }
}

/// Invokes a function once, from the caller's point of view.
pub(crate) async fn invoke(
    world: &Arc<World>,
    function: Function,
    event: Value,
) -> Result<Value, Failure> {
    world.linger(1..=10).await;
    if world.fault(15) {
        world.count("invocations lost");
        world.linger(100..=2000).await;
        return Err(Failure("Lambda.SdkClientException".into()));
    }
    if world.fault(30) {
        world.linger(100..=6000).await;
    }
    let answer = start(world, function, event.clone());
    if world.fault(15) {
        world.count("invocations run twice");
        start(world, function, event);
    }
    let answer = match race(answer.wait(), world.sleep(TIMEOUT)).await {
        First::Left(answer) => answer,
        First::Right(()) => Err(Failure("States.Timeout".into())),
    };
    world.linger(1..=5).await;
    if world.fault(15) {
        world.count("function answers lost");
        return Err(Failure("Lambda.Unknown".into()));
    }
    answer
}

/// The function runs on whatever becomes of its caller. It may be cut off anywhere.
fn start(world: &Arc<World>, function: Function, event: Value) -> Slot<Result<Value, Failure>> {
    let answer = Slot::new();
    let (machine, inner) = (Arc::clone(world), answer.clone());
    let job = world.spawn(async move {
        let result = functions::call(&machine, function, event).await;
        inner.put(result.map_err(|error| Failure(error.name().to_string())));
    });
    if world.fault(20) {
        world.count("functions cut off");
        let (machine, inner) = (Arc::clone(world), answer.clone());
        world.spawn(async move {
            machine.linger(0..=120).await;
            machine.engine.kill(job);
            inner.put(Err(Failure("Lambda.Unknown".into())));
        });
    }
    answer
}

/// Says that `holder` asks to release its grant, before it does.
pub(crate) fn announce_release(world: &World, grant: &crate::answer::Grant) {
    let key = (grant.holder.clone(), grant.token);
    locked(&world.audit).releases.insert(key);
}
