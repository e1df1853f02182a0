//! A random lock, and a command that meets it.

use lockstep::domain::{Command, Snapshot, Timestamp, decide};
use lockstep::store::memory::LockItems;
use lockstep_tests::generate::{at, command, items};
use proptest::prelude::Strategy;

/// A lock with all its items, and a command that meets it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) items: LockItems,
    pub(crate) command: Command,
    pub(crate) now: Timestamp,
}

impl Case {
    /// All that the protocol could know when it decides.
    pub(crate) fn seen(&self) -> Snapshot {
        let record = self.items.record.clone();
        let waiter = self.command.waiter_to_read(record.as_ref());
        Snapshot {
            runs: self.items.runs.clone(),
            waiter: waiter.map(|id| (id.clone(), self.items.waiters.get(&id).cloned())),
            record,
        }
    }

    /// Carries out another command at the same time.
    pub(crate) fn write(&mut self, command: &Command) {
        let other = Self {
            command: command.clone(),
            ..self.clone()
        };
        let decided = decide(&other.seen(), command, self.now);
        let change = decided
            .ok()
            .and_then(|d| d.change(self.items.record.as_ref()));
        if let Some(change) = change {
            self.items.commit(&change);
        }
        if let Command::Acquire(acquire) = command {
            let waiter = acquire.waiter(self.now);
            self.items.waiters.entry(waiter.id()).or_insert(waiter);
        }
    }
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let now = (0..125_000_u64).prop_map(at);
    (items(), now).prop_flat_map(|(items, now)| {
        command(items.record.clone()).prop_map(move |command| Case {
            items: items.clone(),
            command,
            now,
        })
    })
}
