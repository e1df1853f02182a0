//! What a decided write asks of the record where less than its version, or nothing, is enough.

use super::super::scene::{Scene, at, holder};
use super::{NOW, assert_bound, enter, hold, move_lease, pause, resize};
use crate::domain::{
    Clause, FencingToken, Guard, LockRecord, Permits, RunOutcome, Seconds, Ticket, Transition,
    WaiterId, WhenFull,
};

fn hand_over(outcome: RunOutcome) -> (LockRecord, Transition) {
    let mut scene = Scene::held_by(1, &[("a", 50)]);
    scene.queue("b", 60).unwrap();
    let before = scene.record().clone();
    let done = scene.release("a", outcome, NOW).unwrap();
    (before, done)
}

#[test]
fn a_hand_over_lets_others_arrive_and_needs_all_else_as_it_was_seen() {
    let (before, done) = hand_over(RunOutcome::Succeeded);
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
            ("a rest", |record| {
                record.not_before = at(NOW).plus(Seconds::of(1))
            }),
            ("another time of the sweep", |record| {
                record.due = Some(at(1))
            }),
            ("a heartbeat", move_lease),
            ("another ticket", |record| {
                let id = WaiterId::of(&holder("b"));
                record.queue.insert(id, Ticket::from_number(9));
            }),
            ("the waiter as a holder", |record| hold(record, "b")),
            ("a grant at the same time", |record| {
                record.last_token = FencingToken::next(FencingToken::NONE, at(NOW));
            }),
        ],
    );
}

/// A release written in between may grant nothing, because the first waiter waits for this one.
#[test]
fn a_hand_over_of_several_permits_needs_all_the_others_held() {
    let mut scene = Scene::held_by(2, &[("a", 50), ("b", 51)]);
    scene.acquire("c", WhenFull::Queue { most: 9 }, 60).unwrap();
    let before = scene.record().clone();
    let done = scene.release("b", RunOutcome::Succeeded, NOW).unwrap();
    assert_eq!(scene.holders(), ["a", "c"]);

    let guard = done.narrow_guard.unwrap();

    let mut released = before.clone();
    released.holders.remove(&holder("a"));
    assert!(guard.holds(Some(&before)) && !guard.holds(Some(&released)));
}

/// The run that comes in had asked for another holder's place.
#[test]
fn a_hand_over_that_spares_another_holder_needs_its_lease_as_it_was_seen() {
    let mut scene = Scene::held_by(2, &[("a", 50), ("b", 51)]);
    scene.acquire("c", WhenFull::Replace, 60).unwrap();
    let before = scene.record().clone();
    let done = scene.release("b", RunOutcome::Succeeded, NOW).unwrap();
    assert_eq!(scene.holders(), ["a", "c"]);
    assert_eq!(scene.record().holders[&holder("a")].replaced_by, None);

    let guard = done.narrow_guard.unwrap();

    let mut renewed = before.clone();
    move_lease(&mut renewed);
    assert!(guard.holds(Some(&before)) && !guard.holds(Some(&renewed)));
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

/// The numbers of a record that is written anew have to be known.
#[test]
fn a_place_is_taken_without_a_read_only_where_the_lock_keeps_its_capacity() {
    for (permits, fast) in [(2, true), (3, false)] {
        let mut scene = Scene::new(2);
        let mut first = scene.terms("a");
        first.min_interval = Some(Seconds::of(600));
        scene.ask(first, WhenFull::Refuse, 50).unwrap();
        if !fast {
            scene.release("a", RunOutcome::Succeeded, 60).unwrap();
        }
        let mut terms = scene.terms("b");
        terms.permits = Permits::new(permits).unwrap();

        let done = scene.ask(terms, WhenFull::Queue { most: 9 }, NOW).unwrap();

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
