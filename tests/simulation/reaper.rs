//! What starts the reaper: events that are late, lost, doubled or out of order, and the sweep.

use crate::cloud::{TaskRequest, TaskRow};
use crate::engine::locked;
use crate::functions::Function;
use crate::invoke::invoke;
use crate::world::World;
use lockstep::domain::{ExecutionArn, LockKey, Timestamp, rfc3339};
use lockstep::events::{Event, EventDetail};
use serde_json::{Value, json};
use std::sync::Arc;

/// How often the sweep starts, in milliseconds.
const SWEEP: u64 = 60_000;

/// Sends the event of an execution that has begun or ended. Step Functions sends events on a
/// best-effort basis.
pub(crate) fn execution_changed(world: &Arc<World>, arn: &ExecutionArn, status: &str) {
    let cloud = locked(&world.cloud);
    let Some(row) = cloud.executions.get(arn) else {
        return;
    };
    let (input, ended) = (row.story.input.to_string(), row.ended.map(|(at, _)| at));
    let event = status_change(arn.as_str(), status, &input, row.story.redrives, ended);
    drop(cloud);
    deliver(world, event, "execution event");
}

/// Returns the event of a task in its present state.
pub(crate) fn task_event(arn: &str, row: &TaskRow, request: &TaskRequest) -> Value {
    let now = row.now;
    let time = |at: Option<u64>| at.map(|at| rfc3339(Timestamp::from_millis(at)));
    let overrides = request.overrides.container_overrides.iter();
    let overrides = overrides.map(|container| {
        let environment = container.environment.iter();
        let environment = environment.map(|v| json!({ "name": v.name, "value": v.value }));
        json!({ "name": container.name, "environment": environment.collect::<Value>() })
    });
    json!({
        "source": "aws.ecs",
        "detail-type": "ECS Task State Change",
        "detail": {
            "taskArn": arn,
            "clusterArn": format!("arn:aws:ecs:eu-west-1:1:cluster/{}", request.cluster),
            "group": request.group(),
            "lastStatus": now.status.name(),
            "version": now.version,
            "stopCode": now.stopping.map(|(_, code)| code),
            "stoppingAt": time(now.stopping.map(|(at, _)| at)),
            "executionStoppedAt": time(now.exited),
            "startedAt": time(now.started),
            "stoppedAt": time(now.stopped),
            "containers": [{ "name": "job", "runtimeId": arn, "exitCode": now.exit_code }],
            "overrides": { "containerOverrides": overrides.collect::<Value>() },
        },
    })
}

/// Returns the event of an execution that is the work of another, in its present state.
pub(crate) fn child_event(arn: &str, row: &TaskRow) -> Value {
    let now = row.now;
    status_change(arn, now.execution_status(), "{}", 0, now.execution_ended())
}

fn status_change(arn: &str, status: &str, input: &str, redrives: u64, stop: Option<u64>) -> Value {
    json!({
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "detail": {
            "executionArn": arn,
            "status": status,
            "input": input,
            "redriveCount": redrives,
            "stopDate": stop,
        },
    })
}

/// Sends the event of what a process leaves to the reaper.
pub(crate) fn left_by_a_process(world: &Arc<World>, event: &Event) {
    let event = json!({
        "source": "lockstep",
        "detail-type": event.kind.detail_type(),
        "detail": EventDetail::from(event),
    });
    deliver(world, event, "event of a process");
}

/// Sends an event to the reaper. The event may be lost, or sent twice.
pub(crate) fn deliver(world: &Arc<World>, event: Value, kind: &str) {
    if world.as_deployed && !has_rule(&event) {
        return;
    }
    if world.fault(80) {
        world.count("events lost");
        world.happens(crate::pairs::Event::Unheard, None);
        world.note("bus", format_args!("{kind} lost"));
        return;
    }
    if world.fault(80) {
        world.count("events twice");
        send(world, event.clone());
    }
    send(world, event);
}

/// Returns whether a rule of infra/template.yaml passes an event on to the reaper.
fn has_rule(event: &Value) -> bool {
    let detail = &event["detail"];
    match event["source"].as_str() {
        Some("aws.ecs") => detail["lastStatus"] == "STOPPED",
        Some("aws.states") => {
            let status = detail["status"].as_str().unwrap_or_default();
            ["FAILED", "TIMED_OUT", "ABORTED"].contains(&status)
        }
        _ => true,
    }
}

fn send(world: &Arc<World>, event: Value) {
    let bus = Arc::clone(world);
    world.spawn(async move {
        if bus.fault(150) {
            bus.count("events late");
            bus.happens(crate::pairs::Event::Unheard, None);
            bus.linger(1000..=90_000).await;
        } else {
            bus.linger(50..=1500).await;
        }
        // Lambda tries an asynchronous invocation three times.
        for pause in [60_000, 120_000, 0] {
            if invoke(&bus, Function::Reaper, event.clone()).await.is_ok() {
                return;
            }
            bus.sleep(pause).await;
        }
    });
}

/// Starts the sweep every minute until the world ends.
pub(crate) async fn sweep(world: Arc<World>) {
    loop {
        world.sleep(SWEEP).await;
        if world.fault(100) {
            world.count("sweeps lost");
            continue;
        }
        let sweeper = Arc::clone(&world);
        world.spawn(async move {
            let event = json!({ "sweep": true });
            let _ = invoke(&sweeper, Function::Reaper, event).await;
        });
    }
}

/// Returns whether every lock is idle and nothing of the cloud is at work.
pub(crate) fn all_idle(world: &World, locks: &[LockKey]) -> bool {
    let record = |lock| world.store.items(lock).record;
    let idle = |lock| record(lock).is_none_or(|record| record.is_idle());
    let busy = locked(&world.cloud).is_busy();
    !busy && locks.iter().all(idle)
}
