//! Where lock records live.
//!
//! One trait, two stores: [`memory`] is the reference, [`dynamodb`] the real one. Both pass the
//! same [`conformance`] suite.

use crate::domain::{
    Change, FencingToken, LockKey, LockRecord, Run, RunId, Timestamp, Waiter, WaiterId,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

#[cfg(feature = "test-util")]
pub mod conformance;
#[cfg(feature = "aws")]
pub mod dynamodb;
#[cfg(feature = "test-util")]
pub mod memory;

/// A table of locks.
pub trait LockStore: Send + Sync {
    /// Does `change` to `lock`, whole or not at all.
    ///
    /// - `Ok(Committed)`: it is written, durably, and every later read sees it.
    /// - `Ok(Conflict)`: a guard did not hold; nothing is written.
    /// - `Ok(Busy)`: another write was under way; nothing is written.
    /// - `Err`: it **may or may not** be written. The protocol is made so that asking again finds
    ///   out.
    fn commit(
        &self,
        lock: &LockKey,
        change: &Change,
    ) -> impl Future<Output = Result<Commit, StoreError>> + Send;

    /// The record of `lock` as of the latest commit (a strongly consistent read).
    fn load(
        &self,
        lock: &LockKey,
    ) -> impl Future<Output = Result<Option<LockRecord>, StoreError>> + Send;

    /// One run of `lock` as of the latest commit (a strongly consistent read).
    fn load_run(
        &self,
        lock: &LockKey,
        run: &RunId,
    ) -> impl Future<Output = Result<Option<Run>, StoreError>> + Send;

    /// The runs of `lock` by their grants, newest first: those before `after`, or from the newest
    /// on, at most `most` of them and at least one (strongly consistent).
    ///
    /// Runs under way are not among them unless a task of theirs was noted: the record has those.
    /// An entry that cannot be read is passed over and logged. Tokens count as newer by their
    /// decimal text, which is the order of grants from 2001 to 2286.
    fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> impl Future<Output = Result<HistoryPage, StoreError>> + Send;

    /// Writes the side item of a waiter, unless a newer one of that waiter is there.
    ///
    /// It goes before the place in the queue: whoever finds the place must find the item.
    fn register(
        &self,
        lock: &LockKey,
        waiter: &Waiter,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The side item of a waiter as of the latest commit (a strongly consistent read).
    fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> impl Future<Output = Result<Option<Waiter>, StoreError>> + Send;

    /// The locks of one shard that the sweep has to look at by `until`, the longest due first, one
    /// page from behind `after`. Not strongly consistent: what it misses comes up next time.
    fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> impl Future<Output = Result<DuePage, StoreError>> + Send;
}

/// One page of a lock's history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryPage {
    /// The runs, newest first.
    pub runs: Vec<Run>,
    /// Behind which token the next page goes on; none after the last.
    pub next: Option<FencingToken>,
}

/// How many shards the sweep's index has. One key of an index takes 1000 writes a second
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>):
/// eight let as many thousand runs begin and end.
pub const SHARDS: u8 = 8;

/// Most locks on one page of the sweep's index.
pub const DUE_PAGE: usize = 50;

/// The shard of a lock in the sweep's index.
#[must_use]
pub fn shard(lock: &LockKey) -> u8 {
    Sha256::digest(lock.as_str())[0] % SHARDS
}

/// A lock that the sweep has to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueLock {
    /// Since when.
    pub due: Timestamp,
    /// Which.
    pub lock: LockKey,
}

/// One page of the sweep's index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuePage {
    /// The locks.
    pub locks: Vec<DueLock>,
    /// Where the next page goes on; none after the last.
    pub next: Option<DueLock>,
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// It is written. The record after it, where the change asked for it.
    Committed(Option<LockRecord>),
    /// A guard did not hold. The items whose guards failed come with the answer, without a read; of
    /// a waiter that changed, nothing comes.
    Conflict(Found),
    /// Another write was under way.
    Busy,
}

/// What failed guards return. Of an item whose guard held nothing is known: it may well be there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Found {
    /// The record, where its guard failed; `Some(None)` where there is none.
    pub record: Option<Option<LockRecord>>,
    /// The runs whose guards failed; `None` for one that does not exist.
    pub runs: BTreeMap<RunId, Option<Run>>,
}

/// What can go wrong below the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum StoreError {
    /// The table asks for fewer requests.
    #[error("the lock table throttles: {0}")]
    Throttled(String),
    /// The table gave no clear answer: the write may or may not have happened.
    #[error("the lock table gave no answer: {0}")]
    Unavailable(String),
    /// The caller may not use the table, or it is not there.
    #[error("the lock table refuses access: {0}")]
    Denied(String),
    /// The item would be larger than DynamoDB takes; nothing was written. The same request fails
    /// again.
    #[error(
        "the lock's item would be over 400 KB, the most that DynamoDB takes ({0}); shorten holders, \
         run keys, progress and cluster names, or lower the lock's permits"
    )]
    TooLarge(String),
    /// An item is not one of ours, or of a newer version. It is never overwritten.
    #[error("item {item} cannot be read: attribute {attribute} {problem}")]
    Corrupt {
        /// Partition and sort key.
        item: String,
        /// Which attribute.
        attribute: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl<S: LockStore> LockStore for &S {
    fn commit(
        &self,
        lock: &LockKey,
        change: &Change,
    ) -> impl Future<Output = Result<Commit, StoreError>> + Send {
        (**self).commit(lock, change)
    }

    fn load(
        &self,
        lock: &LockKey,
    ) -> impl Future<Output = Result<Option<LockRecord>, StoreError>> + Send {
        (**self).load(lock)
    }

    fn load_run(
        &self,
        lock: &LockKey,
        run: &RunId,
    ) -> impl Future<Output = Result<Option<Run>, StoreError>> + Send {
        (**self).load_run(lock, run)
    }

    fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> impl Future<Output = Result<HistoryPage, StoreError>> + Send {
        (**self).history(lock, after, most)
    }

    fn register(
        &self,
        lock: &LockKey,
        waiter: &Waiter,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        (**self).register(lock, waiter)
    }

    fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> impl Future<Output = Result<Option<Waiter>, StoreError>> + Send {
        (**self).load_waiter(lock, waiter)
    }

    fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> impl Future<Output = Result<DuePage, StoreError>> + Send {
        (**self).due(shard, until, after)
    }
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
