//! Waiters that keep their place in a write, and writes whose guard requires an unchanged record.

use super::super::release;
use super::scene::{Scene, WAIT, answer, at, effects, eviction_of, id};
use crate::domain::{Command, Effect, Permits, RunOutcome, WhenFull};

#[test]
fn a_waiter_is_let_in_only_by_its_own_side_item() {
    let scene = Scene::queued(&["b", "c"]);

    let done = release::decide(&scene.read(Some(id("c"))), &scene.release_of("a"), at(3));

    assert_eq!(done.effects, [Effect::HandOver]);
}

#[test]
fn a_waiter_that_expects_another_capacity_waits_until_no_run_holds() {
    let mut scene = Scene::held_by(2, &[("a", 0), ("c", 1)]);
    scene.queue("b", 2).unwrap();
    let item = scene.items.waiters.get_mut(&id("b")).unwrap();
    item.terms.permits = Permits::new(3).unwrap();

    let early = scene.release("a", RunOutcome::Succeeded, 3).unwrap();
    assert_eq!((early.effects, scene.line()), (vec![], vec!["b"]));
    let late = scene.release("c", RunOutcome::Succeeded, 4).unwrap();

    assert_eq!(effects(&late), ["Wake"]);
    assert_eq!(scene.holders(), ["b"]);
    assert_eq!(scene.record().permits.get(), 3);
}

#[test]
fn a_waiter_whose_key_is_not_free_yet_keeps_its_place() {
    let mut scene = Scene::ticking(2);
    scene.acquire("c", WhenFull::Refuse, 1).unwrap();
    scene.mark_ending("a", 2);
    scene.ask(scene.tick("b"), WAIT, 3).unwrap();

    let done = scene.release("c", RunOutcome::Succeeded, 4).unwrap();

    assert_eq!(done.effects, []);
    assert_eq!((scene.holders(), scene.line()), (vec!["a"], vec!["b"]));
}

#[test]
fn only_a_hand_over_in_a_full_lock_has_a_narrow_guard() {
    let mut full = Scene::queued(&["b"]);
    let mut dropped = full.clone();
    let drop = Command::DropWaiter(eviction_of("b"));
    // A permit of the lock stays free while the lock rests.
    let mut resting = Scene::resting(2);
    resting.queue("b", 5).unwrap();

    let straight_on = full.release("a", RunOutcome::Succeeded, 10).unwrap();
    let dropped = dropped.carry_out(&drop, 10);
    let with_room = resting.release("a", RunOutcome::Succeeded, 61).unwrap();

    assert!(straight_on.narrow_guard.is_some());
    assert_eq!(answer(&dropped), "Freed");
    let dropped = dropped.unwrap();
    assert_eq!(dropped.narrow_guard, None, "no waiter was admitted");
    assert_eq!(effects(&with_room), ["Wake"]);
    assert_eq!(with_room.narrow_guard, None, "a permit is left");
}
