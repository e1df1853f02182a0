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
    /// All that the protocol could know when it decides.
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

    /// What is decided, unless that is a refusal.
    pub(crate) fn decided(&self) -> Option<Transition> {
        decide(&self.seen(), &self.command, self.now).ok()
    }

    /// The same with its change of the items, if it has one.
    pub(crate) fn change(&self) -> Option<(Transition, Change)> {
        let decided = self.decided()?;
        let change = decided.change(self.items.record.as_ref())?;
        Some((decided, change))
    }

    /// Carries out another command at the same time.
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

/// Checks `rule` on so many random values. It returns how often it had something to judge: at least `fewest` times
/// in all.
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
    assert!(judged.get() >= fewest, "too few: {}", judged.get());
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    cases_of(command)
}

/// Random locks that meet one of `commands`, each of which may be made for the record that it meets.
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
