//! From the start of an execution to its permit.

use super::Order;
use crate::answer::{Answer, Grant};
use crate::cloud;
use crate::invoke::{Failure, Function, invoke};
use crate::slot::{First, race};
use crate::world::World;
use serde_json::Value;
use std::sync::Arc;

/// How often a workflow tries a call again.
const ATTEMPTS: u32 = 7;

/// A permit; `None` when the run gives way.
pub(super) async fn acquire(world: &Arc<World>, order: &Order) -> Result<Option<Grant>, String> {
    let mut ask = order.ask.clone();
    if order.may_wait {
        ask["overlap"] = "skip".into();
    }
    let answer = call(world, Function::Acquire, ask).await;
    let held = match answer {
        Err(Failure(name)) if !(order.may_wait && is_closed(&name)) => return Err(name),
        Err(_) => None,
        Ok(answer) => match Answer::read(&answer) {
            Some(Answer::Held(grant)) => Some(grant),
            Some(Answer::Refused(status)) if status == "skipped" && order.may_wait => None,
            other => return Ok(gives_way(world, order, other)),
        },
    };
    match held {
        Some(grant) => Ok(Some(grant)),
        None => wait_for_turn(world, order).await,
    }
}

fn is_closed(name: &str) -> bool {
    matches!(name, "Lockstep.LockPaused" | "Lockstep.LockFrozen")
}

fn gives_way(world: &World, order: &Order, answer: Option<Answer>) -> Option<Grant> {
    match &answer {
        Some(Answer::Refused(status)) => {
            world.note(order.name(), format_args!("gives way: {status}"));
            world.count(match status.as_str() {
                "skipped" => "skipped",
                "duplicate" => "duplicates",
                _ => "gave up",
            });
        }
        other => world.break_promise(format!("{} got {other:?}", order.name())),
    }
    None
}

/// Waits in a state that ends by its task token, and registers again when it times out.
async fn wait_for_turn(world: &Arc<World>, order: &Order) -> Result<Option<Grant>, String> {
    let mut failures = 0_u32;
    loop {
        let (token, answer) = cloud::open_state(world, &order.arn);
        let mut ask = order.ask.clone();
        let turn = order.turn.as_object().into_iter().flatten();
        turn.for_each(|(name, value)| ask[name] = value.clone());
        ask["taskToken"] = token.reveal().into();
        let wait = race(answer.wait(), fails(world, ask));
        let ended = race(wait, world.sleep(order.wait_interval)).await;
        cloud::close_state(world, &token);
        let answer: Value = match ended {
            First::Left(First::Left(answer)) => answer,
            First::Left(First::Right(failure)) => {
                failures += 1;
                if !failure.is_transient() || failures > 1000 {
                    world.count("could not wait");
                    return Err(failure.0);
                }
                world.linger(200..=2000 * u64::from(failures.min(15))).await;
                continue;
            }
            First::Right(()) => {
                world.count("registered again");
                world.sleep(1000).await;
                continue;
            }
        };
        if let Some(error) = answer["error"].as_str() {
            return Err(error.to_owned());
        }
        return match Answer::read(&answer) {
            Some(Answer::Held(grant)) => {
                world.note(order.name(), format_args!("was woken with {}", grant.token));
                world.count("woken");
                Ok(Some(grant))
            }
            other => Ok(gives_way(world, order, other)),
        };
    }
}

/// Registers; comes back only when that fails. An answer changes nothing: the state waits.
async fn fails(world: &Arc<World>, ask: Value) -> Failure {
    match invoke(world, Function::Acquire, ask).await {
        Ok(_) => std::future::pending().await,
        Err(failure) => failure,
    }
}

/// A call that is tried again when the failure may pass.
pub(super) async fn call(
    world: &Arc<World>,
    function: Function,
    event: Value,
) -> Result<Value, Failure> {
    let mut attempt = 0;
    loop {
        let answer = invoke(world, function, event.clone()).await;
        let Err(failure) = answer else { return answer };
        attempt += 1;
        if !failure.is_transient() || attempt >= ATTEMPTS {
            return Err(failure);
        }
        let most = (1000 << attempt.min(5)).min(15_000);
        world.linger(1..=most).await;
    }
}
