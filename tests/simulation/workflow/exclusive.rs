//! The work beside its heartbeats, and the release.

use super::acquire::call;
use super::{End, Order, redrive};
use crate::answer::Grant;
use crate::cloud::{self, stop_task};
use crate::engine::locked;
use crate::invoke::{Function, announce_release, invoke};
use crate::resource;
use crate::slot::{First, both, race};
use crate::world::World;
use lockstep::executions::ExecutionEnd;
use std::future::pending;
use std::sync::Arc;

/// What ends the heartbeats, and with them the work.
const CUT_OFF: [&str; 4] = [
    "Lockstep.LeaseLost",
    "Lockstep.InvalidRequest",
    "Lockstep.Denied",
    "Lockstep.Corrupt",
];

/// Two branches, as in the state machine: the work with its release, and the heartbeats. The run
/// succeeds when both have; a failure of one ends the other.
pub(super) async fn run(world: &Arc<World>, order: &Order, grant: &Grant) -> End {
    let branches = both(work(world, order, grant), keep(world, order, grant));
    let Err(failure) = branches.await else {
        return Ok(());
    };
    cancel_tasks(world, grant);
    // A batch that was cut off may still be stopping: the reaper frees the lock when it has.
    if CUT_OFF.contains(&failure.as_str()) {
        return Err(failure);
    }
    announce_release(world, grant);
    let _ = call(world, Function::Release, grant.release("failed")).await;
    Err(failure)
}

async fn work(world: &Arc<World>, order: &Order, grant: &Grant) -> End {
    if !has_worked(world, order) {
        let code = if order.as_task {
            as_task(world, order, grant).await
        } else {
            as_states(world, order, grant).await
        };
        if code != 0 {
            return Err("States.TaskFailed".into());
        }
        let mut cloud = locked(&world.cloud);
        let row = cloud.executions.get_mut(&order.arn);
        row.into_iter().for_each(|row| row.worked = true);
        drop(cloud);
        if order.dies_releasing {
            end_soon(world, order);
        }
    }
    announce_release(world, grant);
    let released = call(world, Function::Release, grant.release("succeeded")).await;
    match released {
        Ok(answer) => {
            if answer["status"] == "lost" {
                world.note(order.name(), format_args!("finished without its permit"));
            }
            Ok(())
        }
        Err(failure) => Err(failure.0),
    }
}

/// The moment in which most is under way: the work is done, and nobody knows it yet.
fn end_soon(world: &Arc<World>, order: &Order) {
    let (later, order) = (Arc::clone(world), order.clone());
    world.spawn(async move {
        later.linger(0..=60).await;
        later.count("ended while releasing");
        cloud::abort(&later, &order.arn, ExecutionEnd::Aborted);
        if later.chance(600) {
            later.linger(2000..=90_000).await;
            redrive(&later, order);
        }
    });
}

/// A redrive goes on behind what has succeeded.
fn has_worked(world: &World, order: &Order) -> bool {
    let cloud = locked(&world.cloud);
    cloud
        .executions
        .get(&order.arn)
        .is_some_and(|row| row.worked)
}

async fn as_task(world: &Arc<World>, order: &Order, grant: &Grant) -> i64 {
    world.linger(100..=500).await;
    let batch = order.batch.clone();
    let arn = cloud::run_task(world, &order.lock, &grant.holder, grant.token, batch);
    let code = cloud::await_task(world, &arn).await;
    world.linger(100..=2000).await;
    code
}

async fn as_states(world: &Arc<World>, order: &Order, grant: &Grant) -> i64 {
    let end = world.now() + order.batch.length;
    while world.now() < end {
        if !resource::write(world, &order.lock, grant.token, order.name()) {
            return 1;
        }
        world.linger(500..=1500).await;
    }
    order.batch.exit_code
}

/// Renews until the release ends the state that waits, or the lease is lost.
async fn keep(world: &Arc<World>, order: &Order, grant: &Grant) -> End {
    loop {
        let (token, ended) = cloud::open_state(world, &order.arn);
        let event = grant.beat(Some(token.reveal()), None);
        let beat = async {
            match invoke(world, Function::Heartbeat, event).await {
                Ok(_) => pending().await,
                Err(failure) => failure,
            }
        };
        let beat = race(race(ended.wait(), beat), world.sleep(grant.beat)).await;
        cloud::close_state(world, &token);
        match beat {
            First::Left(First::Left(_)) => return Ok(()),
            First::Left(First::Right(failure)) if !failure.is_transient() => {
                world.count("leases lost");
                return Err(failure.0);
            }
            First::Left(First::Right(_)) | First::Right(()) => world.sleep(1000).await,
        }
    }
}

/// Step Functions stops the task of a branch that it ends, as well as it can.
fn cancel_tasks(world: &Arc<World>, grant: &Grant) {
    let cloud = locked(&world.cloud);
    let tasks: Vec<_> = cloud
        .live_tasks(&grant.holder)
        .map(|(arn, _)| arn.clone())
        .collect();
    drop(cloud);
    for task in tasks {
        if world.fault(200) {
            world.count("tasks left behind");
        } else {
            stop_task(world, &task, "branch ended");
        }
    }
}
