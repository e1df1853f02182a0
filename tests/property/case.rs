//! A random lock, and a command that meets it.

use lockstep::domain::{Change, Command, LockRecord, Snapshot, Timestamp, Transition, decide};
use lockstep::store::memory::LockItems;
use lockstep_tests::generate::{at, command, items};
use lockstep_tests::seeds::check;
use proptest::prelude::Strategy;
use proptest::test_runner::TestCaseError;
use std::cell::Cell;

/// A lock with all its items, and a command that meets it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) items: LockItems,
    pub(crate) command: Command,
    pub(crate) now: Timestamp,
}

impl Case {
    /// Returns everything that the protocol can read before it decides: the record, all runs and the waiter
    /// that the command needs.
    pub(crate) fn seen(&self) -> Snapshot {
        let record = self.items.record.clone();
        let waiter = self.command.waiter_to_read(record.as_ref());
        Snapshot {
            runs: self.items.runs.clone(),
            waiter: waiter.map(|id| (id.clone(), self.items.waiters.get(&id).cloned())),
            record,
            new_lock: None,
        }
    }

    /// Returns the decision. Returns `None` if the command is refused.
    pub(crate) fn decided(&self) -> Option<Transition> {
        decide(&self.seen(), &self.command, self.now).ok()
    }

    /// Returns the decision and the change that it writes. Returns `None` if it writes nothing.
    pub(crate) fn change(&self) -> Option<(Transition, Change)> {
        let decided = self.decided()?;
        let change = decided.change(self.items.record.as_ref())?;
        Some((decided, change))
    }

    /// Decides another command at the same time, and writes its change and the side item of its waiter.
    pub(crate) fn write(&mut self, command: &Command) {
        let other = Self {
            command: command.clone(),
            ..self.clone()
        };
        if let Some((_, change)) = other.change() {
            self.items.commit(&change);
        }
        if let Command::Acquire(acquire) = command {
            let waiter = acquire.waiter(self.now);
            self.items.waiters.entry(waiter.id()).or_insert(waiter);
        }
    }
}

/// Checks `rule` on `cases` random values. `rule` returns how often it applied to the value. Panics if it
/// applied fewer than `fewest` times in all.
pub(crate) fn check_often<S: Strategy>(
    cases: u32,
    values: &S,
    fewest: u32,
    rule: impl Fn(S::Value) -> Result<u32, TestCaseError>,
) {
    let judged = Cell::new(0);
    check(cases, values, |value| {
        judged.set(judged.get() + rule(value)?);
        Ok(())
    });
    println!("{} judged", judged.get());
    assert!(judged.get() >= fewest, "too few judged: {}", judged.get());
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    cases_of(command)
}

/// Returns random locks, each with a command that `commands` makes for its record.
pub(crate) fn cases_of<S: Strategy<Value = Command>>(
    commands: impl Fn(Option<LockRecord>) -> S,
) -> impl Strategy<Value = Case> {
    let now = (0..125_000_u64).prop_map(at);
    (items(), now).prop_flat_map(move |(items, now)| {
        commands(items.record.clone()).prop_map(move |command| Case {
            items: items.clone(),
            command,
            now,
        })
    })
}
