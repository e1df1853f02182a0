//! A run that takes the place of the holder.

use super::scene::{Scene, holder};
use crate::domain::{
    Effect, QUEUE_MAX, RecoveryBasis, Refusal, RunOutcome, Seconds, WaiterId, WhenFull,
};

#[test]
fn a_run_that_replaces_has_the_oldest_holder_stopped_and_goes_first() {
    let mut scene = Scene::held_by(2, &[("old", 0), ("young", 1)]);
    scene.queue("b", 2).unwrap();

    let done = scene.acquire("new", WhenFull::Replace, 3).unwrap();

    let [Effect::Stop(stopped, lease)] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert_eq!(*stopped, holder("old"));
    assert_eq!(lease.replaced_by, Some(holder("new")));
    assert_eq!(scene.line(), ["new", "b"]);
}

#[test]
fn a_replaced_run_is_in_the_history_with_the_name_of_the_one_that_took_its_place() {
    let mut scene = Scene::held_by(1, &[("old", 0)]);
    let token = scene.token("old");
    scene.acquire("new", WhenFull::Replace, 3).unwrap();

    scene.recover("old", RecoveryBasis::Seen, 5).unwrap();

    let end = scene.history(token).unwrap().end.clone().unwrap();
    assert_eq!(end.outcome, RunOutcome::Replaced);
    assert!(end.evidence.unwrap().contains("replaced by new"));
    assert_eq!(scene.holders(), ["new"]);
}

/// It waits for the distance to the last grant, not for a permit.
#[test]
fn a_run_that_replaces_stops_no_run_where_a_permit_is_free() {
    let mut scene = Scene::new(2);
    let mut terms = scene.terms("old");
    terms.min_interval = Some(Seconds::of(60));
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();

    let done = scene.acquire("new", WhenFull::Replace, 3).unwrap();

    assert_eq!(done.effects, []);
    assert_eq!(scene.line(), ["new"]);
}

#[test]
fn a_second_run_that_replaces_goes_before_the_first_and_stops_no_other() {
    let mut scene = Scene::held_by(1, &[("old", 0)]);
    scene.acquire("first", WhenFull::Replace, 3).unwrap();

    let done = scene.acquire("second", WhenFull::Replace, 4).unwrap();

    assert!(done.effects.is_empty(), "{:?}", done.effects);
    assert_eq!(scene.line(), ["second", "first"]);
}

#[test]
fn a_run_that_asks_again_to_replace_has_the_stop_tried_again() {
    let mut scene = Scene::held_by(1, &[("old", 0)]);
    scene.acquire("new", WhenFull::Replace, 3).unwrap();

    let again = scene.acquire("new", WhenFull::Replace, 300).unwrap();

    assert!(
        matches!(&again.effects[..], [Effect::Stop(..)]),
        "{:?}",
        again.effects
    );
    assert_eq!(scene.line(), ["new"]);
}

#[test]
fn a_holder_that_finishes_before_it_is_stopped_has_finished() {
    let mut scene = Scene::held_by(1, &[("old", 0)]);
    let token = scene.token("old");
    scene.acquire("new", WhenFull::Replace, 3).unwrap();

    scene.release("old", RunOutcome::Succeeded, 4).unwrap();

    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    assert_eq!(scene.holders(), ["new"]);
}

#[test]
fn a_free_permit_is_taken_without_stopping_anybody() {
    let mut scene = Scene::held_by(2, &[("old", 0)]);

    let done = scene.acquire("new", WhenFull::Replace, 3).unwrap();

    assert!(done.effects.is_empty());
    assert_eq!(scene.holders(), ["new", "old"]);
}

#[test]
fn a_run_that_asks_again_to_replace_has_its_own_holder_stopped() {
    let mut scene = Scene::held_by(2, &[("old", 0), ("before", 1)]);
    scene.acquire("new", WhenFull::Replace, 3).unwrap();

    let again = scene.acquire("new", WhenFull::Replace, 4).unwrap();
    let waits = scene.queue("new", 5).unwrap();

    let [Effect::Stop(stopped, _)] = &again.effects[..] else {
        panic!("{:?}", again.effects)
    };
    assert_eq!(*stopped, holder("old"));
    assert!(waits.effects.is_empty(), "it only waits: {waits:?}");
}

#[test]
fn a_queue_at_its_most_takes_no_run_that_replaces() {
    let mut scene = Scene::held_by(1, &[("old", 0)]);
    let record = scene.items.record.as_mut().unwrap();
    for number in 0..QUEUE_MAX {
        record.last_ticket = record.last_ticket.behind();
        let id = WaiterId::new(format!("{number:016x}")).unwrap();
        record.queue.insert(id, record.last_ticket);
    }

    let full = scene.acquire("new", WhenFull::Replace, 1);

    assert!(
        matches!(
            full,
            Err(Refusal::QueueFull {
                most: QUEUE_MAX,
                ..
            })
        ),
        "{full:?}"
    );
}
