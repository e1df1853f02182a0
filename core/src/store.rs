//! The store of locks.
//!
//! One trait, two stores: `memory` is the reference, and the DynamoDB store of `lockstep-aws` the real one. Both
//! pass the same `conformance` suite. The features `memory` and `test-util` have them.

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
    /// Writes `change` to `lock`, whole or not at all.
    ///
    /// - `Ok(Committed)`: it is written, durably, and every later read sees it.
    /// - `Ok(Conflict)`: a guard did not hold; nothing is written.
    /// - `Ok(Busy)`: another write was under way; nothing is written.
    /// - `Err`: it **may or may not** be written. Executing the command again is safe, and returns
    ///   its outcome.
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

    /// Returns what closes a lock that has no record yet, as of the latest commit (a strongly consistent
    /// read); `None` if nothing does. A caller that may not read it gets `None`.
    fn new_locks(&self) -> impl Future<Output = Result<Option<Mode>, StoreError>> + Send;

    /// Returns one run of `lock` as of the latest commit (a strongly consistent read).
    fn load_run(
        &self,
        lock: &LockKey,
        run: &RunId,
    ) -> impl Future<Output = Result<Option<Run>, StoreError>> + Send;

    /// Returns the runs of `lock` by their grants, newest first: those before `after`, or from the
    /// newest on. A page has at most `most` runs, where 0 counts as 1 (strongly consistent).
    ///
    /// Runs under way are not among them unless a task of theirs was noted: the record has those.
    /// An entry that cannot be read is skipped and logged. Tokens are ordered by their decimal
    /// text, which is the order of grants from 2001 to 2286.
    fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> impl Future<Output = Result<HistoryPage, StoreError>> + Send;

    /// Writes the side item of a waiter, unless a newer one of that waiter exists.
    ///
    /// It is written before the place in the queue: a reader of the place must find the item.
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

    /// Returns the locks of one shard that are due for the sweep by `until`, the longest due first: one
    /// page, from behind `after`. An entry that cannot be read is counted and skipped. Not strongly
    /// consistent: the next sweep finds what this one misses.
    fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> impl Future<Output = Result<DuePage, StoreError>> + Send;
}

/// What an operator reads beside single locks.
#[auto_impl(&, Arc)]
pub trait LockIndex: LockStore {
    /// Returns the locks whose name begins with `prefix`, in the order of their names: up to `most` of
    /// them, 1 to [`LOCKS_PAGE`], from behind `after`.
    ///
    /// Not strongly consistent: a lock may be missing for a moment after its first write. A lock
    /// that was last written by a version without this index is missing until its next write.
    fn locks(
        &self,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> impl Future<Output = Result<LocksPage, StoreError>> + Send;

    /// Closes locks that have no record yet, or with `None` opens them. Returns what closed them before.
    fn close_new_locks(
        &self,
        mode: Option<&Mode>,
    ) -> impl Future<Output = Result<Option<Mode>, StoreError>> + Send;

    /// Returns the acts on `lock` within the retention, oldest first: pauses, resumptions, freezes and
    /// evictions of waiters (strongly consistent). An entry that cannot be read is skipped and
    /// logged.
    fn acts(&self, lock: &LockKey) -> impl Future<Output = Result<Vec<Act>, StoreError>> + Send;
}

/// Most locks on one page of [`LockIndex::locks`].
pub const LOCKS_PAGE: usize = 100;

/// One page of the index of all locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocksPage {
    /// The locks, by name.
    pub locks: Vec<LockKey>,
    /// Whether there are locks behind the last one.
    pub more: bool,
}

/// One page of a lock's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// The runs, newest first.
    pub runs: Vec<Run>,
    /// How many more runs of the page cannot be read.
    pub unreadable: usize,
    /// The token behind which the next page starts; `None` after the last page.
    pub next: Option<FencingToken>,
}

/// Number of shards of the sweep's index. One key of an index takes 1000 writes a second
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>):
/// eight take as many thousand starts and ends of runs.
pub const SHARDS: u8 = 8;

/// Most locks on one page of the sweep's index.
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
    /// Number of further entries, which cannot be read. They are logged.
    pub unreadable: usize,
    /// The lock behind which the next page starts; `None` after the last page.
    pub next: Option<DueLock>,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The change is written. Contains the record after it, if the change reads it back.
    Committed(Option<LockRecord>),
    /// A guard did not hold. Contains the items whose guards failed, which saves a read, except the
    /// side item of a waiter.
    Conflict(Found),
    /// Another write was under way.
    Busy,
}

/// The items that failed guards return. An item whose guard held is not among them, and may exist.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Found {
    /// The record, if its guard failed; `Some(None)` if there is none.
    pub record: Option<Option<LockRecord>>,
    /// The runs whose guards failed; `None` for one that does not exist.
    pub runs: BTreeMap<RunId, Option<Run>>,
    /// What closes a lock without a record; only where there is none, and the command would write one.
    pub new_lock: Option<Mode>,
}

/// An error of the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB throttles the request.
    #[error("the lock table throttles: {0}")]
    Throttled(String),
    /// The table gave no clear answer: the write may or may not have happened.
    #[error("the lock table gave no answer: {0}")]
    Unavailable(String),
    /// The caller may not use the table, or it does not exist.
    #[error("the lock table refuses access: {0}")]
    Denied(String),
    /// The item would be larger than DynamoDB allows; nothing was written. The same request fails
    /// again.
    #[error(
        "the lock's item would be over 400 KB, the most that DynamoDB takes ({0}); shorten holders, \
         run keys, progress and cluster names, or lower the lock's permits"
    )]
    TooLarge(String),
    /// An item is damaged, or of a newer version. It is never overwritten.
    #[error("item {item} cannot be read: attribute {attribute} {problem}")]
    Corrupt {
        /// Partition and sort key.
        item: String,
        /// The attribute.
        attribute: String,
        /// What is wrong with it.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of a deployed table has been written by it.
    #[test]
    fn the_shard_of_a_lock_never_changes() {
        for (lock, expected) in [("orders", 4), ("nightly-import", 6), ("a", 2), ("b", 6)] {
            let lock = LockKey::new(lock).expect("a valid key");

            assert_eq!(shard(&lock), expected, "{lock}");
        }
    }
}
