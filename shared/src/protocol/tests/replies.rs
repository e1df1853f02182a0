//! Replies that are lost, busy, or of another request; records that must not be written.

use super::bench::{Bench, acquire, at, dead, holder, progress, renew};
use crate::domain::{Command, FencingToken, LockRecord, Outcome, Permits};
use crate::protocol::{Attempt, Next, ProtocolError, Reply, Request};
use crate::store::{Commit, StoreError};

/// Carries `command` out on a table that does the write number `lost` and loses the reply, so that
/// the SDK sends the same write again.
fn with_lost_reply(bench: &mut Bench, command: Command, lost: u32) -> Result<Outcome, String> {
    let mut attempt = Attempt::new(command, at(100));
    let mut writes = 0;
    for _ in 0..20 {
        let request = attempt.request();
        let mut reply = request.to(&mut bench.items);
        if matches!(request, Request::Commit(_)) {
            if writes == lost {
                assert!(
                    matches!(reply, Reply::Commit(Commit::Committed(_))),
                    "{reply:?}"
                );
                reply = request.to(&mut bench.items);
            }
            writes += 1;
        }
        match attempt.reply(reply, at(100)) {
            Next::Ask(next) => attempt = next,
            Next::Over(answer) => {
                let outcome = answer.map(|done| done.outcome);
                return outcome.map_err(|error| error.to_string());
            }
        }
    }
    Err("no end".into())
}

#[test]
fn a_grant_whose_reply_was_lost_is_a_grant() {
    let new = Bench::default();
    let (known, _) = dead();
    let (mut later, _) = dead();
    // A sweep that is due behind the end of the new lease: the fast path does not apply.
    if let Some(record) = &mut later.items.record {
        record.due = Some(at(100_000));
    }
    let (mut ahead, _) = dead();
    // A grant by a clock that was ahead: the token is not the time.
    if let Some(record) = &mut ahead.items.record {
        record.last_token = FencingToken::next(FencingToken::NONE, at(200));
    }
    let cases = [
        (
            "by the write that was decided, after a later token",
            ahead,
            1,
        ),
        ("by the fast write", known, 0),
        ("of a new record", new, 1),
        ("by the write that was decided", later, 1),
    ];
    for (name, mut bench, lost) in cases {
        let outcome = with_lost_reply(&mut bench, Command::Acquire(acquire("b")), lost);

        let granted = matches!(&outcome, Ok(Outcome::Granted { .. }));
        assert!(granted, "{name}: {outcome:?}");
        assert_eq!(outcome.ok().and_then(|o| o.token()), Some(bench.token("b")));
    }
}

#[test]
fn a_grant_of_an_earlier_call_is_no_new_one() {
    let mut bench = Bench::default();
    bench
        .run(Command::Acquire(acquire("b")), 50)
        .expect("a grant");

    // Once while the lease is live, once when it has to start anew.
    for second in [60, 500] {
        let done = bench.run(Command::Acquire(acquire("b")), second);

        let done = done.expect("it holds").outcome;
        assert!(matches!(done, Outcome::AlreadyHeld { .. }), "{done:?}");
    }
}

#[test]
fn a_busy_table_is_asked_again_from_the_beginning() {
    let (mut bench, _) = dead();
    bench
        .run(Command::Acquire(acquire("a")), 50)
        .expect("a grant");
    let decided = progress("a", bench.token("a"), Some("row 7"));
    let cases = [
        (
            Command::Acquire(acquire("b")),
            ["write", "back off", "write"],
        ),
        (decided, ["write", "back off", "read"]),
    ];
    for (command, expected) in cases {
        let mut attempt = Attempt::new(command.clone(), at(60));
        let mut asked = Vec::new();
        while asked.len() < 3 {
            let (what, reply) = match attempt.request() {
                Request::Commit(_) => ("write", Reply::Commit(Commit::Busy)),
                Request::BackOff => ("back off", Reply::BackedOff),
                other => ("read", other.to(&mut bench.items)),
            };
            // What it reads first is no part of the retry.
            if what != "read" || !asked.is_empty() {
                asked.push(what);
            }
            match attempt.reply(reply, at(60)) {
                Next::Ask(next) => attempt = next,
                Next::Over(answer) => panic!("{command:?}: {answer:?}"),
            }
        }
        assert_eq!(asked, expected, "{command:?}");
    }
}

#[test]
fn a_reply_to_another_request_changes_nothing() {
    let (mut bench, token) = dead();
    let mut attempt = Attempt::new(renew("a", token), at(100));
    for _ in 0..20 {
        let own = attempt.request().to(&mut bench.items);
        let strange = [
            Reply::Registered,
            Reply::BackedOff,
            Reply::Commit(Commit::Busy),
            Reply::Record(None),
            Reply::Run(None),
            Reply::Waiter(None),
        ];
        for reply in strange {
            let kind = std::mem::discriminant(&reply);
            if kind != std::mem::discriminant(&own) {
                let same = attempt.clone().reply(reply, at(100));
                assert_eq!(same, Next::Ask(attempt.clone()));
            }
        }
        match attempt.reply(own, at(100)) {
            Next::Ask(next) => attempt = next,
            Next::Over(answer) => {
                let outcome = answer.expect("a heartbeat").outcome;
                assert!(matches!(outcome, Outcome::Reinstated { .. }), "{outcome:?}");
                return;
            }
        }
    }
    panic!("the attempt has no end");
}

#[test]
fn a_record_that_breaks_a_rule_is_not_written() {
    let mut bench = Bench::default();
    bench
        .run(Command::Acquire(acquire("a")), 0)
        .expect("a grant");
    let token = bench.token("a");
    let broken = bench.items.record.as_mut().expect("a record");
    let second = broken.holders[&holder("a")].clone();
    broken.holders.insert(holder("b"), second);
    let before = LockRecord::clone(broken);
    assert_eq!(before.permits, Permits::ONE);

    let answer = bench.run(progress("a", token, Some("row 7")), 10);

    let corrupt = matches!(
        answer,
        Err(ProtocolError::Store(StoreError::Corrupt { .. }))
    );
    assert!(corrupt, "{answer:?}");
    assert_eq!(bench.items.record, Some(before));
}
