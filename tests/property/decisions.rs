//! Rules of one decision.

use lockstep::domain::{
    Command, FencingToken, LockRecord, Outcome, Run, RunGuard, RunId, RunWrite, Snapshot,
    Timestamp, Update, decide, fast,
};
use lockstep_tests::generate::{HOLDERS, acquire, act, at, coin, holder, record, runs};
use lockstep_tests::seeds::check;
use proptest::option;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq};
use proptest::prop_oneof;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A lock with its runs, and a command that meets it.
#[derive(Clone, Debug)]
struct Case {
    record: Option<LockRecord>,
    runs: BTreeMap<RunId, Run>,
    command: Command,
    now: Timestamp,
}

#[test]
fn where_the_guard_holds_the_fast_write_is_what_decide_says() {
    let held: [Cell<u32>; 3] = Default::default();

    check(20_000, &cases(), |case| {
        let fast = fast(&case.command, case.now);
        let run_holds =
            |(guard, write): &(RunGuard, RunWrite)| guard.holds(case.runs.get(&write.id));
        if !fast.change.guard.holds(case.record.as_ref()) || !fast.change.runs.iter().all(run_holds)
        {
            return Ok(());
        }
        let kind = &held[kind(&case.command)];
        kind.set(kind.get() + 1);

        let decided = decide(&case.seen(), &case.command, case.now);

        let Ok(decided) = decided else {
            return Err(proptest::test_runner::TestCaseError::fail(format!(
                "{decided:?}"
            )));
        };
        let after = fast.change.update.apply(case.record.as_ref());
        let outcome = fast.outcome(after.as_ref().filter(|_| fast.change.read_back));
        prop_assert_eq!(after, decided.next);
        prop_assert_eq!(writes(&fast.change.runs), writes(&decided.runs));
        prop_assert_eq!(outcome, Some(decided.outcome));
        prop_assert!(decided.effects.is_empty());
        Ok(())
    });

    let held = held.map(|count| count.get());
    println!("guards held for acquire, renew, release: {held:?}");
    assert!(held.iter().all(|count| *count > 100), "too few: {held:?}");
}

#[test]
fn a_decision_keeps_the_rules_of_the_record_and_grows_its_numbers() {
    let written = Cell::new(0);

    check(20_000, &cases(), |case| {
        let Ok(decided) = decide(&case.seen(), &case.command, case.now) else {
            return Ok(());
        };
        let Some(next) = decided.next else {
            prop_assert!(decided.runs.is_empty() && decided.effects.is_empty());
            return Ok(());
        };
        written.set(written.get() + 1);

        let version = case.record.as_ref().map_or(0, |record| record.version);
        let last = case
            .record
            .as_ref()
            .map_or(FencingToken::NONE, |r| r.last_token);
        prop_assert_eq!(next.check_invariants(), Ok(()));
        prop_assert_eq!(next.version, version + 1);
        match &decided.outcome {
            Outcome::Granted { lease, .. } => {
                prop_assert!(lease.token > last);
                prop_assert_eq!(next.last_token, lease.token);
            }
            _ => prop_assert_eq!(next.last_token, last),
        }
        Ok(())
    });

    assert!(written.get() > 1000, "too few: {}", written.get());
}

#[test]
fn a_decision_is_written_as_it_was_decided() {
    check(20_000, &cases(), |case| {
        let Ok(decided) = decide(&case.seen(), &case.command, case.now) else {
            return Ok(());
        };
        let Some(change) = decided.change(case.record.as_ref()) else {
            return Ok(());
        };

        prop_assert!(change.guard.holds(case.record.as_ref()));
        prop_assert_eq!(change.update.apply(case.record.as_ref()), decided.next);
        Ok(())
    });
}

#[test]
fn every_run_guard_of_a_decision_holds_of_what_it_was_decided_on() {
    check(20_000, &cases(), |case| {
        let Ok(decided) = decide(&case.seen(), &case.command, case.now) else {
            return Ok(());
        };

        for (guard, write) in &decided.runs {
            let seen = case.runs.get(&write.id);
            prop_assert!(guard.holds(seen), "{:?} of {:?}", guard, seen);
        }
        Ok(())
    });
}

#[test]
fn an_update_between_two_records_turns_one_into_the_other() {
    check(20_000, &(record(), record()), |(old, mut new)| {
        // Waiters are not in any update of today.
        new.version = old.version + 1;
        new.queue = old.queue.clone();
        new.last_ticket = old.last_ticket;

        let update = Update::between(&old, &new);

        prop_assert_eq!(update.apply(Some(&old)), Some(new));
        Ok(())
    });
}

impl Case {
    fn seen(&self) -> Snapshot {
        let id = match &self.command {
            Command::Acquire(acquire) => acquire.run_key.clone().map(RunId::Key),
            Command::Renew(renew) => Some(RunId::of(renew.run_key.as_ref(), renew.token)),
            Command::Release(release) => Some(RunId::of(release.run_key.as_ref(), release.token)),
        };
        Snapshot {
            record: self.record.clone(),
            run: id.and_then(|id| self.runs.get(&id).cloned()),
        }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let now = (0..125_000_u64).prop_map(at);
    (option::weighted(0.95, record()), now).prop_flat_map(|(record, now)| {
        let (runs, command) = (runs(record.clone()), command(record.clone()));
        (runs, command).prop_map(move |(runs, command)| Case {
            record: record.clone(),
            runs,
            command,
            now,
        })
    })
}

/// An acquire that mostly expects the capacity that is there, or a word under a grant that is
/// mostly in the record.
fn command(record: Option<LockRecord>) -> impl Strategy<Value = Command> {
    let permits = record.as_ref().map(|record| record.permits);
    let taking = (acquire(), coin()).prop_map(move |(mut acquire, fits)| {
        acquire.permits = permits.filter(|_| fits).unwrap_or(acquire.permits);
        Command::Acquire(acquire)
    });
    let speaking = (0..HOLDERS, act(), 0..10_u8).prop_map(move |(who, act, dice)| {
        let leases = record.iter().flat_map(|record| &record.holders);
        let mut leases = leases.cycle().skip(who);
        let own = leases.next().filter(|_| dice > 0);
        match own {
            Some((holder, lease)) => {
                act.command(holder.clone(), lease.token, lease.run_key.clone())
            }
            None => act.command(holder(who), FencingToken::from_number(at(0).millis()), None),
        }
    });
    prop_oneof![taking, speaking]
}

fn kind(command: &Command) -> usize {
    match command {
        Command::Acquire(_) => 0,
        Command::Renew(_) => 1,
        Command::Release(_) => 2,
    }
}

fn writes(runs: &[(RunGuard, RunWrite)]) -> Vec<&RunWrite> {
    runs.iter().map(|(_, write)| write).collect()
}
