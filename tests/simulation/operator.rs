//! An operator. The requests to operate may be lost, run twice or be cut off as all others.

use crate::engine::locked;
use crate::functions::Function;
use crate::invoke::invoke;
use crate::pairs::Event;
use crate::world::World;
use lockstep::domain::{HolderId, LockKey, LockRecord, Mode, RunId, RunKey, Timestamp, rfc3339};
use serde_json::{Value, json};
use std::sync::Arc;

/// Shortest time between two checks by the operator, in milliseconds. The longest is twice as long.
const CHECK_EVERY: u64 = 45_000;

/// Operates one lock until the world ends.
pub(crate) async fn operate(world: Arc<World>, lock: LockKey) {
    loop {
        world.linger(CHECK_EVERY..=2 * CHECK_EVERY).await;
        let Some(record) = world.store.items(&lock).record else {
            continue;
        };
        match &record.gate.mode {
            // A pause does not hide a freeze. In the end the lock is resumed.
            Mode::Frozen { .. } if world.fault(200) => pause(&world, &lock).await,
            Mode::Frozen { .. } => clear(&world, &lock, &record).await,
            // A pause that ends by itself may be cut short too.
            Mode::Paused { .. } => resume(&world, &lock).await,
            Mode::Open if world.fault(120) => pause(&world, &lock).await,
            Mode::Open if world.fault(170) => evict_one(&world, &lock, &record).await,
            Mode::Open if world.fault(30) => clear_rest(&world, &lock).await,
            Mode::Open if world.fault(60) => forget(&world, &lock).await,
            Mode::Open => {}
        }
    }
}

/// Clears a frozen lock: evicts its stale holders by force, and then resumes the lock.
async fn clear(world: &Arc<World>, lock: &LockKey, record: &LockRecord) {
    let now = world.timestamp();
    let holders = record.holders.iter();
    for (holder, _) in holders.filter(|(_, lease)| lease.staleness(now).is_some()) {
        evict(world, lock, holder, true).await;
    }
    act(world, lock, "resume", json!({ "lock": lock.as_str() })).await;
}

/// Resumes a paused lock, by its name or by a prefix. A prefix would not resume a frozen lock.
async fn resume(world: &Arc<World>, lock: &LockKey) {
    let scope = if world.chance(500) { "lock" } else { "prefix" };
    act(world, lock, "resume", json!({ scope: lock.as_str() })).await;
}

/// Pauses a lock until a resume, until a time, or until the runs that hold it have ended.
async fn pause(world: &Arc<World>, lock: &LockKey) {
    let mut request = json!({ "lock": lock.as_str() });
    if world.chance(500) {
        let end = world.now() + world.number(10_000..=180_000);
        request["until"] = json!(rfc3339(Timestamp::from_millis(end)));
    }
    if world.chance(300) {
        request["drain"] = json!(true);
    }
    act(world, lock, "pause", request).await;
}

/// Evicts one run that holds the lock or waits for it.
async fn evict_one(world: &Arc<World>, lock: &LockKey, record: &LockRecord) {
    let items = world.store.items(lock);
    let waiters = items.waiters.values();
    let waiters = waiters.map(|waiter| waiter.terms.holder.clone());
    let all: Vec<_> = record.holders.keys().cloned().chain(waiters).collect();
    if !all.is_empty() {
        let holder = world.pick(&all);
        let force = world.chance(600);
        evict(world, lock, &holder, force).await;
    }
}

/// Evicts a holder. Without `force`, operate has to see that the holder is dead.
async fn evict(world: &Arc<World>, lock: &LockKey, holder: &HolderId, force: bool) {
    if force {
        locked(&world.audit).evictions.insert(holder.clone());
    }
    world.happens_to(Event::Evict, holder);
    let request = json!({ "lock": lock.as_str(), "holder": holder.as_str(), "force": force });
    act(world, lock, "evict", request).await;
}

async fn clear_rest(world: &Arc<World>, lock: &LockKey) {
    let ordered = (lock.clone(), world.now());
    locked(&world.audit).cleared_rests.extend([ordered]);
    act(world, lock, "clear-rest", json!({ "lock": lock.as_str() })).await;
}

/// Makes one run key of the lock free again.
async fn forget(world: &Arc<World>, lock: &LockKey) {
    let runs = world.store.items(lock).runs;
    let keys = runs.into_keys().filter_map(|id| match id {
        RunId::Key(key) => Some(key),
        _ => None,
    });
    let keys: Vec<RunKey> = keys.collect();
    if keys.is_empty() {
        return;
    }
    let key = world.pick(&keys);
    let forgotten = (lock.clone(), key.clone());
    locked(&world.audit).forgotten.insert(forgotten);
    let request = json!({ "lock": lock.as_str(), "runKey": key.as_str() });
    act(world, lock, "forget", request).await;
}

/// Sends the act `name` once. The next check repeats it.
async fn act(world: &Arc<World>, lock: &LockKey, name: &'static str, mut request: Value) {
    request["act"] = json!(name);
    request["actor"] = json!("operator");
    request["note"] = json!("simulated");
    let answer = invoke(world, Function::Operate, request).await;
    let how = answer.map_or_else(|failure| failure.error, |answer| answer.to_string());
    world.note("operator", format_args!("{name} {lock}: {how}"));
    world.count("acts");
    world.count(name);
}
