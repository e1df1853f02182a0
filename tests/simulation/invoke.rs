//! Invocations of functions, which come late, are lost, are cut off or run twice.

use crate::engine::{First, Slot, locked, race};
use crate::functions::{self, Function};
use crate::pairs::Event;
use crate::world::World;
use crate::{bill, witness, workflow};
use lockstep::domain::{ExecutionArn, FencingToken, HolderId};
use serde_json::{Value, json};
use std::sync::Arc;

/// An error as a workflow sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: String,
    pub(crate) cause: String,
}

impl Failure {
    pub(crate) fn new(error: &str, cause: &str) -> Self {
        Self {
            error: error.to_owned(),
            cause: cause.to_owned(),
        }
    }

    /// Returns the failure of a function as Lambda reports it.
    pub(crate) fn of_function(error: &str, message: &str) -> Self {
        let cause = json!({ "errorType": error, "errorMessage": message });
        Self::new(error, &cause.to_string())
    }

    /// Returns `$states.errorOutput`.
    pub(crate) fn as_output(&self) -> Value {
        json!({ "Error": self.error, "Cause": self.cause })
    }
}

/// The errors of Lambda itself. Most definitions name only the first of them.
const LOST: [&str; 6] = [
    "Lambda.SdkClientException",
    "Lambda.ServiceException",
    "Lambda.TooManyRequestsException",
    "Lambda.ResourceConflictException",
    "Lambda.EC2UnexpectedException",
    "Lambda.KMSThrottlingException",
];

/// How a function ends that is cut off: with its process, or by a panic. The runtime reports a
/// panic under the name of a type.
const CUT_OFF: [&str; 4] = [
    "Runtime.ExitError",
    "Runtime.ExitError",
    "&'static str",
    "alloc::string::String",
];

/// Invokes a function once, as its caller sees it. The caller limits the time.
pub(crate) async fn invoke(
    world: &Arc<World>,
    function: Function,
    event: Value,
) -> Result<Value, Failure> {
    match function {
        Function::Release => announce_release(world, &event),
        Function::Acquire => announce_waiter(world, &event),
        _ => {}
    }
    world.linger(1..=10).await;
    if let Some(error) = world.weather.of_function(function, world.now()) {
        world.has_fault();
        world.count(match error {
            "Lambda.TooManyRequestsException" => "invocations throttled",
            _ => "invocations during a deployment",
        });
        return Err(Failure::new(error, "simulated"));
    }
    if world.fault(15) {
        world.count("invocations lost");
        world.linger(100..=2000).await;
        return Err(Failure::new(world.pick(&LOST), "simulated"));
    }
    if world.fault(30) {
        world.linger(100..=6000).await;
    }
    let answer = start(world, function, event.clone());
    if world.fault(15) {
        world.count("invocations run twice");
        witness::doubled(world, function, &event);
        world.happens(Event::InvokedTwice, functions::lock_in(&event).as_ref());
        start(world, function, event);
    }
    let answer = answer.wait().await;
    world.linger(1..=5).await;
    if world.fault(15) {
        world.count("function answers lost");
        return Err(Failure::new("Lambda.Unknown", "simulated"));
    }
    answer
}

/// Starts the function, which runs up to its time-out, whatever happens to its caller. The function
/// may be cut off anywhere.
fn start(world: &Arc<World>, function: Function, event: Value) -> Slot<Result<Value, Failure>> {
    let answer = Slot::new();
    // A waiting state that may be registered without a place in the queue.
    let waiter = event["holder"].as_str().filter(|_| witness::waits(&event));
    let waiter = waiter.and_then(|holder| HolderId::new(holder).ok());
    let registers = waiter.clone();
    let lock = functions::lock_in(&event);
    let (machine, inner) = (Arc::clone(world), answer.clone());
    bill::invoked(world, function);
    let job = world.spawn(async move {
        let called = machine.now();
        let had_waiters = bill::has_waiters(&machine, &event);
        witness::asked(&machine, function, &event);
        let call = functions::call(&machine, function, event.clone());
        let result = match race(call, machine.sleep(function.timeout())).await {
            First::Left(result) => result,
            First::Right(()) => Err(Failure::of_function("Sandbox.Timedout", "simulated")),
        };
        witness::answered(&machine, function, &event, called, &result);
        bill::answered(&machine, function, &event, had_waiters, &result);
        match result.as_ref().map_err(|failure| failure.error.as_str()) {
            Err("Lockstep.LeaseLost") => machine.count("leases lost"),
            Err(error) if BROKE_OFF.contains(&error) => {
                locked(&machine.audit).late_registrations.extend(registers);
            }
            _ => {}
        }
        inner.put(result);
    });
    if world.fault(20) {
        world.count("functions cut off");
        world.happens(Event::Killed, lock.as_ref());
        locked(&world.audit).late_registrations.extend(waiter);
        let (machine, inner) = (Arc::clone(world), answer.clone());
        world.spawn(async move {
            machine.linger(0..=120).await;
            machine.engine.kill(job);
            let error = machine.pick(&CUT_OFF);
            inner.put(Err(Failure::of_function(error, "simulated")));
        });
    }
    answer
}

/// The errors of acquire-lock that may come between the registration of a waiting state and its
/// place in the queue.
const BROKE_OFF: [&str; 3] = [
    "Lockstep.Unavailable",
    "Lockstep.Contended",
    "Sandbox.Timedout",
];

/// Counts the runs that register again because their waiting state timed out.
fn announce_waiter(world: &World, event: &Value) {
    if let (Some(holder), Some(_)) = (event["holder"].as_str(), event.get("taskToken"))
        && !locked(&world.audit).waiters.insert(holder.to_owned())
    {
        world.count("registered again");
    }
}

/// Notes that the holder asks to release its grant, before the release runs.
fn announce_release(world: &Arc<World>, event: &Value) {
    let holder = event["grant"]["holder"].as_str();
    let holder = holder.and_then(|holder| HolderId::new(holder).ok());
    let token = event["grant"]["token"].as_u64();
    // A run that reports the stop of its work releases nothing.
    let token = token.filter(|_| event["outcome"] != "stopping");
    let (Some(holder), Some(token)) = (holder, token) else {
        return;
    };
    let arn = ExecutionArn::of_holder(&holder);
    witness::releases(world, &holder, event["outcome"] == "succeeded");
    let key = (holder, FencingToken::from_number(token));
    locked(&world.audit).releases.insert(key);
    if let Some(arn) = arn {
        workflow::is_releasing(world, &arn);
    }
}
