//! Who comes, and what for.

use super::{Guarded, TROUBLE};
use crate::cloud::{self, Batch};
use crate::engine::locked;
use crate::process::Plan;
use crate::workflow::Order;
use crate::world::World;
use lockstep::contract::rfc3339;
use lockstep::domain::{HolderId, Timestamp, WaiterId};
use lockstep::executions::ExecutionArn;
use serde_json::{Value, json};

pub(super) fn execution(world: &World, guarded: &Guarded, number: u64) -> Order {
    let arn = format!("arn:aws:states:eu-west-1:1:execution:report:run-{number}");
    let arn = ExecutionArn::new(arn).expect("a valid ARN");
    let overlap = world.pick(&[
        "skip", "fail", "queue", "queue", "queue", "queue", "replace",
    ]);
    let may_wait = matches!(overlap, "queue" | "replace");
    let as_task = world.chance(700);
    let mut ask = terms(world, guarded, arn.as_str());
    ask["overlap"] = overlap.into();
    ask["stalePolicy"] = world
        .pick(&["terminate", "terminate", "terminate", "yield", "hold"])
        .into();
    if as_task {
        let place = cloud::place();
        ask["work"] = json!({ "cluster": place.cluster, "family": place.family });
    }
    let mut turn = json!({});
    if overlap == "queue" && world.chance(200) {
        turn["maxQueue"] = world.number(1..=4).into();
    }
    if may_wait && world.chance(250) {
        let end = world.now() + world.number(60_000..=TROUBLE);
        let end = Timestamp::from_millis(end);
        turn["waitUntil"] = rfc3339(end).into();
    }
    if overlap == "replace" {
        let holder = HolderId::new(arn.as_str()).expect("a valid holder");
        locked(&world.audit).replacers.insert(WaiterId::of(&holder));
    }
    Order {
        arn,
        lock: guarded.lock.clone(),
        ask,
        turn,
        may_wait,
        wait_interval: world.number(20_000..=300_000),
        batch: batch(world),
        as_task,
        dies_releasing: world.fault(80),
    }
}

fn batch(world: &World) -> Batch {
    Batch {
        length: world.number(2000..=90_000),
        exit_code: world.pick(&[0, 0, 0, 0, 0, 1, 137]),
        stopping: world.number(0..=30_000),
        deaf: world.chance(500),
    }
}

pub(super) fn process(world: &World, guarded: &Guarded, number: u64) -> Plan {
    let name = format!("process-{number}");
    let mut ask = terms(world, guarded, &name);
    ask["overlap"] = world.pick(&["skip", "queue", "queue"]).into();
    let lease = ask["leaseSeconds"].as_u64().unwrap_or(60) * 1000;
    let fate = world.number(0..=3);
    Plan {
        name,
        lock: guarded.lock.clone(),
        ask,
        length: world.number(5000..=120_000),
        pause: (fate >= 2).then(|| (world.number(0..=20_000), lease + world.number(0..=120_000))),
        dies: (fate == 1).then(|| world.number(0..=60_000)),
    }
}

/// The request that all kinds of holders have in common.
fn terms(world: &World, guarded: &Guarded, holder: &str) -> Value {
    let lease = world.number(10..=60);
    let mut ask = json!({
        "lock": guarded.lock.as_str(),
        "holder": holder,
        "permits": guarded.permits,
        "leaseSeconds": lease,
        "heartbeatSeconds": lease / 3,
    });
    if let Some(gap) = guarded.min_interval {
        ask["minIntervalSeconds"] = gap.into();
    }
    if world.chance(400) {
        ask["runKey"] = format!("{}-tick-{}", guarded.lock, world.number(0..=2)).into();
    }
    if world.chance(150) {
        ask["maxRunSeconds"] = world.number(20..=100).into();
    }
    if world.chance(100) {
        ask["noProgressSeconds"] = world.number(20..=100).into();
    }
    // Somebody in the team has another number in mind.
    if world.chance(15) {
        ask["permits"] = 4.into();
    }
    ask
}
