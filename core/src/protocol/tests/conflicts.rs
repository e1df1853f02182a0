//! A decided write meets another write: the command is decided again on the items that it needs.

use super::bench::{Bench, acquire, audit_note, dead, queue, release, renew};
use crate::domain::{Command, FencingToken, Opening, Outcome, RunOutcome};
use crate::protocol::Request;

fn pause() -> Command {
    Command::Pause(audit_note("upgrade"), None)
}

fn resume() -> Command {
    Command::Open(Opening::Resume, audit_note("done"))
}

#[test]
fn a_heartbeat_of_a_redriven_run_that_meets_its_release_ends_with_it() {
    let (mut bench, token) = dead();
    let beat = bench.decided(renew("a", token), 100);
    bench.done(release("a", token), 100);

    let done = bench.finish(beat, 100).expect("nothing was lost");

    assert_eq!(done.outcome, Outcome::Ended);
    assert_eq!(bench.entry(token), Some(RunOutcome::Succeeded));
    assert!(bench.holders().is_empty());
}

#[test]
fn a_late_success_is_recorded_whatever_write_it_meets() {
    for (name, others) in [
        ("a pause", vec![pause()]),
        ("a pause and its end", vec![pause(), resume()]),
        ("an arrival", vec![pause(), Command::Acquire(queue("w"))]),
    ] {
        let (mut bench, token) = dead();
        let success = bench.decided(release("a", token), 100);
        for other in others {
            bench.done(other, 100);
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
    for order in [pause(), resume()] {
        bench.done(order, 100);
    }

    let outcome = bench.finish(beat, 100).expect("a heartbeat").outcome;

    assert!(matches!(outcome, Outcome::Reinstated { .. }), "{outcome:?}");
    assert_eq!(bench.holders(), ["a"]);
    assert_eq!(bench.entry(token), None, "it runs");
}

/// The late heartbeat reads the record before the grant is reinstated, and the history afterwards.
#[test]
fn a_write_between_two_reads_makes_the_attempt_read_again() {
    let (mut bench, token) = dead();
    let late = bench.until(renew("a", token), 100, |request| {
        matches!(request, Request::LoadRun(_))
    });
    bench.done(renew("a", token), 100);

    let done = bench.finish(late, 100).expect("it is held");

    assert!(matches!(done.outcome, Outcome::Renewed { .. }), "{done:?}");
}

#[test]
fn a_redriven_run_that_meets_a_grant_has_lost_its_own() {
    let (mut bench, token) = dead();
    let beat = bench.decided(renew("a", token), 100);
    bench.done(Command::Acquire(acquire("b")), 100);

    let refused = bench.finish(beat, 100);

    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(bench.holders(), ["b"]);
    assert_eq!(bench.entry(token), Some(RunOutcome::Recovered));
}

#[test]
fn a_release_with_an_unknown_token_is_lost() {
    let (mut bench, _) = dead();

    let outcome = bench.done(release("a", FencingToken::from_number(7)), 100);

    assert!(matches!(outcome, Outcome::Lost { .. }), "{outcome:?}");
}

/// Writes that join the queue do not conflict with each other.
#[test]
fn the_answer_of_a_join_has_the_place_that_was_written() {
    let mut bench = Bench::held_by("a", 1);
    let attempt = bench.decided(Command::Acquire(queue("b")), 2);
    bench.done(Command::Acquire(queue("c")), 3);

    let outcome = bench.finish(attempt, 4).unwrap().outcome;

    let second = matches!(
        outcome,
        Outcome::Queued {
            position: 2,
            length: 2,
            ..
        }
    );
    assert!(second, "{outcome:?}");
}
