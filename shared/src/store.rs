//! Where lock records live.
//!
//! One trait, two stores: [`memory`] is the reference, [`dynamodb`] the real one. Both pass the
//! same [`conformance`] suite.

use crate::domain::{Change, LockKey, LockRecord, Run, RunId};

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
}

/// What came of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    /// It is written. The record after it, where the change asked for it.
    Committed(Option<LockRecord>),
    /// A guard did not hold. What was found comes with the answer; no read was needed.
    Conflict(Found),
    /// Another write was under way.
    Busy,
}

/// What a failed guard tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The record, where its guard failed; `Some(None)` where there is none.
    pub record: Option<Option<LockRecord>>,
    /// The command's run, where its guard failed and it exists.
    pub run: Option<Run>,
}

/// What can go wrong below the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
}
