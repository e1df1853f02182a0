//! A write that was decided meets another one: the decision is made again on all that it needs.

use super::bench::{Bench, acquire, dead, order, release, renew};
use crate::domain::{Acquire, Command, FencingToken, Outcome, RunOutcome, WhenFull};

/// Writes of others that change nothing for an ended run.
fn others() -> [(&'static str, Vec<Command>); 3] {
    let pause = Command::Pause(order("upgrade"));
    let resume = Command::Resume(order("done"));
    let mut wait = acquire("w");
    wait.when_full = WhenFull::Queue { most: 5 };
    [
        ("a pause", vec![pause.clone()]),
        ("a pause and its end", vec![pause.clone(), resume]),
        ("an arrival", vec![pause, Command::Acquire(wait)]),
    ]
}

#[test]
fn a_heartbeat_of_a_redriven_run_that_meets_its_release_ends_with_it() {
    let (mut bench, token) = dead();
    let beat = bench.decided(renew("a", token), 100);
    bench.run(release("a", token), 100).expect("a release");

    let done = bench.finish(beat, 100).expect("nothing was lost");

    assert_eq!(done.outcome, Outcome::Ended);
    assert_eq!(bench.entry(token), Some(RunOutcome::Succeeded));
    assert!(bench.holders().is_empty());
}

#[test]
fn a_late_success_is_recorded_whatever_write_it_meets() {
    for (name, others) in others() {
        let (mut bench, token) = dead();
        let success = bench.decided(release("a", token), 100);
        for other in others {
            bench
                .run(other, 100)
                .expect("an operator's order, or a place");
        }

        let done = bench.finish(success, 100).expect("a release");

        let first = matches!(done.outcome, Outcome::Released { already: false, .. });
        assert!(first, "{name}: {done:?}");
        assert_eq!(bench.entry(token), Some(RunOutcome::Succeeded), "{name}");
        let marker = bench.marker("tick").and_then(|run| run.outcome());
        assert_eq!(marker, Some(RunOutcome::Succeeded), "{name}");
    }
}

#[test]
fn a_redriven_run_gets_its_grant_back_whatever_write_it_meets() {
    let (mut bench, token) = dead();
    let beat = bench.decided(renew("a", token), 100);
    for order in [
        Command::Pause(order("upgrade")),
        Command::Resume(order("done")),
    ] {
        bench.run(order, 100).expect("an operator's order");
    }

    let done = bench.finish(beat, 100).expect("a heartbeat");

    assert!(
        matches!(done.outcome, Outcome::Reinstated { .. }),
        "{done:?}"
    );
    assert_eq!(bench.holders(), ["a"]);
    assert_eq!(bench.entry(token), None, "it runs");
}

/// The record is read before the grant is back, and the history after it.
#[test]
fn a_heartbeat_that_reads_on_both_sides_of_a_write_reads_again() {
    let (mut bench, token) = dead();
    let late = bench.before_the_run(renew("a", token), 100);
    bench.run(renew("a", token), 100).expect("a heartbeat");

    let done = bench.finish(late, 100).expect("it is held");

    assert!(matches!(done.outcome, Outcome::Renewed { .. }), "{done:?}");
}

#[test]
fn a_redriven_run_that_meets_a_grant_has_lost_its_own() {
    let (mut bench, token) = dead();
    let beat = bench.decided(renew("a", token), 100);
    let newer = Command::Acquire(acquire("b"));
    bench.run(newer, 100).expect("a grant");

    let refused = bench.finish(beat, 100);

    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(bench.holders(), ["b"]);
    assert_eq!(bench.entry(token), Some(RunOutcome::Recovered));
}

#[test]
fn a_release_of_a_grant_that_never_was_is_lost() {
    let (mut bench, _) = dead();

    let done = bench.run(release("a", FencingToken::from_number(7)), 100);

    let lost = matches!(&done, Ok(done) if matches!(done.outcome, Outcome::Lost { .. }));
    assert!(lost, "{done:?}");
}

/// Arrivals need not know of each other.
#[test]
fn a_place_that_is_written_behind_another_is_answered_as_it_was_written() {
    let queue = |name: &str| {
        Command::Acquire(Acquire {
            when_full: WhenFull::Queue { most: 5 },
            ..acquire(name)
        })
    };
    let mut bench = Bench::default();
    bench.run(Command::Acquire(acquire("a")), 1).unwrap();
    let attempt = bench.decided(queue("b"), 2);
    bench.run(queue("c"), 3).unwrap();

    let outcome = bench.finish(attempt, 4).unwrap().outcome;

    let Outcome::Queued {
        position, length, ..
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!((position, length), (2, 2));
}
