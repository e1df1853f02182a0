//! The items of a lock that an attempt knows, and those that it has to read before its command can be
//! decided.
//!
//! A conflict returns the items whose guards failed, so most decisions need no read. Other items are
//! read one at a time. The record decides which are needed: for example, only the record names the first
//! waiter, whose side item a hand-over needs.

use super::Reply;
use crate::domain::{Command, RunId, Snapshot, Waiter, WaiterId};
use crate::store::Found;

/// The items of the lock that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    /// The items that conflicts and reads have returned. A record of `Some(None)` and a run of `None` do
    /// not exist. A record of `None` and a run without an entry have not been read.
    pub(super) found: Found,
    /// The side item that was read last, with its waiter: the first waiter may change between two
    /// decisions.
    waiter: Option<(WaiterId, Option<Waiter>)>,
}

/// An item that has to be read before the command can be decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Missing {
    Record,
    Run(RunId),
    Waiter(WaiterId),
}

impl Seen {
    /// Starts from the items that a conflict returned. All items that were known before are dropped,
    /// because they belong to another version of the record.
    pub(super) fn of(found: Found) -> Self {
        Self {
            found,
            waiter: None,
        }
    }

    /// Returns the next item that `command` needs and that has not been read; `None` if the command can
    /// be decided.
    pub(super) fn missing(&self, command: &Command) -> Option<Missing> {
        let Some(record) = &self.found.record else {
            return Some(Missing::Record);
        };
        let run = command.run_to_read(record.as_ref());
        let run = run.filter(|id| !self.found.runs.contains_key(id));
        let waiter = command.waiter_to_read(record.as_ref());
        let known = self.waiter.as_ref().map(|(id, _)| id);
        let waiter = waiter.filter(|id| known != Some(id));
        run.map(Missing::Run).or(waiter.map(Missing::Waiter))
    }

    /// Stores the item in the reply to a read. Returns whether the reply fits `missing`.
    pub(super) fn learn(&mut self, missing: &Missing, reply: Reply) -> bool {
        match (missing, reply) {
            (Missing::Record, Reply::Record(record)) => self.found.record = Some(record),
            (Missing::Record, Reply::NoRecord(new_lock)) => {
                self.found.record = Some(None);
                self.found.new_lock = new_lock;
            }
            (Missing::Run(id), Reply::Run(run)) => {
                self.found.runs.insert(id.clone(), run);
            }
            (Missing::Waiter(id), Reply::Waiter(waiter)) => {
                self.waiter = Some((id.clone(), waiter));
            }
            _ => return false,
        }
        true
    }

    /// Returns the known items as the input of a decision.
    pub(super) fn snapshot(self) -> Snapshot {
        let runs = self.found.runs.into_iter();
        Snapshot {
            record: self.found.record.flatten(),
            new_lock: self.found.new_lock,
            runs: runs.filter_map(|(id, run)| Some((id, run?))).collect(),
            waiter: self.waiter,
        }
    }
}
