//! Replies that are lost, busy, or to another request; and records that must not be written.

use super::bench::{Answer, Bench, acquire, answer, at, audit_note, dead, drive, holder, renew};
use crate::domain::{
    Acquire, Command, FencingToken, LockRecord, Mode, Outcome, Permits, Refusal, TaskToken,
};
use crate::protocol::{Attempt, AttemptStep, ProtocolError, Reply, Request};
use crate::store::{Commit, StoreError};
use std::mem::discriminant;

/// Executes `command` on a table that executes write number `lost` and loses its reply, so that the SDK
/// sends the same write again.
fn with_lost_reply(bench: &mut Bench, command: Command, lost: u32) -> Answer {
    let mut writes = 0;
    answer(drive(Attempt::new(command, at(100)), 100, |attempt| {
        let mut reply = attempt.request().to(&mut bench.items);
        if matches!(attempt.request(), Request::Commit(_)) {
            if writes == lost {
                let written = matches!(reply, Reply::Commit(Commit::Committed(_)));
                assert!(written, "{reply:?}");
                reply = attempt.request().to(&mut bench.items);
            }
            writes += 1;
        }
        Some(reply)
    }))
}

#[test]
fn a_grant_whose_reply_was_lost_is_a_grant() {
    let (mut later, _) = dead();
    // The sweep is due after the end of the new lease, so the fast path does not apply.
    later.items.record.as_mut().expect("a record").due = Some(at(100_000));
    let (mut ahead, _) = dead();
    // An earlier grant came from a clock that was ahead, so the next token is not the time.
    let last_token = FencingToken::next(FencingToken::NONE, at(200));
    ahead.items.record.as_mut().expect("a record").last_token = last_token;
    for (name, mut bench, lost) in [
        ("as decided, after a later token", ahead, 1),
        ("by the fast write", dead().0, 0),
        ("of a new record", Bench::default(), 1),
        ("by the write that was decided", later, 1),
    ] {
        let done = with_lost_reply(&mut bench, Command::Acquire(acquire("b")), lost);

        let outcome = done.expect(name).outcome;
        let granted = matches!(outcome, Outcome::Granted { .. });
        assert!(granted, "{name}: {outcome:?}");
        assert_eq!(outcome.token(), Some(bench.token("b")), "{name}");
    }
}

#[test]
fn a_grant_of_an_earlier_call_is_already_held() {
    let mut bench = Bench::held_by("b", 50);

    // The holder acquires again while its lease is live, and after its end.
    for second in [60, 500] {
        let outcome = bench.done(Command::Acquire(acquire("b")), second);

        let is_held = matches!(outcome, Outcome::AlreadyHeld { .. });
        assert!(is_held, "{outcome:?}");
    }
}

#[test]
fn a_busy_write_is_retried_from_the_first_step() {
    let (mut bench, _) = dead();
    bench.done(Command::Acquire(acquire("a")), 50);
    // A pause has no fast path.
    let decided = Command::Pause(audit_note("upgrade"), None);
    for (command, last) in [(Command::Acquire(acquire("b")), "write"), (decided, "read")] {
        let mut asked = Vec::new();
        let driven = drive(Attempt::new(command, at(60)), 60, |attempt| {
            let (what, reply) = match attempt.request() {
                Request::Commit(_) => ("write", Reply::Commit(Commit::Busy)),
                Request::BackOff => ("back off", Reply::BackedOff),
                other => ("read", other.to(&mut bench.items)),
            };
            // The reads before the first write are not part of the retry.
            if what != "read" || !asked.is_empty() {
                asked.push(what);
            }
            (asked.len() < 3).then_some(reply)
        });
        assert!(driven.is_break(), "{driven:?}");
        assert_eq!(asked, ["write", "back off", last]);
    }
}

#[test]
fn a_reply_to_another_request_changes_nothing() {
    let (mut bench, token) = dead();
    let attempt = Attempt::new(renew("a", token), at(100));
    let done = drive(attempt, 100, |attempt| {
        let own = attempt.request().to(&mut bench.items);
        for strange in [
            Reply::Registered,
            Reply::BackedOff,
            Reply::Commit(Commit::Busy),
            Reply::Record(None),
            Reply::Run(None),
            Reply::Waiter(None),
        ] {
            if discriminant(&strange) != discriminant(&own) {
                let same = attempt.clone().reply(strange, at(100));
                assert_eq!(same, AttemptStep::Ask(attempt.clone()));
            }
        }
        Some(own)
    });

    let outcome = answer(done).expect("a heartbeat").outcome;
    assert!(matches!(outcome, Outcome::Reinstated { .. }), "{outcome:?}");
}

#[test]
fn a_record_that_breaks_a_rule_is_not_written() {
    let mut bench = Bench::held_by("a", 0);
    let broken = bench.items.record.as_mut().expect("a record");
    let second = broken.holders[&holder("a")].clone();
    broken.holders.insert(holder("b"), second);
    let before = LockRecord::clone(broken);
    assert_eq!(before.permits, Permits::ONE);

    let answer = bench.run(Command::Pause(audit_note("upgrade"), None), 10);

    let Err(ProtocolError::Store(StoreError::Corrupt { .. })) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(bench.items.record, Some(before));
}

/// A waiting state that does not queue reads the record first.
#[test]
fn a_new_lock_is_paused_if_its_read_says_so() {
    let waiting = Command::Acquire(Acquire {
        task_token: TaskToken::new("waits").ok(),
        ..acquire("a")
    });
    let closed = Mode::Paused {
        note: "the account moves".into(),
        until: None,
    };
    for new_lock in [None, Some(closed)] {
        let mut bench = Bench::default();
        let attempt = Attempt::new(waiting.clone(), at(100));

        let answer = answer(drive(attempt, 100, |attempt| {
            Some(match attempt.request() {
                Request::Load => Reply::NoRecord(new_lock.clone()),
                other => other.to(&mut bench.items),
            })
        }));

        let paused = matches!(answer, Err(ProtocolError::Refused(Refusal::Paused { .. })));
        assert_eq!(paused, new_lock.is_some(), "{answer:?}");
        let holders: &[_] = if paused { &[] } else { &["a"] };
        assert_eq!(bench.holders(), holders);
    }
}
