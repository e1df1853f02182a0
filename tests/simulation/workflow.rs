//! An execution of exclusive-run: acquire, wait for the turn, work beside heartbeats, release.

mod acquire;
mod exclusive;

use crate::answer::Grant;
use crate::cloud::{self, Batch};
use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{HolderId, LockKey};
use lockstep::executions::{ExecutionArn, ExecutionEnd};
use serde_json::Value;
use std::sync::Arc;

/// What an execution was started with.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) arn: ExecutionArn,
    pub(crate) lock: LockKey,
    /// The request to acquire-lock, without what only a waiting state adds.
    pub(crate) ask: Value,
    /// What a waiting state adds.
    pub(crate) turn: Value,
    pub(crate) may_wait: bool,
    /// How long the waiting state waits before it registers again, in milliseconds.
    pub(crate) wait_interval: u64,
    pub(crate) batch: Batch,
    /// Whether the work is an ECS task, or states of the workflow itself.
    pub(crate) as_task: bool,
    /// Whether it is ended from outside while it releases.
    pub(crate) dies_releasing: bool,
}

impl Order {
    pub(crate) fn name(&self) -> &str {
        self.arn.as_str().rsplit(':').next().unwrap_or_default()
    }
}

/// How an execution comes to its end.
pub(crate) type End = Result<(), String>;

/// Starts an execution.
pub(crate) fn start(world: &Arc<World>, order: Order) {
    let (arn, lock) = (order.arn.clone(), order.lock.clone());
    let what = if order.may_wait {
        "may wait"
    } else {
        "does not wait"
    };
    world.note(order.name(), format_args!("starts for {lock}, {what}"));
    let run = Arc::clone(world);
    let job = world.spawn(async move {
        let end = run_through(&run, &order).await;
        conclude(&run, &order, end);
    });
    cloud::begin(world, &arn, &lock, job);
}

async fn run_through(world: &Arc<World>, order: &Order) -> End {
    match acquire::acquire(world, order).await? {
        Some(grant) => exclusive::run(world, order, &grant).await,
        None => Ok(()),
    }
}

fn conclude(world: &Arc<World>, order: &Order, end: End) {
    if let Err(error) = &end {
        world.note(order.name(), format_args!("fails with {error}"));
    }
    let how = match end {
        Ok(()) => ExecutionEnd::Succeeded,
        Err(_) => ExecutionEnd::Failed,
    };
    cloud::end(world, &order.arn, how);
}

/// Starts an execution that has failed again, behind its acquire step, with the grant that it had.
pub(crate) fn redrive(world: &Arc<World>, order: Order) {
    let holder = HolderId::new(order.arn.as_str()).expect("an ARN is a holder");
    let Some(grant) = last_grant(world, &order.lock, &holder) else {
        return;
    };
    if world.is_calm() || !cloud::has_failed(world, &order.arn) {
        return;
    }
    let (arn, run) = (order.arn.clone(), Arc::clone(world));
    let job = world.spawn(async move {
        let end = exclusive::run(&run, &order, &grant).await;
        conclude(&run, &order, end);
    });
    cloud::begin_again(world, &arn, job);
}

fn last_grant(world: &World, lock: &LockKey, holder: &HolderId) -> Option<Grant> {
    let audit = locked(&world.audit);
    let grants = audit.books.get(lock)?.grants.iter().rev();
    let (token, entry) = grants
        .into_iter()
        .find(|(_, entry)| entry.holder == *holder)?;
    let receipt = lockstep::contract::Grant::of(lock, holder, *token, entry.lease.run_key.as_ref());
    Some(Grant {
        holder: holder.clone(),
        token: *token,
        beat: entry.lease.heartbeat.millis(),
        receipt: serde_json::to_value(receipt).expect("a receipt is JSON"),
    })
}
