//! Waiters, and the order in which they are granted permits.

use super::scene::{Scene, WAIT, answer, at, effects, held, holder, task_token};
use crate::domain::{
    Acquire, Command, Dismissal, Effect, Outcome, Refusal, RunOutcome, Seconds, WhenFull,
};
use crate::testing;

#[test]
fn waiters_are_let_in_in_the_order_of_their_arrival() {
    let mut scene = Scene::queued(&["b", "c", "d"]);

    for (now, next) in [("a", "b"), ("b", "c"), ("c", "d")] {
        scene.release(now, RunOutcome::Succeeded, 5).unwrap();

        assert_eq!(scene.holders(), [next]);
    }
}

#[test]
fn a_release_hands_over_in_its_own_write_and_wakes_the_waiter_after_it() {
    let mut scene = Scene::queued(&["b"]);

    let done = scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let [Effect::Wake(woken, lease)] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert_eq!(*woken, holder("b"));
    assert_eq!(lease.token, scene.token("b"));
    let token = lease.call.as_ref().and_then(|call| call.task_token.clone());
    assert_eq!(token, Some(task_token("b-waits")));
    assert!(scene.items.waiters.is_empty(), "the side item went with it");
}

#[test]
fn a_hand_over_fails_if_its_waiter_changed_or_a_run_joined_the_front() {
    let seen = Scene::queued(&["b"]);
    let decided = seen.clone().release("a", RunOutcome::Succeeded, 5);
    let change = decided.unwrap().change(seen.items.record.as_ref());
    let change = change.unwrap();
    let (mut arrived, mut urgent, mut anew) = (seen.clone(), seen.clone(), seen);
    arrived.queue("late", 6).unwrap();
    urgent.acquire("urgent", WhenFull::Replace, 6).unwrap();
    let waiter = anew.items.waiters.values_mut().next().unwrap();
    waiter.task_token = Some(task_token("b-waits-anew"));
    for (mut scene, holders, line) in [
        (arrived, ["b"], &["late"][..]),
        (urgent, ["a"], &["urgent", "b"]),
        (anew, ["a"], &["b"]),
    ] {
        scene.items.commit(&change);

        assert_eq!(scene.holders(), holders, "{line:?}");
        assert_eq!(scene.line(), line);
    }
}

#[test]
fn no_run_overtakes_the_queue() {
    let mut scene = Scene::held_by(2, &[("a", 0), ("b", 0)]);
    scene.queue("c", 1).unwrap();

    let skip = scene.acquire("d", WhenFull::Refuse, 2);

    let is_behind = matches!(skip, Err(Refusal::Held { waiting: 1, .. }));
    assert!(is_behind, "{skip:?}");
}

#[test]
fn a_waiter_that_acquires_again_keeps_its_place() {
    let mut scene = Scene::queued(&["b", "c"]);

    let again = scene.queue("b", 300).unwrap();

    let Outcome::Queued {
        position, length, ..
    } = again.outcome
    else {
        panic!("{again:?}")
    };
    assert_eq!((position, length), (1, 2));
    assert!(again.next.is_none(), "nothing is written");
}

#[test]
fn a_queue_at_its_bound_takes_no_other_run() {
    let (mut scene, _) = held();
    let one = WhenFull::Queue { most: 1 };
    scene.acquire("b", one, 1).unwrap();

    let full = scene.acquire("c", one, 2);
    let wider = scene.acquire("c", WhenFull::Queue { most: 2 }, 2);

    let Err(Refusal::QueueFull { most, waiting, .. }) = full else {
        panic!("{full:?}")
    };
    assert_eq!((most, waiting), (1, 1));
    assert_eq!(answer(&wider), "Queued");
}

/// Returns the acquire of a waiting state that gives up at second `until`.
fn until(name: &str, until: u64) -> Command {
    Command::Acquire(Acquire {
        when_full: WAIT,
        task_token: Some(task_token("waits")),
        wait_until: Some(at(until)),
        ..testing::acquire(testing::terms(holder(name)))
    })
}

#[test]
fn a_waiter_whose_time_is_up_leaves_the_queue() {
    let mut scene = Scene::queued(&["b", "c"]);

    let early = scene.carry_out(&until("b", 100), 99);
    let late = scene.carry_out(&until("b", 100), 100).unwrap();

    assert_eq!(answer(&early), "Queued");
    let gave_up = matches!(late.outcome, Outcome::GaveUp { waiting: 1, .. });
    assert!(gave_up, "{late:?}");
    assert_eq!(scene.line(), ["c"]);
}

#[test]
fn a_permit_skips_a_waiter_that_gave_up() {
    let (mut scene, _) = held();
    scene.carry_out(&until("hasty", 10), 1).unwrap();
    scene.queue("b", 2).unwrap();

    let released = scene.release("a", RunOutcome::Succeeded, 20).unwrap();
    let handed = scene.hand_over(20);

    let [Effect::Dismiss(gone, Dismissal::GaveUp), Effect::HandOver] = &released.effects[..] else {
        panic!("{:?}", released.effects)
    };
    assert_eq!(gone.terms.holder, holder("hasty"));
    assert_eq!(effects(&handed), ["Wake"]);
    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn a_waiter_is_dismissed_only_if_the_run_with_its_key_succeeded() {
    let (mut succeeded, _) = held();
    for (name, second) in [("c", 1), ("b", 2)] {
        succeeded.ask(succeeded.tick(name), WAIT, second).unwrap();
    }
    succeeded.release("a", RunOutcome::Succeeded, 3).unwrap();
    let mut failed = succeeded.clone();

    let done = succeeded.release("c", RunOutcome::Succeeded, 5).unwrap();
    failed.release("c", RunOutcome::Failed, 5).unwrap();

    let [Effect::Dismiss(_, Dismissal::Duplicate(_))] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert!(succeeded.record().is_idle());
    assert_eq!(failed.holders(), ["b"]);
    assert_eq!(failed.marker().holder, holder("b"));
}

#[test]
fn a_semaphore_lets_in_as_many_as_it_has_permits() {
    let mut scene = Scene::held_by(3, &[("a", 0), ("b", 0), ("c", 0)]);
    for name in ["d", "e", "f", "g"] {
        scene.queue(name, 1).unwrap();
    }

    for name in ["b", "a", "c"] {
        scene.release(name, RunOutcome::Succeeded, 5).unwrap();
    }

    assert_eq!(scene.holders(), ["d", "e", "f"]);
    assert_eq!(scene.line(), ["g"]);
}

#[test]
fn a_lock_that_rests_keeps_its_waiters_until_the_interval_is_over() {
    let mut scene = Scene::held_on(1, |terms| terms.min_interval = Some(Seconds::of(30)));
    scene.queue("b", 1).unwrap();

    scene.release("a", RunOutcome::Succeeded, 5).unwrap();
    scene.hand_over(29);
    assert_eq!((scene.holders(), scene.line()), (vec![], vec!["b"]));
    scene.hand_over(30);

    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn a_paused_lock_takes_waiters_and_lets_them_in_when_it_is_resumed() {
    let mut scene = Scene::new(1);
    scene.pause(0);
    scene.queue("a", 1).unwrap();
    scene.queue("b", 2).unwrap();
    assert_eq!(scene.line(), ["a", "b"]);

    scene.resume(3);

    assert_eq!((scene.holders(), scene.line()), (vec!["a"], vec!["b"]));
}

#[test]
fn a_waiter_without_a_side_item_does_not_block_the_queue() {
    let mut scene = Scene::queued(&["ghost", "b"]);
    let waiters = &mut scene.items.waiters;
    waiters.retain(|_, waiter| waiter.terms.holder == holder("b"));

    scene.release("a", RunOutcome::Succeeded, 5).unwrap();
    scene.hand_over(5);

    assert_eq!(scene.holders(), ["b"]);
}
