//! What the auditor knows of each lock, which is more than the table contains.

use crate::functions::Function;
use lockstep::domain::{FencingToken, HolderId, Lease, LockKey, RunKey, RunOutcome, WaiterId};
use std::collections::{BTreeMap, BTreeSet};

/// The auditor's books.
#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) books: BTreeMap<LockKey, Book>,
    /// The grants that their holders have asked to release.
    pub(crate) releases: BTreeSet<(HolderId, FencingToken)>,
    /// Run keys that an operator has freed.
    pub(crate) forgotten: BTreeSet<(LockKey, RunKey)>,
    /// When an operator ordered the end of the rest of each lock.
    pub(crate) cleared_rests: BTreeMap<LockKey, u64>,
    /// Holders that an operator has evicted by force.
    pub(crate) evictions: BTreeSet<HolderId>,
    /// Waiters that may go first in the queue.
    pub(crate) replacers: BTreeSet<WaiterId>,
    /// Waiters that have registered with a task token.
    pub(crate) waiters: BTreeSet<String>,
    /// Holders whose registration was late, was run twice or was cut off.
    pub(crate) late_registrations: BTreeSet<HolderId>,
    /// How many processes are alive.
    pub(crate) processes: u32,
    /// How many executions their callers are about to start again.
    pub(crate) to_come: u32,
}

impl Audit {
    /// Returns whether an operator ordered the end of the rest of `lock` less than two time-outs of
    /// operate before `now`.
    pub(crate) fn rest_is_cleared(&self, lock: &LockKey, now: u64) -> bool {
        let at = self.cleared_rests.get(lock);
        at.is_some_and(|at| now < at + 2 * Function::Operate.timeout())
    }

    /// Returns whether an operator has made this run key of a lock free again.
    pub(crate) fn has_forgotten(&self, (lock, key): &(LockKey, String)) -> bool {
        let key = RunKey::new(key.as_str());
        key.is_ok_and(|key| self.forgotten.contains(&(lock.clone(), key)))
    }
}

/// What the auditor knows of one lock.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) grants: BTreeMap<FencingToken, GrantEntry>,
    /// The queue in the order of arrival.
    pub(crate) line: Vec<WaiterId>,
    /// The grant under which each run key succeeded.
    pub(crate) successes: BTreeMap<RunKey, FencingToken>,
    /// The largest token that the guarded resource has seen.
    pub(crate) highest: Option<FencingToken>,
}

/// One grant.
pub(crate) struct GrantEntry {
    pub(crate) holder: HolderId,
    pub(crate) lease: Lease,
    /// When and how the grant ended.
    pub(crate) over: Option<(u64, RunOutcome)>,
}
