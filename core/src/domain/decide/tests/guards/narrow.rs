//! The clauses of a decided write that needs less than the version of the record, or nothing of it.

use super::super::scene::{Scene, WAIT, at, holder, id};
use super::{Change, NOW, assert_bound, assert_broken, enter, hold, move_lease, pause, resize};
use crate::domain::{Clause, FencingToken, Guard, Permits, RunOutcome, Seconds, Ticket, WhenFull};

#[test]
fn the_guard_of_a_hand_over_allows_only_new_waiters() {
    let mut scene = Scene::held_by(1, &[("a", 50)]);
    scene.queue("b", 60).unwrap();
    let before = scene.record().clone();
    let done = scene.release("a", RunOutcome::Succeeded, NOW).unwrap();
    let guard = done.narrow_guard.unwrap();

    let mut arrived = before.clone();
    enter(&mut arrived, "c");
    arrived.version += 1;
    assert!(guard.holds(Some(&arrived)), "an arrival is let in between");
    assert_bound(
        &guard,
        &before,
        &[
            ("a pause", pause),
            ("other permits", resize),
            ("a run that goes first", |record| {
                record.front_ticket = record.front_ticket.ahead();
            }),
            ("a rest", |record| record.gate.not_before = at(NOW + 1)),
            ("another sweep", |record| record.due = Some(at(1))),
            ("a heartbeat", move_lease),
            ("another ticket", |record| {
                record.queue.insert(id("b"), Ticket::from_number(9));
            }),
            ("the waiter as a holder", |record| hold(record, "b")),
            ("a grant at the same time", |record| {
                record.last_token = FencingToken::next(FencingToken::NONE, at(NOW));
            }),
        ],
    );
}

/// If another release is written in between, it hands nothing over, because this write has the first
/// waiter. A waiter that was to replace another holder may get this permit; then that holder keeps its
/// place.
#[test]
fn a_semaphore_hand_over_needs_full_holders_and_an_unchanged_target() {
    let released: Change = ("a release", |record| {
        record.holders.remove(&holder("a"));
    });
    let renewed: Change = ("a heartbeat", move_lease);
    for (when_full, change) in [(WAIT, released), (WhenFull::Replace, renewed)] {
        let mut scene = Scene::held_by(2, &[("a", 50), ("b", 51)]);
        scene.acquire("c", when_full, 60).unwrap();
        let before = scene.record().clone();

        let done = scene.release("b", RunOutcome::Succeeded, NOW).unwrap();

        assert_eq!(scene.holders(), ["a", "c"]);
        assert_eq!(scene.lease("a").exit.replaced_by, None);
        assert_broken(&done.narrow_guard.unwrap(), &before, &[change]);
    }
}

#[test]
fn a_decision_without_a_narrow_guard_needs_the_version_that_was_seen() {
    let mut scene = Scene::held_by(2, &[("a", 50), ("b", 51)]);
    let before = scene.record().clone();
    let done = scene.evict("a", NOW).unwrap();

    let guard = done.change(Some(&before)).unwrap().guard;

    assert_bound(
        &guard,
        &before,
        &[("a write", |record| record.version += 1)],
    );
    let first = scene.acquire("c", WhenFull::Refuse, NOW).unwrap();
    assert_eq!(
        first.change(None).unwrap().guard,
        Guard(vec![Clause::Absent]),
        "the first write of a lock needs that there is none"
    );
}

/// A write that changes the capacity depends on the version of the record.
#[test]
fn the_fast_enqueue_does_not_change_the_capacity() {
    for (permits, fast) in [(2, true), (3, false)] {
        let mut scene = Scene::held_on(2, |terms| terms.min_interval = Some(Seconds::of(600)));
        if !fast {
            scene.release("a", RunOutcome::Succeeded, 60).unwrap();
        }
        let mut terms = scene.terms("b");
        terms.permits = Permits::new(permits).unwrap();

        let done = scene.ask(terms, WAIT, NOW).unwrap();

        assert_eq!(done.fast_path.is_some(), fast, "{permits} permits");
        assert_eq!(i64::from(scene.record().permits.get()), permits);
        if !fast {
            assert_eq!(
                scene.record().due,
                Some(at(NOW)),
                "the first of a lock at rest"
            );
        }
    }
}
