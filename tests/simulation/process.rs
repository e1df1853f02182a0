//! Holders that are no executions: processes that call the functions themselves. They stand still
//! for longer than their lease, come back as zombies, or end without a release.

use crate::engine::{First, locked, race};
use crate::functions::Function;
use crate::invoke::{self, Failure};
use crate::pairs::{Facet, facets};
use crate::resource;
use crate::witness::{RunFacts, Terms};
use crate::world::World;
use lockstep::contract::ErrorName;
use lockstep::domain::{FencingToken, HolderId, LockKey, Timestamp, rfc3339};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a process was started with.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) lock: LockKey,
    pub(crate) ask: Value,
    /// How long it waits for a permit, in seconds.
    pub(crate) patience: Option<u64>,
    /// How long it works, in milliseconds.
    pub(crate) length: u64,
    /// When it stands still, in milliseconds after its grant, and for how long.
    pub(crate) pause: Option<(u64, u64)>,
    /// When it ends without a release, in milliseconds after its grant.
    pub(crate) dies: Option<u64>,
}

/// A permit.
struct Grant {
    token: FencingToken,
    /// Time between heartbeats, in milliseconds.
    beat: u64,
    /// The receipt as the function returned it.
    receipt: Value,
}

impl Grant {
    fn read(answer: &Value) -> Option<Self> {
        let receipt = answer["grant"].clone();
        Some(Self {
            token: FencingToken::from_number(receipt["token"].as_u64()?),
            beat: answer["heartbeatSeconds"].as_u64()? * 1000,
            receipt,
        })
    }
}

/// Plays a process from its start to its end.
pub(crate) async fn live(world: Arc<World>, plan: Plan) {
    locked(&world.audit).processes += 1;
    let holder = HolderId::new(plan.name.as_str()).expect("a name is a holder");
    let terms = Terms::read(&plan.ask).expect("the request names a lock");
    let facts = RunFacts::of(terms);
    locked(&world.witness).runs.insert(holder.clone(), facts);
    let bounds = plan.patience.map_or(0, |_| Facet::Bounds.bit());
    world.plays(
        &holder,
        &plan.lock,
        facets(&plan.ask, Facet::Process) | bounds,
    );
    world.note(&plan.name, format_args!("starts for {}", plan.lock));
    if let Some(grant) = acquire(&world, &plan).await {
        work(&world, &plan, &grant).await;
    }
    world.played(&holder);
    locked(&world.audit).processes -= 1;
}

/// Asks again until a permit is granted or refused.
async fn acquire(world: &Arc<World>, plan: &Plan) -> Option<Grant> {
    let mut ask = plan.ask.clone();
    if let Some(seconds) = plan.patience {
        let until = Timestamp::from_millis(world.now() + seconds * 1000);
        ask["waitUntil"] = rfc3339(until).into();
    }
    loop {
        match invoke(world, Function::Acquire, ask.clone()).await {
            Ok(answer) => match answer["status"].as_str() {
                Some("granted" | "alreadyHeld") => return Grant::read(&answer),
                Some("queued") => world.linger(1000..=8000).await,
                _ => return None,
            },
            Err(failure) if is_transient(&failure) => world.linger(100..=3000).await,
            Err(Failure { error: name, .. }) => {
                world.note(&plan.name, format_args!("fails with {name}"));
                return None;
            }
        }
    }
}

async fn work(world: &Arc<World>, plan: &Plan, grant: &Grant) {
    let granted = world.now();
    let mut pause = plan.pause;
    let (mut beaten, mut done) = (granted, 0);
    while world.now() < granted + plan.length {
        let at = world.now() - granted;
        if plan.dies.is_some_and(|end| at >= end) {
            world.count("processes gone");
            world.note(&plan.name, format_args!("is gone"));
            return;
        }
        if let Some((_, length)) = pause.take_if(|(begin, _)| at >= *begin) {
            world.count("processes paused");
            world.note(&plan.name, format_args!("stands still for {length} ms"));
            world.sleep(length).await;
        }
        // The process does not read the clock before it writes: the token has to protect the
        // resource.
        if !resource::write(world, &plan.lock, grant.token, &plan.name) {
            return;
        }
        done += 1;
        if world.now() >= beaten + grant.beat {
            beaten = world.now();
            if !beat(world, plan, grant, done).await {
                return;
            }
        }
        world.linger(300..=1500).await;
    }
    release(world, grant).await;
}

/// Sends a heartbeat. Returns whether the process may go on.
async fn beat(world: &Arc<World>, plan: &Plan, grant: &Grant, done: u64) -> bool {
    let progress = format!("{done} writes");
    let request = json!({ "grant": grant.receipt, "progress": progress });
    match invoke(world, Function::Heartbeat, request).await {
        Ok(_) => true,
        Err(failure) if is_transient(&failure) => true,
        Err(Failure { error: name, .. }) => {
            world.note(&plan.name, format_args!("stops: {name}"));
            false
        }
    }
}

/// How long a process waits for an answer, in milliseconds.
const TIMEOUT: u64 = 15_000;

async fn invoke(world: &Arc<World>, function: Function, event: Value) -> Result<Value, Failure> {
    let answer = invoke::invoke(world, function, event);
    match race(answer, world.sleep(TIMEOUT)).await {
        First::Left(answer) => answer,
        First::Right(()) => Err(Failure::new("no answer in time", "")),
    }
}

/// Returns whether a process asks again: it does, except after an error of Lockstep that is not
/// worth a retry.
fn is_transient(failure: &Failure) -> bool {
    let mut names = ErrorName::ALL.iter();
    let ours = names.find(|name| name.as_str() == failure.error);
    ours.is_none_or(|name| name.is_retryable())
}

async fn release(world: &Arc<World>, grant: &Grant) {
    let request = json!({ "grant": grant.receipt, "outcome": "succeeded" });
    for _ in 0..20 {
        match invoke(world, Function::Release, request.clone()).await {
            Err(failure) if is_transient(&failure) => world.linger(200..=4000).await,
            _ => return,
        }
    }
}
