//! The side item of a waiter: written before its place in the queue, and deleted if there is no place.

use super::bench::{
    Answer, Bench, acquire, answer, at, audit_note, dead, drive, queue, release, run_key,
};
use crate::domain::{Acquire, Command, Outcome, TaskToken};
use crate::protocol::{Attempt, ProtocolError, RETRIES_MAX, Reply, Request};
use crate::store::Commit;

/// Executes `command`, and returns the names of its requests and its result.
fn asked(bench: &mut Bench, command: Command) -> (String, Answer) {
    let mut asked = Vec::new();
    let answer = answer(drive(Attempt::new(command, at(100)), 100, |attempt| {
        asked.push(name(&attempt.request()));
        Some(attempt.request().to(&mut bench.items))
    }));
    (asked.join(", "), answer)
}

fn name(request: &Request<'_>) -> &'static str {
    match request {
        Request::Register(_) => "register",
        Request::Commit(_) => "commit",
        Request::Load => "load",
        Request::LoadRun(_) => "load run",
        Request::LoadWaiter(_) => "load waiter",
        Request::BackOff => "back off",
    }
}

/// Returns a lock that `a` holds.
fn held() -> Bench {
    Bench::held_by("a", 90)
}

fn paused() -> Bench {
    let mut bench = Bench::default();
    bench.done(Command::Pause(audit_note("upgrade"), None), 90);
    bench
}

/// Returns a lock on which a run with the key `tick` has succeeded.
fn succeeded() -> Bench {
    let (mut bench, token) = dead();
    bench.done(release("a", token), 50);
    bench
}

/// Returns `acquire` as a request of a waiting state.
fn waiting(acquire: Acquire) -> Acquire {
    Acquire {
        task_token: TaskToken::new("waits").ok(),
        ..acquire
    }
}

#[test]
fn a_side_item_comes_before_its_place_and_is_deleted_without_one() {
    let late = Acquire {
        wait_until: Some(at(95)),
        ..waiting(queue("b"))
    };
    let waits = |name| waiting(queue(name));
    let turn = "register, commit, commit";
    let none = "register, load, commit";
    let mut tick = acquire("b");
    tick.terms.run_key = Some(run_key("tick"));
    for (case, mut bench, acquire, expected) in [
        // Requests without a waiting state.
        ("a grant", Bench::default(), queue("b"), "commit, commit"),
        ("no permit", held(), acquire("b"), "commit"),
        ("a duplicate", succeeded(), tick, "commit"),
        ("a place", held(), queue("b"), "commit, register, commit"),
        // Requests of a waiting state: the write of the grant deletes the side item.
        ("a turn at once", Bench::default(), waits("b"), turn),
        ("a place as decided", paused(), waits("b"), turn),
        ("no permit for a state", held(), waiting(acquire("b")), none),
        ("the permit of before", held(), waits("a"), turn),
        ("no time to wait", held(), late, none),
    ] {
        let (asked, answer) = asked(&mut bench, Command::Acquire(acquire));

        assert_eq!(asked, expected, "{case}: {answer:?}");
        let waits = matches!(&answer, Ok(done) if matches!(done.outcome, Outcome::Queued { .. }));
        assert_eq!(waits, case.starts_with("a place"), "{case}: {answer:?}");
        assert_eq!(bench.items.waiters.len(), usize::from(waits), "{case}");
    }
}

#[test]
fn a_grant_that_comes_before_the_place_is_written_leaves_no_side_item() {
    let mut bench = held();
    let registers = |request: &Request<'_>| matches!(request, Request::Register(_));
    let attempt = bench.until(Command::Acquire(queue("b")), 100, registers);
    bench.done(release("a", bench.token("a")), 100);

    let done = bench.finish(attempt, 100).expect("a grant");

    assert!(matches!(done.outcome, Outcome::Granted { .. }), "{done:?}");
    assert_eq!(bench.items.waiters.len(), 0);
}

#[test]
fn a_busy_delete_of_a_side_item_is_retried_like_a_write() {
    let mut bench = held();
    let attempt = Attempt::new(Command::Acquire(waiting(acquire("b"))), at(100));
    let mut refused = 0;

    let answer = answer(drive(attempt, 100, |attempt| match attempt.request() {
        Request::Commit(_) => {
            refused += 1;
            Some(Reply::Commit(Commit::Busy))
        }
        other => Some(other.to(&mut bench.items)),
    }));

    let is_refused = matches!(answer, Err(ProtocolError::Refused(_)));
    assert!(is_refused, "{answer:?}");
    assert_eq!(refused, 1 + RETRIES_MAX);
}
