//! What the auditor knows of each lock: more than the table does.

use crate::functions::Function;
use lockstep::domain::{FencingToken, HolderId, Lease, LockKey, RunKey, RunOutcome, WaiterId};
use std::collections::{BTreeMap, BTreeSet};

/// The auditor's books.
#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) books: BTreeMap<LockKey, Book>,
    /// Who has asked to release which grant.
    pub(crate) releases: BTreeSet<(HolderId, FencingToken)>,
    /// Run keys that an operator wanted to run again.
    pub(crate) forgotten: BTreeSet<(LockKey, RunKey)>,
    /// When an operator ordered the end of the rest of each lock.
    pub(crate) cleared_rests: BTreeMap<LockKey, u64>,
    /// Whom an operator has evicted by force.
    pub(crate) evictions: BTreeSet<HolderId>,
    /// Who may go first in the queue.
    pub(crate) replacers: BTreeSet<WaiterId>,
    /// Who has registered with a task token.
    pub(crate) waiters: BTreeSet<String>,
    /// Whose registration was late, was run twice or was cut off.
    pub(crate) late_registrations: BTreeSet<HolderId>,
    /// How many processes are alive.
    pub(crate) processes: u32,
    /// Executions that their callers are about to start again.
    pub(crate) to_come: u32,
}

impl Audit {
    /// Whether the order of an operator to end the rest of `lock` may still be under way at `now`, or
    /// was a moment ago.
    pub(crate) fn rest_is_cleared(&self, lock: &LockKey, now: u64) -> bool {
        let at = self.cleared_rests.get(lock);
        at.is_some_and(|at| now < at + 2 * Function::Operate.timeout())
    }

    /// Whether an operator wanted the run key of a lock to run again.
    pub(crate) fn has_forgotten(&self, (lock, key): &(LockKey, String)) -> bool {
        let key = RunKey::new(key.as_str());
        key.is_ok_and(|key| self.forgotten.contains(&(lock.clone(), key)))
    }
}

/// What the auditor knows of one lock.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) grants: BTreeMap<FencingToken, GrantEntry>,
    /// The queue as the arrivals made it.
    pub(crate) line: Vec<WaiterId>,
    /// Which grant had the success of a run key.
    pub(crate) successes: BTreeMap<RunKey, FencingToken>,
    /// The largest token that the guarded resource has seen.
    pub(crate) highest: Option<FencingToken>,
}

/// One grant.
pub(crate) struct GrantEntry {
    pub(crate) holder: HolderId,
    pub(crate) lease: Lease,
    /// When and how it ended.
    pub(crate) over: Option<(u64, RunOutcome)>,
}
