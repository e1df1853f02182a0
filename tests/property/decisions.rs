//! Rules of one decision.

use crate::case::{cases, check_often};
use lockstep::domain::{
    Change, Command, Effect, FencingToken, Outcome, Refusal, RunGuard, RunWrite, Update, decide,
    fast_path,
};
use lockstep::store::Commit;
use lockstep_tests::generate::{command, record};
use lockstep_tests::seeds::check;
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq};
use proptest::test_runner::TestCaseError;
use std::cell::Cell;
use std::collections::BTreeSet;

#[test]
fn a_fast_write_whose_guard_holds_equals_the_decision() {
    let held: [Cell<u32>; 4] = Default::default();

    check(60_000, &cases(), |case| {
        let Some(fast) = fast_path(&case.command, case.now) else {
            return Ok(());
        };
        let mut written = case.items.clone();
        if let Commit::Conflict(_) = written.commit(&fast.change) {
            return Ok(());
        }
        let kind = &held[kind(&case.command)];
        kind.set(kind.get() + 1);

        let mut seen = case.seen();
        if fast.change.runs.is_empty() {
            // The fast write reads no run: a waiting state learns only at its turn that its run key has had
            // its success.
            seen.runs.clear();
        }
        let decided = decide(&seen, &case.command, case.now);

        let decided = decided.map_err(|refused| TestCaseError::fail(format!("{refused:?}")))?;
        let after = written.record.as_ref().filter(|_| fast.change.read_back);
        prop_assert_eq!(fast.outcome(after), Some(decided.outcome));
        prop_assert_eq!(written.record, decided.next);
        prop_assert_eq!(writes(&fast.change.runs), writes(&decided.runs));
        prop_assert!(decided.effects.is_empty(), "{:?}", decided.effects);
        Ok(())
    });

    let held = held.map(|count| count.get());
    println!("guards held for acquire, enqueue, renew, release: {held:?}");
    assert!(held.iter().all(|count| *count > 100), "too few: {held:?}");
}

#[test]
fn a_narrow_guard_that_holds_keeps_the_decision_right() {
    let strategy = cases().prop_flat_map(|case| {
        let others = vec(command(case.items.record.clone()), 0..3);
        others.prop_map(move |others| (case.clone(), others))
    });

    check_often(60_000, &strategy, 101, |(case, others)| {
        let Some((decided, change)) = case.change() else {
            return Ok(0);
        };
        if decided.narrow_guard.is_none() && decided.fast_path.is_none() {
            return Ok(0);
        }
        let mut later = case.clone();
        for other in &others {
            later.write(other);
        }
        let mut written = later.items.clone();
        if let Commit::Conflict(_) = written.commit(&change) {
            return Ok(0);
        }
        let stood = later.items.record != case.items.record;

        let mut seen = later.seen();
        if decided.fast_path.is_some() {
            // This write has no guard on a run, so it does not see the runs that others wrote. The waiter
            // sees them at its turn.
            seen.runs = case.items.runs;
        }
        let again = match decide(&seen, &later.command, later.now) {
            Ok(again) => again,
            // It has no guard on the run keys and parents of the holders either. The run entered the queue
            // before their grants.
            Err(Refusal::Duplicate { .. } | Refusal::HeldByParent { .. })
                if decided.fast_path.is_some() =>
            {
                return Ok(0);
            }
            Err(refused) => return Err(TestCaseError::fail(format!("{refused:?}"))),
        };
        prop_assert_eq!(written.record, again.next);
        prop_assert_eq!(writes(&change.runs), writes(&again.runs));
        prop_assert_eq!(decided.effects, again.effects);
        Ok(stood.into())
    });
}

#[test]
fn a_decision_keeps_the_invariants_and_increments_the_version() {
    check_often(30_000, &cases(), 1001, |case| {
        let Some(decided) = case.decided() else {
            return Ok(0);
        };
        let Some(next) = decided.next else {
            use Effect::{HandOver, Stop, WakeAgain};
            let mut effects = decided.effects.iter();
            let reminds = effects.all(|it| matches!(it, WakeAgain(..) | HandOver | Stop(..)));
            prop_assert!(reminds, "{:?}", decided.effects);
            return Ok(0);
        };

        let record = case.items.record.as_ref();
        let version = record.map_or(0, |record| record.version);
        let last = record.map_or(FencingToken::NONE, |r| r.last_token);
        let known = record.into_iter().flat_map(|r| r.holders.values());
        let known: BTreeSet<_> = known.map(|lease| lease.token).collect();
        let new = next.holders.values().map(|lease| lease.token);
        let new: Vec<_> = new.filter(|token| !known.contains(token)).collect();
        prop_assert_eq!(next.check_invariants(), Ok(()));
        prop_assert_eq!(next.version, version + 1);
        let is_done = next.is_idle() && next.next_due().is_none();
        prop_assert_eq!(next.due.is_none(), is_done);
        if !matches!(decided.outcome, Outcome::Reinstated { .. }) {
            prop_assert!(new.len() <= 1, "one grant at a time");
            let is_newest = |token| token > last && token == next.last_token;
            prop_assert!(new.iter().copied().all(is_newest));
            prop_assert!(!new.is_empty() || next.last_token == last);
        }
        Ok(1)
    });
}

#[test]
fn a_decision_is_written_as_it_was_decided() {
    check(30_000, &cases(), |case| {
        let Some((decided, change)) = case.change() else {
            return Ok(());
        };
        let mut written = case.items.clone();

        let done = written.commit(&change);

        prop_assert!(matches!(done, Commit::Committed(_)), "{:?}", done);
        let expected = decided.next.or(case.items.record);
        prop_assert_eq!(written.record, expected);
        prop_assert!(one_write_for_each_item(&change), "{:?}", change.runs);
        Ok(())
    });
}

#[test]
fn an_update_between_two_records_turns_one_into_the_other() {
    check(20_000, &(record(), record()), |(old, mut new)| {
        new.version = old.version + 1;

        let update = Update::between(&old, &new);

        prop_assert_eq!(update.apply(Some(&old)), Some(new));
        Ok(())
    });
}

fn kind(command: &Command) -> usize {
    match command {
        Command::Acquire(acquire) => usize::from(acquire.task_token.is_some()),
        Command::Renew(_) => 2,
        _ => 3,
    }
}

fn writes(runs: &[(RunGuard, RunWrite)]) -> Vec<&RunWrite> {
    runs.iter().map(|(_, write)| write).collect()
}

/// Returns whether a change writes each item at most once. A DynamoDB transaction refuses two actions on one
/// item.
fn one_write_for_each_item(change: &Change) -> bool {
    let ids: BTreeSet<_> = change.runs.iter().map(|(_, write)| &write.id).collect();
    ids.len() == change.runs.len()
}
