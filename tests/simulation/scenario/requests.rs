//! Who comes, and what for.

use super::{Guarded, TROUBLE};
use crate::asl::Machine;
use crate::cloud::{Batch, holder_of};
use crate::engine::locked;
use crate::process::Plan;
use crate::workflow::Order;
use crate::world::World;
use lockstep::domain::{ExecutionArn, Timestamp, WaiterId, rfc3339};
use serde_json::{Value, json};

pub(super) fn execution(world: &World, guarded: &Guarded, number: u64) -> Order {
    let arn = format!("arn:aws:states:eu-west-1:1:execution:report:run-{number}");
    let arn = ExecutionArn::new(arn).expect("a valid ARN");
    let mut input = terms(world, guarded);
    let overlap = world.pick(&[
        "skip", "fail", "queue", "queue", "queue", "queue", "replace",
    ]);
    input["overlap"] = overlap.into();
    input["stalePolicy"] = world
        .pick(&["terminate", "terminate", "terminate", "yield", "hold"])
        .into();
    if overlap == "queue" && world.chance(200) {
        input["maxQueue"] = world.number(1..=4).into();
    }
    if matches!(overlap, "queue" | "replace") {
        input["waitIntervalSeconds"] = world.number(20..=300).into();
        if world.chance(250) {
            input["waitSeconds"] = world.number(20..=300).into();
        }
    }
    if overlap == "replace" {
        let holder = holder_of(&arn);
        locked(&world.audit).replacers.insert(WaiterId::of(&holder));
    }
    let batch = batch(world);
    let machine = if world.chance(700) {
        input["work"] = match world.chance(350) {
            true => guarded_workflow(&batch),
            false => guarded_task(&batch),
        };
        if input["work"]["runTask"].is_object() && world.chance(500) {
            input["work"]["container"] = "job".into();
        }
        options(world, &mut input);
        Machine::exclusive_run()
    } else {
        input["batch"] = json!({ "length": batch.length, "exitCode": batch.exit_code });
        Machine::own_workflow()
    };
    Order {
        arn,
        machine,
        input,
        dies_releasing: world.fault(80),
    }
}

/// The work as a user of exclusive-run writes it. The command says what the container does.
pub(crate) fn guarded_task(batch: &Batch) -> Value {
    let command = serde_json::to_string(batch).expect("a batch is JSON");
    json!({
        "runTask": {
            "Cluster": "batch",
            "TaskDefinition": "arn:aws:ecs:eu-west-1:1:task-definition/job:3",
            "LaunchType": "FARGATE",
            "Overrides": { "ContainerOverrides": [{ "Name": "job", "Command": [command] }] },
        },
    })
}

/// The same where the work is a workflow of the user's. The grant in its input is what it writes with.
fn guarded_workflow(batch: &Batch) -> Value {
    let machine = "arn:aws:states:eu-west-1:1:stateMachine:etl";
    json!({
        "startExecution": { "StateMachineArn": machine, "Input": { "batch": batch } },
        "grantField": "lockstep",
    })
}

/// What some users of exclusive-run ask for beside the lock.
fn options(world: &World, input: &mut Value) {
    if world.chance(100) {
        input["onSkip"] = "fail".into();
    }
    if world.chance(150) {
        input["onPaused"] = world.pick(&["skip", "wait", "fail"]).into();
    } else if matches!(input["overlap"].as_str(), Some("skip" | "queue")) && world.chance(200) {
        input["catchUp"] = "once".into();
    }
    if world.chance(30) {
        let start = world.now() + world.number(0..=TROUBLE);
        input["notBefore"] = rfc3339(Timestamp::from_millis(start)).into();
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
    let mut ask = terms(world, guarded);
    ask["holder"] = name.as_str().into();
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
fn terms(world: &World, guarded: &Guarded) -> Value {
    // Some take a lease for long runs, which beats seldom.
    let lease = if world.chance(80) {
        world.number(600..=3600)
    } else {
        world.number(10..=120)
    };
    let mut ask = json!({
        "lock": guarded.lock.as_str(),
        "permits": guarded.permits,
        "leaseSeconds": lease,
        "heartbeatSeconds": lease / 3,
    });
    if world.chance(300) {
        ask["maxHeartbeatSeconds"] = world.number(1..=60).into();
    }
    if let Some(gap) = guarded.min_interval {
        ask["minIntervalSeconds"] = gap.into();
    }
    // A run that is started by hand does not say it.
    if let Some(every) = guarded.expect_every.filter(|_| world.chance(700)) {
        ask["expectEverySeconds"] = every.into();
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
