//! What wakes the reaper: events that are late, lost, doubled and out of order, and the sweep.

use crate::cloud::TaskRow;
use crate::engine::locked;
use crate::invoke::{Function, invoke};
use crate::world::World;
use lockstep::contract::rfc3339;
use lockstep::domain::{LockKey, Timestamp};
use lockstep::executions::ExecutionArn;
use serde_json::{Value, json};
use std::sync::Arc;

/// How often the sweep is started, in milliseconds.
const SWEEP: u64 = 60_000;

/// Tells of an execution that has begun or ended. Step Functions does so as well as it can.
pub(crate) fn execution_changed(
    world: &Arc<World>,
    arn: &ExecutionArn,
    lock: &LockKey,
    status: &str,
) {
    let input = json!({ "lock": lock.as_str() }).to_string();
    let event = json!({
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "detail": { "executionArn": arn.as_str(), "status": status, "input": input },
    });
    deliver(world, event, "execution event");
}

/// The event of a task as it is now.
pub(crate) fn task_event(arn: &str, row: &TaskRow) -> Value {
    let time = |at: Option<u64>| at.map(|at| rfc3339(Timestamp::from_millis(at)));
    json!({
        "source": "aws.ecs",
        "detail-type": "ECS Task State Change",
        "detail": {
            "taskArn": arn,
            "clusterArn": row.work.cluster,
            "group": row.group,
            "lastStatus": row.status.name(),
            "version": row.version,
            "startedAt": time(row.started),
            "stoppedAt": time(row.stopped),
            "containers": [{ "name": "job", "runtimeId": arn, "exitCode": row.exit_code }],
            "overrides": { "containerOverrides": [{ "environment": [
                { "name": "LOCKSTEP_FENCING_TOKEN", "value": row.token.to_string() },
            ] }] },
        },
    })
}

/// Sends an event on its way to the reaper.
pub(crate) fn deliver(world: &Arc<World>, event: Value, kind: &str) {
    if world.fault(80) {
        world.count("events lost");
        world.note("bus", format_args!("{kind} lost"));
        return;
    }
    if world.fault(80) {
        world.count("events twice");
        send(world, event.clone());
    }
    send(world, event);
}

fn send(world: &Arc<World>, event: Value) {
    let bus = Arc::clone(world);
    world.spawn(async move {
        if bus.fault(150) {
            bus.count("events late");
            bus.linger(1000..=90_000).await;
        } else {
            bus.linger(50..=1500).await;
        }
        // An asynchronous invocation is tried three times.
        for pause in [60_000, 120_000, 0] {
            if invoke(&bus, Function::Reaper, event.clone()).await.is_ok() {
                return;
            }
            bus.sleep(pause).await;
        }
    });
}

/// Starts the sweep every minute, as long as the world lasts.
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

/// Whether every lock is free and nobody waits.
pub(crate) fn all_idle(world: &World, locks: &[LockKey]) -> bool {
    let idle = |lock| {
        world
            .store
            .items(lock)
            .record
            .is_none_or(|record| record.is_idle())
    };
    let busy = locked(&world.cloud).is_busy();
    !busy && locks.iter().all(idle)
}
