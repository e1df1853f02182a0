//! Which options meet which events: a fault of a combination can show only where the combination occurs.
//!
//! A pair is two options of one run, or two values of one option, which two runs at one lock have. It meets an
//! event that happens while the runs are in play: to one of them, to their lock, or to everybody. [`table`] says in
//! how many worlds.

mod facet;
mod table;

pub(crate) use facet::{Event, Facet, facets, impossible};
pub(crate) use table::{Met, Worlds, check, write};

use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{HolderId, LockKey};
use std::collections::BTreeMap;

/// How long after its end what happens may still meet a run, in milliseconds: its work stops, its permit is freed.
const AFTER: u64 = 120_000;

/// The pairs of one world.
#[derive(Default)]
pub(crate) struct Pairs {
    runs: BTreeMap<HolderId, Run>,
    pub(crate) met: Met,
}

/// A run in play.
struct Run {
    lock: LockKey,
    /// Its options, as a set of bits.
    facets: u32,
    until: u64,
}

impl World {
    /// A run begins, or goes on after a redrive.
    pub(crate) fn plays(&self, holder: &HolderId, lock: &LockKey, facets: u32) {
        let until = u64::MAX;
        let run = Run {
            lock: lock.clone(),
            facets,
            until,
        };
        locked(&self.pairs).runs.insert(holder.clone(), run);
    }

    /// A run is redriven.
    pub(crate) fn plays_on(&self, holder: &HolderId) {
        if let Some(run) = locked(&self.pairs).runs.get_mut(holder) {
            run.until = u64::MAX;
        }
    }

    /// A run has ended.
    pub(crate) fn played(&self, holder: &HolderId) {
        let until = self.now() + AFTER;
        if let Some(run) = locked(&self.pairs).runs.get_mut(holder) {
            run.until = until;
        }
    }

    /// Something happens to a lock, or to all.
    pub(crate) fn happens(&self, event: Event, lock: Option<&LockKey>) {
        let now = self.now();
        let Pairs { runs, met } = &mut *locked(&self.pairs);
        let mut by_lock = BTreeMap::<&LockKey, Vec<u32>>::new();
        let there = runs.values().filter(|run| now < run.until);
        for run in there.filter(|run| lock.is_none_or(|lock| *lock == run.lock)) {
            by_lock.entry(&run.lock).or_default().push(run.facets);
        }
        for runs in by_lock.into_values() {
            let all = runs.iter().fold(0, |all, facets| all | facets);
            runs.into_iter().for_each(|own| met.add(event, own, all));
        }
    }

    /// Something happens to one run.
    pub(crate) fn happens_to(&self, event: Event, holder: &HolderId) {
        let now = self.now();
        let Pairs { runs, met } = &mut *locked(&self.pairs);
        let Some(own) = runs.get(holder) else { return };
        let beside = runs
            .values()
            .filter(|run| run.lock == own.lock && now < run.until);
        let all = beside.fold(own.facets, |all, run| all | run.facets);
        met.add(event, own.facets, all);
    }
}
