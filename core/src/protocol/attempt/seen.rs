//! What is known of a lock, and what has to be read before a command can be decided.
//!
//! A conflict returns what its guard was about, so most decisions need nothing more. What is left
//! is read one item at a time, and which items follows from the record: only it names the first
//! waiter, whose side item a hand-over takes.

use super::Reply;
use crate::domain::{Command, RunId, Snapshot, Waiter, WaiterId};
use crate::store::Found;

/// What is known of the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    /// What conflicts and reads have returned. A record or run that is `None` here is known not to
    /// exist; one that is absent has not been read.
    pub(super) found: Found,
    /// The side item that was read last. The first waiter may change between two decisions.
    waiter: Option<(WaiterId, Option<Waiter>)>,
}

/// What has to be read before the command can be decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Missing {
    Record,
    Run(RunId),
    Waiter(WaiterId),
}

impl Seen {
    /// What a conflict returned replaces all that was known before: reads of another version do not
    /// fit to it.
    pub(super) fn of(found: Found) -> Self {
        Self {
            found,
            waiter: None,
        }
    }

    /// Returns what `command` needs and has not been read.
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

    /// Takes the reply to a read. Returns whether it is the reply for `missing`.
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

    /// Returns the input of a decision, once nothing is missing.
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
