//! An operator: pauses and resumes a lock, sends somebody away, clears a frozen lock.

use crate::cloud;
use crate::engine::locked;
use crate::functions::{RETENTION, deps};
use crate::world::World;
use lockstep::domain::{
    AuditNote, Command, Evict, ExecutionArn, ExecutionEnd, HolderId, LockKey, LockRecord, Mode,
};
use std::sync::Arc;

/// Time between two checks by the operator, in milliseconds.
const CHECK_EVERY: u64 = 45_000;

/// Operates one lock as long as the world lasts.
pub(crate) async fn operate(world: Arc<World>, lock: LockKey) {
    loop {
        world.linger(CHECK_EVERY..=2 * CHECK_EVERY).await;
        let Some(record) = world.store.items(&lock).record else {
            continue;
        };
        match &record.mode {
            Mode::Frozen { .. } => clear(&world, &lock, &record).await,
            Mode::Paused { .. } => {
                carry_out(&world, &lock, Command::Resume(audit_note("go on"))).await
            }
            Mode::Open if world.fault(60) => {
                carry_out(
                    &world,
                    &lock,
                    Command::Pause(audit_note("maintenance"), None),
                )
                .await;
            }
            Mode::Open if world.fault(60) => evict_one(&world, &lock, &record).await,
            Mode::Open => {}
        }
    }
}

/// A frozen lock has a stale holder: it is stopped and sent away before the lock goes on.
async fn clear(world: &Arc<World>, lock: &LockKey, record: &LockRecord) {
    let now = world.timestamp();
    let stale = record
        .holders
        .iter()
        .filter(|(_, lease)| lease.staleness(now).is_some());
    for (holder, _) in stale {
        if let Some(arn) = ExecutionArn::of_holder(holder) {
            cloud::abort(world, &arn, ExecutionEnd::Aborted);
        }
        evict(world, lock, holder).await;
    }
    carry_out(world, lock, Command::Resume(audit_note("checked"))).await;
}

/// Anybody who holds the lock, or who waits.
async fn evict_one(world: &Arc<World>, lock: &LockKey, record: &LockRecord) {
    let items = world.store.items(lock);
    let waiters = items
        .waiters
        .values()
        .map(|waiter| waiter.terms.holder.clone());
    let all: Vec<_> = record.holders.keys().cloned().chain(waiters).collect();
    if !all.is_empty() {
        let holder = world.pick(&all);
        evict(world, lock, &holder).await;
    }
}

async fn evict(world: &Arc<World>, lock: &LockKey, holder: &HolderId) {
    locked(&world.audit).evictions.insert(holder.clone());
    let evict = Evict {
        holder: holder.clone(),
        audit: audit_note("not needed"),
    };
    carry_out(world, lock, Command::Evict(evict)).await;
}

fn audit_note(note: &str) -> AuditNote {
    AuditNote {
        actor: HolderId::new("operator").expect("a valid holder"),
        note: note.to_owned(),
        retention: RETENTION,
    }
}

async fn carry_out(world: &Arc<World>, lock: &LockKey, command: Command) {
    let deps = deps(world, false);
    let done = deps.protocol.execute(lock, &command).await;
    let what = match &command {
        Command::Pause(..) => "pauses",
        Command::Resume(_) => "resumes",
        _ => "evicts somebody from",
    };
    let how = if done.is_ok() {
        ""
    } else {
        ", but hears nothing"
    };
    world.note("operator", format_args!("{what} {lock}{how}"));
    world.count("orders");
    if let Ok(done) = done {
        deps.effects().perform(lock, done.effects).await;
    }
}
