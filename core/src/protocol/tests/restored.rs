//! A record that was restored from a backup meets the history and the acts that were written since.

use super::bench::{Bench, acquire, audit_note, holder, queue, release, run_key};
use crate::domain::{Command, Opening, Outcome, RunOutcome};
use crate::testing;

/// Returns a lock whose restored record has the holder `a`, a run of the key `tick` that has succeeded
/// since, and the recovery of `a`. With `waiting`, `b` waited.
fn put_back(waiting: bool) -> (Bench, Command) {
    let mut bench = Bench::default();
    let mut take = acquire("a");
    take.terms.run_key = Some(run_key("tick"));
    bench.done(Command::Acquire(take), 0);
    if waiting {
        bench.done(Command::Acquire(queue("b")), 1);
    }
    let (copy, waiters) = (bench.items.record.clone(), bench.items.waiters.clone());
    let token = bench.token("a");
    bench.done(release("a", token), 2);
    (bench.items.record, bench.items.waiters) = (copy, waiters);
    let lease = bench.items.record.as_ref().expect("a record").holders[&holder("a")].clone();
    let recover = testing::recover(holder("a"), token, lease.version());
    (bench, Command::Recover(recover))
}

#[test]
fn a_restored_holder_is_freed_and_its_recorded_end_stays() {
    for waiting in [false, true] {
        let (mut bench, recover) = put_back(waiting);
        let token = bench.token("a");

        let outcome = bench.done(recover, 30);

        assert!(matches!(outcome, Outcome::Freed { .. }), "{outcome:?}");
        assert_eq!(bench.entry(token), Some(RunOutcome::Succeeded));
        let marker = bench.marker("tick").expect("a marker");
        assert_eq!(marker.outcome(), Some(RunOutcome::Succeeded));
        let holders: &[_] = if waiting { &["b"] } else { &[] };
        assert_eq!(bench.holders(), holders);
    }
}

#[test]
fn a_restored_holder_can_be_released() {
    let (mut bench, _) = put_back(false);
    let token = bench.token("a");

    let outcome = bench.done(release("a", token), 100);

    assert!(matches!(outcome, Outcome::Released { .. }), "{outcome:?}");
    assert!(bench.holders().is_empty());
}

#[test]
fn an_operator_can_act_on_a_restored_record() {
    let mut bench = Bench::held_by("a", 0);
    let copy = bench.items.record.clone();
    let pause = || Command::Pause(audit_note("upgrade"), None);
    bench.done(pause(), 1);
    bench.done(Command::Open(Opening::Resume, audit_note("done")), 2);
    bench.items.record = copy;

    let outcome = bench.done(pause(), 100);

    assert_eq!(outcome, Outcome::Done);
}
