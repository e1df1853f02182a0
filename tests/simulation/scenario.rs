//! What happens in the world of one seed: its locks, who comes when, and what goes wrong.

mod requests;

use crate::cloud::holder_of;
use crate::engine::locked;
use crate::pairs::{Event, Facet, facets};
use crate::trial::Trial;
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
    /// The options that most of its callers ask for, as bits. So rare options meet each other at
    /// some locks.
    fashion: u32,
    /// How many callers in a row name the same parent.
    siblings: u64,
}

impl Guarded {
    /// Returns whether a caller asks for an option: 700 of a thousand do if the lock favours it,
    /// and otherwise `usual` of a thousand.
    fn wants(&self, world: &World, facet: Facet, usual: u64) -> bool {
        let is_fashion = self.fashion & facet.bit() > 0;
        world.chance(if is_fashion { 700 } else { usual })
    }
}

/// Fills a world. Returns its locks.
pub(crate) fn set_up(world: &Arc<World>) -> Vec<LockKey> {
    let locks: Vec<_> = (0..world.number(1..=2))
        .map(|number| guarded(world, number))
        .collect();
    let crowded = if world.chance(100) { 1000 } else { 200 };
    for number in 0..world.number(8..=26) {
        let guarded = &locks[usize::try_from(number).unwrap_or(0) % locks.len()];
        // Some come as a crowd at one time, some alone.
        let crowd = world.chance(crowded);
        let at = if crowd {
            60_000
        } else {
            world.number(0..=TROUBLE)
        };
        let order = execution(world, guarded, number);
        if order.input["runKey"].is_string() && world.chance(200) {
            start_twice(world, at, &order);
        }
        come(world, at, order);
    }
    for number in 0..world.number(0..=4) {
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
    let mut witness = locked(&world.witness);
    witness.expected = expected.collect();
    witness.same_tick = world.tries(Trial::SameTick);
    drop(witness);
    let locks: Vec<_> = locks.into_iter().map(|guarded| guarded.lock).collect();
    world.spawn(witness::watch(Arc::clone(world), locks.clone()));
    for lock in &locks {
        world.spawn(operator::operate(Arc::clone(world), lock.clone()));
    }
    locks
}

fn guarded(world: &World, number: u64) -> Guarded {
    let permits = world.pick(&[1, 1, 1, 2, 3]);
    let fashion = Facet::ALL.iter().filter(|_| world.chance(400));
    let fashion = fashion.fold(0, |all, facet| all | facet.bit());
    Guarded {
        fashion,
        siblings: world.pick(&[1, 1, 4, 12]),
        lock: LockKey::new(format!("lock-{number}")).expect("a valid lock"),
        permits,
        min_interval: world.chance(300).then(|| world.number(2..=40)),
        expect_every: world.chance(400).then(|| world.number(60..=600)),
    }
}

/// Delivers a start once more, under another name.
fn start_twice(world: &Arc<World>, at: u64, order: &Order) {
    let twin = order.named("again");
    let behind = if world.chance(500) { 50 } else { 60_000 };
    let (later, first, wait) = (
        Arc::clone(world),
        holder_of(&order.arn),
        world.number(0..=behind),
    );
    world.spawn(async move {
        later.sleep(at + wait).await;
        later.count("starts delivered twice");
        workflow::start(&later, &twin);
        later.happens_to(Event::StartedTwice, &holder_of(&twin.arn));
        later.happens_to(Event::StartedTwice, &first);
    });
}

/// Starts an execution at its time. It may be ended from outside, and then be redriven or retried
/// by its caller.
fn come(world: &Arc<World>, at: u64, order: Order) {
    let later = Arc::clone(world);
    let crash = world.chance(250).then(|| world.number(500..=120_000));
    let redrive = crash.is_some() && world.chance(400);
    let retries = is_nested(&order) && world.chance(700);
    world.spawn(async move {
        later.sleep(at).await;
        let arn = order.arn.clone();
        workflow::start(&later, &order);
        let Some(after) = crash else { return };
        later.sleep(after).await;
        let how = later.pick(&[ExecutionEnd::Aborted, ExecutionEnd::TimedOut]);
        later.count("executions ended from outside");
        let failed = cloud::abort(&later, &arn, how);
        if failed && retries && later.tries(Trial::Retries) {
            // Its caller retries a state that has timed out.
            locked(&later.audit).to_come += 1;
            // What ended the attempt may keep its descriptions away for some time.
            if later.tries(Trial::Unanswered) && later.fault(200) {
                later.fail_descriptions();
            }
            let most = later.pick(&[1000, 20_000]);
            later.linger(200..=most).await;
            later.count("retries of a caller");
            workflow::start(&later, &order.named("retry"));
            locked(&later.audit).to_come -= 1;
        } else if redrive {
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

/// Returns whether the execution names another one that started it.
fn is_nested(order: &Order) -> bool {
    facets(&order.input, Facet::Task) & Facet::Parent.bit() > 0
}
