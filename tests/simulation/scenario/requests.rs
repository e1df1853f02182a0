//! The callers, and what they ask for.

use super::{Guarded, TROUBLE};
use crate::asl::Machine;
use crate::cloud::Batch;
use crate::engine::locked;
use crate::pairs::Facet;
use crate::process::Plan;
use crate::trial::Trial;
use crate::workflow::Order;
use crate::world::World;
use lockstep::domain::{ExecutionArn, HolderId, Timestamp, WaiterId, rfc3339};
use serde_json::{Value, json};

pub(super) fn execution(world: &World, guarded: &Guarded, number: u64) -> Order {
    let arn = format!("arn:aws:states:eu-west-1:1:execution:report:run-{number}");
    let arn = ExecutionArn::new(arn).expect("a valid ARN");
    let mut input = terms(world, guarded);
    let overlap = overlap(world, guarded);
    input["overlap"] = overlap.into();
    let held = guarded.wants(world, Facet::Hold, 180);
    let yields = guarded.wants(world, Facet::Yield, 200);
    input["stalePolicy"] = match (held, yields) {
        (true, _) => "hold".into(),
        (_, true) => "yield".into(),
        _ => "terminate".into(),
    };
    if matches!(overlap, "queue" | "replace") {
        input["waitIntervalSeconds"] = world.number(20..=300).into();
    }
    let batch = batch(world);
    let own = guarded.wants(world, Facet::States, 250);
    if guarded.wants(world, Facet::Parent, 150) {
        // The items of one Map come beside each other.
        let siblings = if world.tries(Trial::Siblings) {
            guarded.siblings
        } else {
            1
        };
        let call = number / siblings;
        let caller = format!("arn:aws:states:eu-west-1:1:execution:caller:call-{call}");
        let field = match own {
            true => "parent",
            false => "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID",
        };
        input[field] = caller.into();
    }
    let machine = if !own {
        input["work"] = match guarded.wants(world, Facet::Workflow, 350) {
            true => guarded_workflow(&batch),
            false => guarded_task(&batch),
        };
        if input["work"]["runTask"].is_object() && world.chance(500) {
            input["work"]["container"] = "job".into();
        }
        options(world, guarded, &mut input);
        Machine::exclusive_run()
    } else {
        input["batch"] = json!({ "length": batch.length, "exitCode": batch.exit_code });
        Machine::own_workflow()
    };
    bounds(world, guarded, &mut input);
    Order {
        arn,
        machine,
        input,
        dies_releasing: world.fault(80),
    }
}

/// Returns the work as a user of exclusive-run writes it. The command says what the container does.
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

/// Returns the same work as a workflow of the user. The workflow writes with the grant in its
/// input.
fn guarded_workflow(batch: &Batch) -> Value {
    let machine = "arn:aws:states:eu-west-1:1:stateMachine:etl";
    json!({
        "startExecution": { "StateMachineArn": machine, "Input": { "batch": batch } },
        "grantField": "lockstep",
    })
}

/// Adds the options that some users of exclusive-run set. One in six leaves the lease to its
/// default.
fn options(world: &World, guarded: &Guarded, input: &mut Value) {
    let lease = input["leaseSeconds"].as_u64().unwrap_or_default();
    if let Some(fields) = input.as_object_mut().filter(|_| lease.is_multiple_of(6)) {
        fields.remove("leaseSeconds");
        fields.remove("heartbeatSeconds");
    }
    if world.chance(100) {
        input["onSkip"] = "fail".into();
    }
    paused(world, guarded, input);
    if world.chance(30) {
        let start = world.now() + world.number(0..=TROUBLE);
        input["notBefore"] = rfc3339(Timestamp::from_millis(start)).into();
    }
}

/// Adds what a run does at a paused lock. A run that would fail there gets no `catchUp`, which
/// would be refused.
fn paused(world: &World, guarded: &Guarded, input: &mut Value) {
    if guarded.wants(world, Facet::OnPaused, 200) {
        input["onPaused"] = world.pick(&["skip", "wait", "fail"]).into();
    }
    let skips = match input["onPaused"].as_str() {
        Some(given) => given != "fail",
        None => matches!(input["overlap"].as_str(), Some("skip" | "queue")),
    };
    if skips && guarded.wants(world, Facet::CatchUp, 200) {
        input["catchUp"] = "once".into();
    }
}

/// Adds how long the queue may be, and how long a run waits in it.
fn bounds(world: &World, guarded: &Guarded, input: &mut Value) {
    let queues = input["overlap"] == "queue";
    let waits = queues
        || input["overlap"] == "replace"
        || input["catchUp"] == "once"
        || input["onPaused"] == "wait";
    if queues && guarded.wants(world, Facet::Bounds, 200) {
        bound_queue(world, input);
    }
    if waits && guarded.wants(world, Facet::Bounds, 250) {
        input["waitSeconds"] = world.number(20..=300).into();
    }
}

/// Bounds the queue. A full queue of an even length fails the next run, one of an odd length skips
/// it.
fn bound_queue(world: &World, input: &mut Value) {
    let most: u64 = world.number(1..=4);
    input["maxQueue"] = most.into();
    input["whenQueueFull"] = if most.is_multiple_of(2) {
        "fail"
    } else {
        "skip"
    }
    .into();
}

fn overlap(world: &World, guarded: &Guarded) -> &'static str {
    let fashions = [
        (Facet::Replace, "replace"),
        (Facet::Fail, "fail"),
        (Facet::Skip, "skip"),
    ];
    let mut fashions = fashions.into_iter();
    let drawn = fashions.find(|(facet, _)| guarded.wants(world, *facet, 150));
    drawn.map_or("queue", |(_, overlap)| overlap)
}

fn batch(world: &World) -> Batch {
    Batch {
        // Some work for much longer than their limits.
        length: match world.chance(80) {
            true => world.number(300_000..=900_000),
            false => world.number(2000..=90_000),
        },
        exit_code: world.pick(&[0, 0, 0, 0, 0, 1, 137]),
        stopping: world.number(0..=30_000),
        deaf: world.chance(500),
    }
}

pub(super) fn process(world: &World, guarded: &Guarded, number: u64) -> Plan {
    let name = format!("process-{number}");
    let mut ask = terms(world, guarded);
    ask["holder"] = name.as_str().into();
    let overlap = overlap(world, guarded);
    ask["overlap"] = overlap.into();
    if overlap == "replace" {
        let holder = HolderId::new(name.as_str()).expect("a name is a holder");
        locked(&world.audit).replacers.insert(WaiterId::of(&holder));
    }
    paused(world, guarded, &mut ask);
    let waits = matches!(overlap, "queue" | "replace")
        || ask["onPaused"] == "wait"
        || ask["catchUp"] == "once";
    if overlap == "queue" && guarded.wants(world, Facet::Bounds, 150) {
        bound_queue(world, &mut ask);
    }
    let lease = ask["leaseSeconds"].as_u64().unwrap_or(60) * 1000;
    let fate = world.number(0..=3);
    Plan {
        name,
        lock: guarded.lock.clone(),
        patience: (waits && guarded.wants(world, Facet::Bounds, 150))
            .then(|| world.number(20..=300)),
        ask,
        length: world.number(5000..=120_000),
        pause: (fate >= 2).then(|| (world.number(0..=20_000), lease + world.number(0..=120_000))),
        dies: (fate == 1).then(|| world.number(0..=60_000)),
    }
}

/// Returns the fields of a request that all kinds of holders have in common.
fn terms(world: &World, guarded: &Guarded) -> Value {
    // Some take a long lease, with few heartbeats.
    let lease = if world.chance(100) {
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
    // A run that is started by hand does not have it.
    if let Some(every) = guarded.expect_every.filter(|_| world.chance(700)) {
        ask["expectEverySeconds"] = every.into();
    }
    if guarded.wants(world, Facet::RunKey, 300) {
        ask["runKey"] = format!("{}-tick-{}", guarded.lock, world.number(0..=2)).into();
    }
    if guarded.wants(world, Facet::MaxRun, 150) {
        ask["maxRunSeconds"] = world.number(20..=100).into();
    }
    if guarded.wants(world, Facet::NoProgress, 150) {
        ask["noProgressSeconds"] = world.number(20..=100).into();
    }
    // A few callers ask for other permits than the rest.
    if world.chance(15) {
        ask["permits"] = 4.into();
    }
    ask
}
