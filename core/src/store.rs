//! The trait that a table of locks implements.
//!
//! The trait has two implementations: `memory` is the reference, and the DynamoDB store is in
//! `lockstep-aws`. Both pass the `conformance` suite. The feature `memory` adds the first, and
//! `test-util` adds the suite.

use crate::domain::{
    Act, Change, FencingToken, LockKey, LockRecord, Mode, Run, RunId, Timestamp, Waiter, WaiterId,
};
use auto_impl::auto_impl;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

#[cfg(feature = "test-util")]
pub mod conformance;
#[cfg(feature = "memory")]
pub mod memory;

/// A table of locks.
#[auto_impl(&, Arc)]
pub trait LockStore: Send + Sync {
    /// Writes `change` to the items of `lock` atomically.
    ///
    /// - `Ok(Committed)`: the change is durable, and every later strongly consistent read sees it.
    /// - `Ok(Conflict)`: a guard did not hold. Nothing is written.
    /// - `Ok(Busy)`: another write to the same item was under way. Nothing is written.
    /// - `Err`: the change **may or may not** be written. Executing the command again is safe, and
    ///   returns its outcome.
    fn commit(
        &self,
        lock: &LockKey,
        change: &Change,
    ) -> impl Future<Output = Result<Commit, StoreError>> + Send;

    /// Returns the record of `lock` as of the latest commit (a strongly consistent read).
    fn load(
        &self,
        lock: &LockKey,
    ) -> impl Future<Output = Result<Option<LockRecord>, StoreError>> + Send;

    /// Returns the mode that closes locks without a record, if all locks are paused; `None` otherwise.
    /// The read is strongly consistent. Returns `None` too if the caller has no permission to read that
    /// item.
    fn new_locks(&self) -> impl Future<Output = Result<Option<Mode>, StoreError>> + Send;

    /// Returns one run of `lock` as of the latest commit (a strongly consistent read).
    fn load_run(
        &self,
        lock: &LockKey,
        run: &RunId,
    ) -> impl Future<Output = Result<Option<Run>, StoreError>> + Send;

    /// Returns one page of the history of `lock`, newest grant first: the runs with smaller tokens than
    /// `after`, or from the newest on. A page has at most `most` runs; 0 counts as 1. The read is
    /// strongly consistent.
    ///
    /// A run under way has no entry, unless one of its tasks was recorded: its state is in the record.
    /// An entry that cannot be read is skipped, counted and logged. Tokens are ordered by their decimal
    /// text, which is the order of grants for times from 2001 to 2286.
    fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> impl Future<Output = Result<HistoryPage, StoreError>> + Send;

    /// Writes the side item of a waiter, unless a newer one of that waiter exists.
    ///
    /// The side item is written before the place in the queue, so that whoever reads the place finds the
    /// item.
    fn register(
        &self,
        lock: &LockKey,
        waiter: &Waiter,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the side item of a waiter as of the latest commit (a strongly consistent read).
    fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> impl Future<Output = Result<Option<Waiter>, StoreError>> + Send;

    /// Returns one page of the locks of a shard that are due for the sweep by `until`, earliest first,
    /// after the lock `after`. An entry that cannot be read is counted and skipped. The read is
    /// eventually consistent: the next sweep finds a lock that this one misses.
    fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> impl Future<Output = Result<DuePage, StoreError>> + Send;
}

/// The reads and writes of operators that concern more than the record of one lock.
#[auto_impl(&, Arc)]
pub trait LockIndex: LockStore {
    /// Returns one page of the locks whose name begins with `prefix`, in the order of their names, after
    /// the lock `after`. A page has at most `most` locks, which is 1 to [`LOCKS_PAGE`].
    ///
    /// The read is eventually consistent: a lock may be missing for a moment after its first write. A
    /// lock that was last written by a version without this index is missing until its next write.
    fn locks(
        &self,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> impl Future<Output = Result<LocksPage, StoreError>> + Send;

    /// Sets the mode that closes locks without a record; `None` opens them. Returns the mode before.
    fn close_new_locks(
        &self,
        mode: Option<&Mode>,
    ) -> impl Future<Output = Result<Option<Mode>, StoreError>> + Send;

    /// Returns the acts on `lock` within the retention, oldest first, such as pauses, resumptions,
    /// freezes and evictions of waiters. The read is strongly consistent. An entry that cannot be read
    /// is skipped and logged.
    fn acts(&self, lock: &LockKey) -> impl Future<Output = Result<Vec<Act>, StoreError>> + Send;
}

/// Maximum number of locks on one page of [`LockIndex::locks`].
pub const LOCKS_PAGE: usize = 100;

/// One page of the index of all locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocksPage {
    /// The locks, in the order of their names.
    pub locks: Vec<LockKey>,
    /// Whether more locks follow the last one.
    pub more: bool,
}

/// One page of a lock's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// The runs, newest first.
    pub runs: Vec<Run>,
    /// Number of further entries on the page, which cannot be read.
    pub unreadable: usize,
    /// The token of the last entry on the page, after which the next page starts; `None` on the last
    /// page.
    pub next: Option<FencingToken>,
}

/// Number of shards of the sweep's index. One partition key of an index takes 1,000 writes a second
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>), so
/// 8 shards take 8,000 starts and ends of runs a second.
pub const SHARDS: u8 = 8;

/// Maximum number of locks on one page of the sweep's index.
pub const DUE_PAGE: usize = 50;

/// Returns the shard of a lock in the sweep's index.
#[must_use]
pub fn shard(lock: &LockKey) -> u8 {
    Sha256::digest(lock.as_str())[0] % SHARDS
}

/// A lock that is due for the sweep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueLock {
    /// When it became due.
    pub due: Timestamp,
    /// The lock.
    pub lock: LockKey,
}

/// One page of the sweep's index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuePage {
    /// The locks.
    pub locks: Vec<DueLock>,
    /// Number of further entries on the page, which cannot be read and are logged.
    pub unreadable: usize,
    /// The lock after which the next page starts; `None` on the last page.
    pub next: Option<DueLock>,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The change is written. Contains the record after it, if the change reads it back.
    Committed(Option<LockRecord>),
    /// A guard did not hold, and nothing is written. Contains the items whose guards failed, which saves
    /// a read. Does not contain the side item of a waiter.
    Conflict(Found),
    /// Another write to the same item was under way, and nothing is written.
    Busy,
}

/// The items that failed guards return. An item whose guard held is not among them, whether it exists or
/// not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Found {
    /// The record, if its guard failed; `Some(None)` if the lock has no record.
    pub record: Option<Option<LockRecord>>,
    /// The runs whose guards failed; `None` for a run that does not exist.
    pub runs: BTreeMap<RunId, Option<Run>>,
    /// The mode that closes locks without a record. Set only if this lock has no record and the command
    /// is an acquire.
    pub new_lock: Option<Mode>,
}

/// An error of the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB throttled the request.
    #[error("the lock table throttles: {0}")]
    Throttled(String),
    /// DynamoDB gave no answer: the write may or may not have happened.
    #[error("the lock table gave no answer: {0}")]
    Unavailable(String),
    /// The caller has no permission for the table, or the table does not exist.
    #[error("the lock table refuses access: {0}")]
    Denied(String),
    /// The item would be larger than the 400 KB that DynamoDB allows. Nothing was written, and the same
    /// request fails again.
    #[error(
        "the lock's item would be over 400 KB, the most that DynamoDB takes ({0}); shorten holders, \
         run keys, progress and cluster names, or lower the lock's permits"
    )]
    TooLarge(String),
    /// An item is damaged, or was written by a newer version. It is never overwritten.
    #[error("item {item} cannot be read: attribute {attribute} {problem}")]
    Corrupt {
        /// Partition key and sort key of the item.
        item: String,
        /// The attribute that cannot be read.
        attribute: String,
        /// What is wrong with the attribute.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of a deployed table contains the shard of each lock.
    #[test]
    fn the_shard_of_a_lock_never_changes() {
        for (lock, expected) in [("orders", 4), ("nightly-import", 6), ("a", 2), ("b", 6)] {
            let lock = LockKey::new(lock).expect("a valid key");

            assert_eq!(shard(&lock), expected, "{lock}");
        }
    }
}
