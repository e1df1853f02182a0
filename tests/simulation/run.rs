//! The life of one world, from its seed to its end.

use crate::audit;
use crate::engine::locked;
use crate::pairs::Met;
use crate::reaper::all_idle;
use crate::scenario::{TROUBLE, set_up};
use crate::world::{START, Tally, World};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How long a calm world may take to come to rest, in milliseconds.
///
/// A dead run whose events were lost is found after its lease, which may be an hour, and several
/// such runs may hold the lock one after the other. The witness limits how long a permit is free
/// while a run waits.
const CALM: u64 = 360 * 60_000;

/// Time between two checks of a world, in milliseconds.
const STEP: u64 = 60_000;

/// The result of a seed.
pub(crate) struct Report {
    pub(crate) seed: u64,
    pub(crate) tally: Tally,
    /// Which options have met which events.
    pub(crate) met: Met,
    pub(crate) trace: String,
    /// The promise that was broken, if one was.
    pub(crate) broken: Option<String>,
}

/// Plays the world of `seed`.
pub(crate) fn live_through(seed: u64) -> Report {
    let world = Arc::new(World::of_seed(seed, TROUBLE));
    let lived = catch_unwind(AssertUnwindSafe(|| live(&world)));
    let broken = match lived {
        Ok(()) => world.broken(),
        Err(panic) => Some(format!("a panic: {}", message(panic.as_ref()))),
    };
    let (tally, trace) = (world.tally(), world.trace());
    let met = std::mem::take(&mut locked(&world.pairs).met);
    world.end();
    Report {
        seed,
        tally,
        met,
        trace,
        broken,
    }
}

fn live(world: &Arc<World>) {
    let locks = set_up(world);
    world.run(world.calm_from);
    let mut idle = false;
    while !idle && world.now() < START + TROUBLE + CALM && world.broken().is_none() {
        world.run(world.now() + STEP);
        let audit = locked(&world.audit);
        let nobody_comes = audit.processes == 0 && audit.to_come == 0;
        drop(audit);
        idle = nobody_comes && all_idle(world, &locks);
    }
    world.note("world", format_args!("is at rest"));
    // What is still under way must not disturb the rest.
    world.run(world.now() + 5 * STEP);
    if world.broken().is_some() {
        return;
    }
    if !idle {
        world.break_promise("the world does not come to rest".into());
    }
    for lock in &locks {
        if let Err(what) = audit::finish(world, lock) {
            world.break_promise(format!("{lock}: {what}"));
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_default()
}
