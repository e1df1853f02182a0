//! What an attempt asks of the table, what the table replies, and what follows.

use super::super::{Done, ProtocolError};
use super::Attempt;
use crate::domain::{Change, LockRecord, Run, RunId, Waiter, WaiterId};
use crate::store::Commit;

/// What the table is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Write the side item of a waiter, unless a newer one is there.
    Register(&'a Waiter),
    /// Do a change, whole or not at all.
    Commit(&'a Change),
    /// Read the record.
    Load,
    /// Read a run.
    LoadRun(&'a RunId),
    /// Read the side item of a waiter.
    LoadWaiter(&'a WaiterId),
    /// Nothing: back off before a retry. How long, and how often, is for the caller to bound.
    BackOff,
}

/// What the table replies to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The side item is there.
    Registered,
    /// What came of the change.
    Commit(Commit),
    /// The record, if the lock has one.
    Record(Option<LockRecord>),
    /// The run, if there is one.
    Run(Option<Run>),
    /// The side item, if there is one.
    Waiter(Option<Waiter>),
    /// The time to back off is over.
    BackedOff,
}

/// What follows a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another request.
    Ask(Attempt),
    /// The end of the attempt.
    Over(Box<Result<Done, ProtocolError>>),
}

#[cfg(feature = "test-util")]
impl Request<'_> {
    /// What a table with these items of the lock replies.
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

impl Next {
    pub(super) fn over(result: Result<Done, ProtocolError>) -> Self {
        Self::Over(Box::new(result))
    }
}
