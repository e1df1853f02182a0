//! What the auditor knows of each lock: more than the table does.

use lockstep::domain::{FencingToken, HolderId, Lease, LockKey, RunKey, RunOutcome, WaiterId};
use std::collections::{BTreeMap, BTreeSet};

/// The auditor's books.
#[derive(Default)]
pub(crate) struct Audit {
    pub(crate) books: BTreeMap<LockKey, Book>,
    /// Who has asked to release which grant.
    pub(crate) releases: BTreeSet<(HolderId, FencingToken)>,
    /// Whom an operator has sent away.
    pub(crate) evictions: BTreeSet<HolderId>,
    /// Who may go first in the queue.
    pub(crate) replacers: BTreeSet<WaiterId>,
    /// Who has registered with a task token.
    pub(crate) waiters: BTreeSet<String>,
    /// Whose registration was late, was run twice or was cut off.
    pub(crate) late_registrations: BTreeSet<HolderId>,
    /// How many processes are alive.
    pub(crate) processes: u32,
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
