//! Waiters that a write leaves where they are, and writes that must not meet another one.

use super::super::release;
use super::scene::{Scene, at, audit_note, holder, with_key};
use crate::domain::{
    Command, Effect, Evict, MarkEnding, Outcome, Permits, RunOutcome, Seconds, Snapshot, WaiterId,
    WhenFull,
};
use crate::testing;

#[test]
fn a_waiter_is_let_in_only_by_its_own_side_item() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    scene.queue("c", 2).unwrap();
    let second = WaiterId::of(&holder("c"));
    let item = scene.items.waiters.get(&second).cloned();
    let seen = Snapshot {
        record: scene.items.record.clone(),
        waiter: Some((second, item)),
        ..Snapshot::default()
    };
    let release = testing::release(holder("a"), scene.token("a"));

    let done = release::decide(&seen, &release, at(3));

    assert_eq!(done.effects, [Effect::HandOver]);
}

#[test]
fn a_waiter_that_expects_another_capacity_waits_until_no_run_holds() {
    let mut scene = Scene::held_by(2, &[("a", 0), ("c", 1)]);
    scene.queue("b", 2).unwrap();
    let id = WaiterId::of(&holder("b"));
    let item = scene.items.waiters.get_mut(&id).unwrap();
    item.terms.permits = Permits::new(3).unwrap();

    let early = scene.release("a", RunOutcome::Succeeded, 3).unwrap();
    let at_first = scene.record().clone();
    let late = scene.release("c", RunOutcome::Succeeded, 4).unwrap();

    assert!(early.effects.is_empty(), "{:?}", early.effects);
    assert!(at_first.queue.contains_key(&id));
    assert!(matches!(late.effects[..], [Effect::Wake(..)]), "{late:?}");
    assert_eq!(scene.holders(), ["b"]);
    assert_eq!(scene.record().permits.get(), 3);
}

#[test]
fn a_waiter_whose_key_is_not_free_yet_keeps_its_place() {
    let mut scene = Scene::new(2);
    let keyed = with_key(scene.terms("a"), "tick");
    scene.ask(keyed, WhenFull::Refuse, 0).unwrap();
    scene.acquire("c", WhenFull::Refuse, 1).unwrap();
    let waits = WhenFull::Queue { most: 9 };
    let keyed = with_key(scene.terms("b"), "tick");
    scene.ask(keyed, waits, 2).unwrap();
    let mark = Command::MarkEnding(MarkEnding {
        holder: holder("a"),
        token: scene.token("a"),
        seen: None,
    });
    scene.carry_out(&mark, 3).unwrap();

    let done = scene.release("c", RunOutcome::Succeeded, 4).unwrap();

    assert!(done.effects.is_empty(), "{:?}", done.effects);
    assert_eq!(scene.holders(), ["a"]);
    assert_eq!(scene.line(), ["b"]);
}

#[test]
fn only_a_permit_that_goes_straight_on_in_a_full_lock_lets_others_write_in_between() {
    let mut full = Scene::held_by(1, &[("a", 0)]);
    full.queue("b", 1).unwrap();
    let mut dropped = full.clone();
    let drop = Command::DropWaiter(Evict {
        holder: holder("b"),
        audit: audit_note("not needed"),
    });
    // One of two permits stays free while the lock rests.
    let mut resting = Scene::new(2);
    let mut terms = resting.terms("a");
    terms.lease = Seconds::of(86_400);
    terms.min_interval = Some(Seconds::of(60));
    resting.ask(terms, WhenFull::Refuse, 0).unwrap();
    resting.queue("b", 5).unwrap();

    let straight_on = full.release("a", RunOutcome::Succeeded, 10).unwrap();
    let dropped = dropped.carry_out(&drop, 10).unwrap();
    let with_room = resting.release("a", RunOutcome::Succeeded, 61).unwrap();

    assert!(straight_on.narrow_guard.is_some());
    assert!(
        matches!(dropped.outcome, Outcome::Freed { .. }),
        "{dropped:?}"
    );
    assert_eq!(dropped.narrow_guard, None, "no waiter was admitted");
    assert!(
        matches!(with_room.effects[..], [Effect::Wake(..)]),
        "{with_room:?}"
    );
    assert_eq!(with_room.narrow_guard, None, "a permit is left");
}
