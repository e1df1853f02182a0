//! The requests of an attempt, and the replies of the table.

use super::super::{Done, ProtocolError};
use super::Attempt;
use crate::domain::{Change, LockRecord, Mode, Run, RunId, Waiter, WaiterId};
use crate::store::Commit;

/// A request to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Writes the side item of a waiter, unless a newer one exists.
    Register(&'a Waiter),
    /// Writes a change, whole or not at all.
    Commit(&'a Change),
    /// Reads the record.
    Load,
    /// Reads a run.
    LoadRun(&'a RunId),
    /// Reads the side item of a waiter.
    LoadWaiter(&'a WaiterId),
    /// Backs off before a retry. The caller bounds the time and the number.
    BackOff,
}

/// The reply of the table to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The side item, or a newer one, exists.
    Registered,
    /// The result of the change.
    Commit(Commit),
    /// The record, if the lock has one.
    Record(Option<LockRecord>),
    /// The lock has no record, and what closes a new lock.
    NoRecord(Option<Mode>),
    /// The run, if there is one.
    Run(Option<Run>),
    /// The side item, if there is one.
    Waiter(Option<Waiter>),
    /// The backoff is over.
    BackedOff,
}

/// What follows a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptStep {
    /// Another request.
    Ask(Attempt),
    /// The end of the attempt.
    Over(Box<Result<Done, ProtocolError>>),
}

#[cfg(feature = "memory")]
impl Request<'_> {
    /// Returns the reply of a table that has these items of the lock.
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
