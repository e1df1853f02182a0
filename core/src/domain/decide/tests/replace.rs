//! A run that takes the place of the holder.

use super::scene::{Scene, held, holder};
use crate::domain::{Effect, QUEUE_MAX, RecoveryBasis, Refusal, RunOutcome, WaiterId, WhenFull};

/// A mutex whose holder `a` is replaced by `new`.
fn replaced() -> Scene {
    let (mut scene, _) = held();
    scene.acquire("new", WhenFull::Replace, 3).unwrap();
    scene
}

#[test]
fn a_run_that_replaces_has_the_oldest_holder_stopped_and_goes_first() {
    let mut scene = Scene::held_by(2, &[("old", 0), ("young", 1)]);
    scene.queue("b", 2).unwrap();

    let done = scene.acquire("new", WhenFull::Replace, 3).unwrap();

    let [Effect::Stop(stopped, lease)] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert_eq!(*stopped, holder("old"));
    assert_eq!(lease.exit.replaced_by, Some(holder("new")));
    assert_eq!(scene.line(), ["new", "b"]);
}

#[test]
fn a_replaced_run_is_in_the_history_with_the_name_of_the_one_that_took_its_place() {
    let mut scene = replaced();
    let token = scene.token("a");

    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();

    let evidence = "replaced by new; the execution is ABORTED";
    assert_eq!(scene.end(token), (RunOutcome::Replaced, evidence));
    assert_eq!(scene.holders(), ["new"]);
}

/// Where it waits, it is for the distance to the last grant.
#[test]
fn a_run_that_replaces_stops_no_run_where_a_permit_is_free() {
    let (resting, open) = (Scene::resting(2), Scene::held_by(2, &[("a", 0)]));
    for (mut scene, holders, line) in [
        (resting, &["a"][..], &["new"][..]),
        (open, &["a", "new"], &[]),
    ] {
        let done = scene.acquire("new", WhenFull::Replace, 3).unwrap();

        assert_eq!(done.effects, []);
        assert_eq!(scene.holders(), holders);
        assert_eq!(scene.line(), line);
    }
}

#[test]
fn a_second_run_that_replaces_goes_before_the_first_and_stops_no_other() {
    let mut scene = replaced();

    let done = scene.acquire("second", WhenFull::Replace, 4).unwrap();

    assert_eq!(done.effects, []);
    assert_eq!(scene.line(), ["second", "new"]);
}

#[test]
fn a_holder_that_finishes_before_it_is_stopped_has_finished() {
    let mut scene = replaced();
    let token = scene.token("a");

    scene.release("a", RunOutcome::Succeeded, 4).unwrap();

    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    assert_eq!(scene.holders(), ["new"]);
}

#[test]
fn a_run_that_asks_again_to_replace_has_the_stop_of_its_own_holder_tried_again() {
    let mut scene = Scene::held_by(2, &[("old", 0), ("before", 1)]);
    scene.acquire("new", WhenFull::Replace, 3).unwrap();

    for second in [4, 300] {
        let again = scene.acquire("new", WhenFull::Replace, second).unwrap();

        let [Effect::Stop(stopped, _)] = &again.effects[..] else {
            panic!("{:?}", again.effects)
        };
        assert_eq!(*stopped, holder("old"));
        assert_eq!(scene.line(), ["new"]);
    }
    let waits = scene.queue("new", 301).unwrap();
    assert_eq!(waits.effects, [], "it only waits");
}

#[test]
fn a_queue_at_its_most_takes_no_run_that_replaces() {
    let (mut scene, _) = held();
    let record = scene.record_mut();
    for number in 0..QUEUE_MAX {
        record.last_ticket = record.last_ticket.behind();
        let id = WaiterId::new(format!("{number:016x}")).unwrap();
        record.queue.insert(id, record.last_ticket);
    }

    let full = scene.acquire("new", WhenFull::Replace, 1);

    let Err(Refusal::QueueFull { most, .. }) = full else {
        panic!("{full:?}")
    };
    assert_eq!(most, QUEUE_MAX);
}
