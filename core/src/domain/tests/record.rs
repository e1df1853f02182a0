//! The invariants of a record, and the values that are derived from it.

use super::{at, holder, terms};
use crate::domain::{
    Assign, BrokenInvariant, Lease, LockRecord, Mode, Permits, QUEUE_MAX, RunKey, Update, WaiterId,
};
use crate::testing::{permits, ticket, token};

fn lease(number: u64) -> Lease {
    terms("a").lease(token(number), at(100))
}

/// Returns a lock of two permits with two holders, and two waiters.
fn record() -> LockRecord {
    let mut record = LockRecord::new(permits(2));
    record.last_token = token(9);
    record.holders = [(holder("b"), lease(7)), (holder("a"), lease(9))].into();
    record.last_ticket = ticket(2);
    let queue = [(waiter(2), ticket(1)), (waiter(1), ticket(2))];
    record.queue = queue.into_iter().collect();
    record
}

fn waiter(number: usize) -> WaiterId {
    WaiterId::new(format!("{number:016x}")).unwrap()
}

fn paused() -> Mode {
    Mode::Paused {
        note: "upgrade".into(),
        until: None,
    }
}

/// A change that breaks an invariant.
type Change = fn(&mut LockRecord);

#[test]
fn a_record_that_breaks_a_rule_fails_with_the_rule_and_the_attribute() {
    let broken: [(&str, &str, Change); 9] = [
        ("holders", "holders exceed permits", |r| {
            r.permits = Permits::ONE
        }),
        ("holders", "two holders share a fencing token", |r| {
            r.holders.insert(holder("b"), lease(9));
        }),
        ("lastToken", "a token is above lastToken", |r| {
            r.last_token = token(8);
        }),
        ("lastToken", "lastToken is above 2^53 - 1", |r| {
            r.last_token = token(1 << 53);
        }),
        ("queue", "the queue is longer than 500", |r| {
            r.queue = (0..=500).map(|n| (waiter(n), ticket(n as i64))).collect();
        }),
        ("queue", "two waiters share a ticket", |r| {
            r.queue.insert(waiter(3), ticket(2));
        }),
        ("lastTicket", "a ticket is above lastTicket", |r| {
            r.last_ticket = ticket(1);
        }),
        ("frontTicket", "a ticket is below frontTicket", |r| {
            r.front_ticket = ticket(2);
        }),
        ("holders", "two holders share a run key", |r| {
            for lease in r.holders.values_mut() {
                lease.run_key = RunKey::new("tick").ok();
            }
        }),
    ];
    assert_eq!(record().check_invariants(), Ok(()));
    for (attribute, rule, damage) in broken {
        let mut record = record();
        damage(&mut record);

        let broken = Err(BrokenInvariant { attribute, rule });
        assert_eq!(record.check_invariants(), broken);
    }
}

#[test]
fn a_record_at_its_bounds_keeps_all_invariants() {
    let mut record = record();
    record.last_token = token(9_007_199_254_740_991);
    record.queue = (1..=500).map(|n| (waiter(n), ticket(n as i64))).collect();
    record.last_ticket = ticket(500);

    assert_eq!(QUEUE_MAX, 500);
    assert_eq!(record.check_invariants(), Ok(()));
}

#[test]
fn holders_are_listed_by_their_grants_and_waiters_by_their_tickets() {
    let record = record();

    let names: Vec<_> = record.oldest_first().into_iter().map(|(h, _)| h).collect();
    assert_eq!(names, [holder("b"), holder("a")]);
    assert_eq!(record.first_waiter(), Some((&waiter(2), ticket(1))));
    assert_eq!(record.position(&waiter(2)), Some(1));
    assert_eq!(record.position(&waiter(1)), Some(2));
    assert_eq!(record.position(&waiter(3)), None);
}

#[test]
fn a_grant_is_found_by_holder_and_token_together() {
    let record = record();

    let [seven, nine] = [7, 9].map(token);
    assert!(record.lease(&holder("a"), nine).is_some());
    assert_eq!(record.lease(&holder("a"), seven), None);
    let under = record.holder_under(seven);
    assert_eq!(under.map(|(found, _)| found), Some(&holder("b")));
}

#[test]
fn the_sweep_is_due_when_a_holder_needs_it_or_a_waiter_may_come_in() {
    let mut waiting = record();
    waiting.gate.not_before = at(50);
    assert_eq!(waiting.next_due(), Some(at(160)), "the lock is full");

    waiting.holders.remove(&holder("a"));
    assert_eq!(waiting.next_due(), Some(at(50)), "a permit is free");

    waiting.queue.clear();
    assert_eq!(waiting.next_due(), Some(at(160)), "it has no waiter");

    waiting.holders.clear();
    assert_eq!(waiting.next_due(), None);
}

#[test]
fn the_time_of_the_sweep_moves_forward_and_never_back() {
    let mut record = record();
    record.due_for_waiters(at(70));
    assert_eq!(record.due, None, "the lock is full");

    record.holders.remove(&holder("a"));
    record.gate.not_before = at(80);
    record.due_for_waiters(at(70));
    assert_eq!(record.due, Some(at(80)), "the next grant is later than now");

    record.due_by(at(90));
    assert_eq!(record.due, Some(at(80)));
    record.due_for_waiters(at(75));
    record.due_by(at(60));
    assert_eq!(record.due, Some(at(60)));
}

#[test]
fn an_update_assigns_what_differs_and_nothing_else() {
    let changes: [(Change, Assign); 14] = [
        (|r| r.permits = permits(3), Assign::Permits(permits(3))),
        (|r| r.last_token = token(10), Assign::LastToken(token(10))),
        (|r| r.gate.not_before = at(80), Assign::NotBefore(at(80))),
        (|r| r.gate.mode = paused(), Assign::Mode(paused())),
        (|r| r.last_ticket = ticket(3), Assign::LastTicket(ticket(3))),
        (
            |r| r.front_ticket = ticket(-1),
            Assign::FrontTicket(ticket(-1)),
        ),
        (|r| r.due = Some(at(70)), Assign::Due(Some(at(70)))),
        (
            |r| r.last_success = Some(at(70)),
            Assign::LastSuccess(Some(at(70))),
        ),
        (
            |r| r.last_failure = Some(at(70)),
            Assign::LastFailure(Some(at(70))),
        ),
        (
            |r| {
                r.queue.insert(waiter(3), ticket(3));
            },
            Assign::PutTicket(waiter(3), ticket(3)),
        ),
        (
            |r| {
                r.queue.insert(waiter(1), ticket(0));
            },
            Assign::PutTicket(waiter(1), ticket(0)),
        ),
        (
            |r| {
                r.queue.remove(&waiter(1));
            },
            Assign::DropTicket(waiter(1)),
        ),
        (
            |r| {
                r.holders.insert(holder("a"), lease(8));
            },
            Assign::PutLease(holder("a"), lease(8)),
        ),
        (
            |r| {
                r.holders.remove(&holder("a"));
            },
            Assign::DropLease(holder("a")),
        ),
    ];
    let old = record();
    assert_eq!(Update::between(&old, &old), Update::Assign(Vec::new()));
    for (change, assign) in changes {
        let mut new = old.clone();
        change(&mut new);

        let update = Update::between(&old, &new);

        assert_eq!(update, Update::Assign(vec![assign]));
    }
}
