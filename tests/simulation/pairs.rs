//! Counts which options meet which events, because a fault of a combination shows only where the
//! combination occurs.
//!
//! A pair is two options of one run, or two values of one option that two runs at one lock have. A
//! pair meets an event that happens while its runs are in play: to one of them, to their lock, or
//! to all. [`table`] says in how many worlds each pair has to meet each event.

mod facet;
mod table;

pub(crate) use facet::{Event, Facet, facets, impossible};
pub(crate) use table::{Met, Worlds, check, write};

use crate::engine::locked;
use crate::world::World;
use lockstep::domain::{HolderId, LockKey};
use std::collections::BTreeMap;

/// How long after its end a run still meets events, in milliseconds: its work stops, and its permit
/// is freed.
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
    /// The options of the run, as a set of bits.
    facets: u32,
    until: u64,
}

impl World {
    /// Notes that a run begins, or goes on after a redrive.
    pub(crate) fn plays(&self, holder: &HolderId, lock: &LockKey, facets: u32) {
        let until = u64::MAX;
        let run = Run {
            lock: lock.clone(),
            facets,
            until,
        };
        locked(&self.pairs).runs.insert(holder.clone(), run);
    }

    /// Notes that a run is redriven.
    pub(crate) fn plays_on(&self, holder: &HolderId) {
        if let Some(run) = locked(&self.pairs).runs.get_mut(holder) {
            run.until = u64::MAX;
        }
    }

    /// Notes that a run has ended.
    pub(crate) fn played(&self, holder: &HolderId) {
        let until = self.now() + AFTER;
        if let Some(run) = locked(&self.pairs).runs.get_mut(holder) {
            run.until = until;
        }
    }

    /// Notes an event that happens to a lock, or to all locks.
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

    /// Notes an event that happens to one run.
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
