//! The side item of a waiter: written before its place, and gone where there is none.

use super::bench::{Answer, Bench, acquire, at, dead, order, release, run_key};
use crate::domain::{Acquire, Command, Outcome, TaskToken, WhenFull};
use crate::protocol::{Attempt, Next, ProtocolError, RETRIES_MAX, Reply, Request};
use crate::store::Commit;

/// What `command` asks of the table, request by request, and what it comes to.
fn asked(bench: &mut Bench, command: Command) -> (Vec<&'static str>, Answer) {
    let mut attempt = Attempt::new(command, at(100));
    let mut asked = Vec::new();
    for _ in 0..50 {
        let request = attempt.request();
        asked.push(name(&request));
        let reply = request.to(&mut bench.items);
        match attempt.reply(reply, at(100)) {
            Next::Ask(next) => attempt = next,
            Next::Over(answer) => return (asked, *answer),
        }
    }
    panic!("no end: {asked:?}");
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

/// A lock that `a` holds.
fn held() -> Bench {
    let mut bench = Bench::default();
    let grant = Command::Acquire(acquire("a"));
    bench.run(grant, 90).expect("a grant");
    bench
}

fn paused() -> Bench {
    let mut bench = Bench::default();
    let pause = Command::Pause(order("upgrade"));
    bench.run(pause, 90).expect("an operator's order");
    bench
}

/// A lock on which the run of `tick` has succeeded.
fn succeeded() -> Bench {
    let (mut bench, token) = dead();
    bench.run(release("a", token), 50).expect("a release");
    bench
}

fn queue(name: &str) -> Acquire {
    Acquire {
        when_full: WhenFull::Queue { most: 5 },
        ..acquire(name)
    }
}

/// The same by a state that waits already.
fn waiting(acquire: Acquire) -> Acquire {
    Acquire {
        task_token: TaskToken::new("waits").ok(),
        ..acquire
    }
}

#[test]
fn a_side_item_is_written_before_its_place_and_deleted_where_there_is_none() {
    let late = Acquire {
        wait_until: Some(at(95)),
        ..waiting(queue("b"))
    };
    let mut tick = acquire("b");
    tick.terms.run_key = Some(run_key("tick"));
    let cases: [(&str, Bench, Acquire, &[&str]); 9] = [
        // Without a state that waits.
        (
            "a grant",
            Bench::default(),
            queue("b"),
            &["commit", "commit"],
        ),
        ("no permit", held(), acquire("b"), &["commit"]),
        ("a duplicate", succeeded(), tick, &["commit"]),
        (
            "a place",
            held(),
            queue("b"),
            &["commit", "register", "commit"],
        ),
        // With one: the grant deletes the side item itself.
        (
            "a turn at once",
            Bench::default(),
            waiting(queue("b")),
            &["register", "commit", "commit"],
        ),
        (
            "a place by the write that was decided",
            paused(),
            waiting(queue("b")),
            &["register", "commit", "commit"],
        ),
        (
            "no permit for a state",
            held(),
            waiting(acquire("b")),
            &["register", "load", "commit"],
        ),
        (
            "the permit of before",
            held(),
            waiting(queue("a")),
            &["register", "commit", "commit"],
        ),
        (
            "no time to wait",
            held(),
            late,
            &["register", "load", "commit"],
        ),
    ];
    for (case, mut bench, acquire, expected) in cases {
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
    let mut attempt = Attempt::new(Command::Acquire(queue("b")), at(100));
    while !matches!(attempt.request(), Request::Register(_)) {
        let reply = attempt.request().to(&mut bench.items);
        let Next::Ask(next) = attempt.reply(reply, at(100)) else {
            panic!("it registered nothing");
        };
        attempt = next;
    }
    let release = release("a", bench.token("a"));
    bench.run(release, 100).expect("a release");

    let done = bench.finish(attempt, 100).expect("a grant");

    assert!(matches!(done.outcome, Outcome::Granted { .. }), "{done:?}");
    assert_eq!(bench.items.waiters.len(), 0);
}

#[test]
fn a_busy_table_is_asked_to_forget_a_side_item_as_often_as_a_write_is_tried_again() {
    let mut bench = held();
    let mut attempt = Attempt::new(Command::Acquire(waiting(acquire("b"))), at(100));
    let mut refused = 0;
    for _ in 0..100 {
        let reply = match attempt.request() {
            Request::Commit(_) => {
                refused += 1;
                Reply::Commit(Commit::Busy)
            }
            other => other.to(&mut bench.items),
        };
        match attempt.reply(reply, at(100)) {
            Next::Ask(next) => attempt = next,
            Next::Over(answer) => {
                assert!(
                    matches!(*answer, Err(ProtocolError::Refused(_))),
                    "{answer:?}"
                );
                assert_eq!(refused, 1 + RETRIES_MAX);
                return;
            }
        }
    }
    panic!("the attempt has no end");
}
