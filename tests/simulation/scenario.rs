//! What happens in the world of one seed: which locks, who comes when, what goes wrong.

mod requests;

use crate::engine::locked;
use crate::workflow::{self, Order};
use crate::world::World;
use crate::{cloud, operator, process, reaper, witness};
use lockstep::domain::{ExecutionEnd, LockKey};
pub(crate) use requests::guarded_task;
use requests::{execution, process};
use std::sync::Arc;

/// For how long things go wrong, in milliseconds.
pub(crate) const TROUBLE: u64 = 15 * 60_000;

/// One lock, and what its callers have in common.
struct Guarded {
    lock: LockKey,
    permits: u64,
    min_interval: Option<u64>,
    /// How often a run is expected to succeed, in seconds.
    expect_every: Option<u64>,
}

/// Fills a world. Returns its locks.
pub(crate) fn set_up(world: &Arc<World>) -> Vec<LockKey> {
    let locks: Vec<_> = (0..world.number(1..=2))
        .map(|number| guarded(world, number))
        .collect();
    let crowded = if world.chance(100) { 1000 } else { 200 };
    for number in 0..world.number(6..=24) {
        let guarded = &locks[usize::try_from(number).unwrap_or(0) % locks.len()];
        // Some come as a crowd, some alone.
        let crowd = world.chance(crowded);
        let at = if crowd {
            60_000
        } else {
            world.number(0..=TROUBLE)
        };
        come(world, at, execution(world, guarded, number));
    }
    for number in 0..world.number(0..=3) {
        let guarded = &locks[usize::try_from(number).unwrap_or(0) % locks.len()];
        let plan = process(world, guarded, number);
        let later = Arc::clone(world);
        world.spawn(async move {
            later.linger(0..=TROUBLE).await;
            process::live(Arc::clone(&later), plan).await;
        });
    }
    world.spawn(reaper::sweep(Arc::clone(world)));
    let expected = locks.iter().filter_map(|guarded| {
        let seconds = guarded.expect_every?;
        Some((guarded.lock.clone(), seconds * 1000))
    });
    locked(&world.witness).expected = expected.collect();
    let locks: Vec<_> = locks.into_iter().map(|guarded| guarded.lock).collect();
    world.spawn(witness::watch(Arc::clone(world), locks.clone()));
    for lock in &locks {
        world.spawn(operator::operate(Arc::clone(world), lock.clone()));
    }
    locks
}

fn guarded(world: &World, number: u64) -> Guarded {
    let permits = world.pick(&[1, 1, 1, 2, 3]);
    Guarded {
        lock: LockKey::new(format!("lock-{number}")).expect("a valid lock"),
        permits,
        min_interval: world.chance(200).then(|| world.number(2..=40)),
        expect_every: world.chance(300).then(|| world.number(60..=300)),
    }
}

/// An execution starts at its time. It may be ended from outside, and be redriven after that.
fn come(world: &Arc<World>, at: u64, order: Order) {
    let later = Arc::clone(world);
    let crash = world.chance(250).then(|| world.number(500..=120_000));
    let redrive = crash.is_some() && world.chance(300);
    world.spawn(async move {
        later.sleep(at).await;
        let arn = order.arn.clone();
        workflow::start(&later, &order);
        let Some(after) = crash else { return };
        later.sleep(after).await;
        let how = later.pick(&[ExecutionEnd::Aborted, ExecutionEnd::TimedOut]);
        later.count("executions ended from outside");
        cloud::abort(&later, &arn, how);
        if redrive {
            // Half of them are redriven while the old task is still being stopped.
            if later.chance(500) {
                later.linger(500..=10_000).await;
            } else {
                later.linger(10_000..=90_000).await;
            }
            workflow::redrive(&later, &arn);
        }
    });
}
