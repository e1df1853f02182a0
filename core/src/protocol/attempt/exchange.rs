//! The requests of an attempt to the table, and the replies.

use super::super::{Done, ProtocolError};
use super::Attempt;
use crate::domain::{Change, LockRecord, Mode, Run, RunId, Waiter, WaiterId};
use crate::store::Commit;

/// A request to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Writes the side item of a waiter, unless a newer one exists.
    Register(&'a Waiter),
    /// Writes a change atomically.
    Commit(&'a Change),
    /// Reads the record.
    Load,
    /// Reads a run.
    LoadRun(&'a RunId),
    /// Reads the side item of a waiter.
    LoadWaiter(&'a WaiterId),
    /// Waits before a retry. The caller chooses the time and bounds the number of retries.
    BackOff,
}

/// The reply of the table to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The side item was written, or a newer one exists.
    Registered,
    /// The result of the change.
    Commit(Commit),
    /// The record, if the lock has one.
    Record(Option<LockRecord>),
    /// The lock has no record. Contains the mode that closes new locks, if all locks are paused.
    NoRecord(Option<Mode>),
    /// The run, if there is one.
    Run(Option<Run>),
    /// The side item, if there is one.
    Waiter(Option<Waiter>),
    /// The backoff is over.
    BackedOff,
}

/// The next step after a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptStep {
    /// The attempt continues with another request.
    Ask(Attempt),
    /// The attempt has ended with this result.
    Over(Box<Result<Done, ProtocolError>>),
}

#[cfg(feature = "memory")]
impl Request<'_> {
    /// Executes the request on the items of a lock in memory, and returns the reply.
    pub fn to(self, items: &mut crate::store::memory::LockItems) -> Reply {
        match self {
            Self::Register(waiter) => {
                items.register(waiter);
                Reply::Registered
            }
            Self::Commit(change) => Reply::Commit(items.commit(change)),
            Self::Load => Reply::Record(items.record.clone()),
            Self::LoadRun(id) => Reply::Run(items.runs.get(id).cloned()),
            Self::LoadWaiter(id) => Reply::Waiter(items.waiters.get(id).cloned()),
            Self::BackOff => Reply::BackedOff,
        }
    }
}

impl AttemptStep {
    pub(super) fn over(result: Result<Done, ProtocolError>) -> Self {
        Self::Over(Box::new(result))
    }
}
