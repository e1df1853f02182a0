//! Who waits, and whose turn comes.

use super::scene::{Scene, at, audit_note, holder, with_key};
use crate::domain::{
    Acquire, Command, Dismissal, Effect, Outcome, Refusal, RunOutcome, Seconds, TaskToken, WhenFull,
};
use crate::testing;

/// A mutex held by `a`, with these waiters.
fn line(waiters: &[&str]) -> Scene {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    for name in waiters {
        scene.queue(name, 1).unwrap();
    }
    scene
}

#[test]
fn waiters_are_let_in_in_the_order_of_their_arrival() {
    let mut scene = line(&["b", "c", "d"]);

    for (now, next) in [("a", "b"), ("b", "c"), ("c", "d")] {
        scene.release(now, RunOutcome::Succeeded, 5).unwrap();

        assert_eq!(scene.holders(), [next]);
    }
}

#[test]
fn a_release_hands_over_in_its_own_write_and_wakes_the_waiter_after_it() {
    let mut scene = line(&["b"]);

    let done = scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let [Effect::Wake(woken, lease)] = &done.effects[..] else {
        panic!("{:?}", done.effects)
    };
    assert_eq!(*woken, holder("b"));
    assert_eq!(lease.token, scene.token("b"));
    let token = lease.call.as_ref().and_then(|call| call.task_token.clone());
    assert_eq!(token, TaskToken::new("b-waits").ok());
    assert!(scene.items.waiters.is_empty(), "the side item went with it");
}

#[test]
fn a_hand_over_stands_although_others_enqueue_in_between() {
    let mut scene = line(&["b"]);
    let mut seen = scene.clone();
    let decided = seen.release("a", RunOutcome::Succeeded, 5).unwrap();
    let change = decided.change(scene.items.record.as_ref()).unwrap();

    scene.queue("late", 6).unwrap();
    scene.items.commit(&change);

    assert_eq!(scene.holders(), ["b"]);
    assert_eq!(scene.line(), ["late"]);
}

#[test]
fn a_hand_over_does_not_stand_when_another_run_went_first_in_between() {
    let mut scene = line(&["b"]);
    let mut seen = scene.clone();
    let decided = seen.release("a", RunOutcome::Succeeded, 5).unwrap();
    let change = decided.change(scene.items.record.as_ref()).unwrap();

    scene.acquire("urgent", WhenFull::Replace, 6).unwrap();
    scene.items.commit(&change);

    assert_eq!(scene.holders(), ["a"]);
}

#[test]
fn no_run_passes_the_queue() {
    let mut scene = Scene::held_by(2, &[("a", 0), ("b", 0)]);
    scene.queue("c", 1).unwrap();

    let skip = scene.acquire("d", WhenFull::Refuse, 2);

    assert!(
        matches!(skip, Err(Refusal::Held { waiting: 1, .. })),
        "{skip:?}"
    );
}

#[test]
fn asking_again_keeps_the_place() {
    let mut scene = line(&["b", "c"]);

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
fn a_waiter_that_asks_again_after_its_turn_came_finds_its_grant() {
    let mut scene = line(&["b"]);
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let again = scene.queue("b", 300).unwrap();

    assert!(
        matches!(again.outcome, Outcome::AlreadyHeld { .. }),
        "{again:?}"
    );
}

#[test]
fn a_queue_at_its_bound_takes_no_other_run() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let one = WhenFull::Queue { most: 1 };
    scene.acquire("b", one, 1).unwrap();

    let full = scene.acquire("c", one, 2);
    let wider = scene.acquire("c", WhenFull::Queue { most: 2 }, 2);

    assert!(
        matches!(
            full,
            Err(Refusal::QueueFull {
                most: 1,
                waiting: 1,
                ..
            })
        ),
        "{full:?}"
    );
    assert!(wider.is_ok());
}

#[test]
fn a_waiter_whose_time_is_up_leaves_the_queue() {
    let mut scene = line(&["b", "c"]);
    let waits = |until| {
        Command::Acquire(Acquire {
            when_full: WhenFull::Queue { most: 9 },
            task_token: TaskToken::new("b-again").ok(),
            wait_until: Some(at(until)),
            ..testing::acquire(Scene::new(1).terms("b"))
        })
    };

    let early = scene.carry_out(&waits(100), 99).unwrap();
    let late = scene.carry_out(&waits(100), 100).unwrap();

    assert!(matches!(early.outcome, Outcome::Queued { .. }), "{early:?}");
    assert!(
        matches!(late.outcome, Outcome::GaveUp { waiting: 1, .. }),
        "{late:?}"
    );
    assert_eq!(scene.line(), ["c"]);
}

#[test]
fn a_turn_that_comes_after_the_waiter_gave_up_goes_to_the_next() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let hasty = Acquire {
        when_full: WhenFull::Queue { most: 9 },
        task_token: TaskToken::new("hasty-waits").ok(),
        wait_until: Some(at(10)),
        ..testing::acquire(scene.terms("hasty"))
    };
    scene.carry_out(&Command::Acquire(hasty), 1).unwrap();
    scene.queue("b", 2).unwrap();

    let released = scene.release("a", RunOutcome::Succeeded, 20).unwrap();
    let handed = scene.carry_out(&Command::HandOver, 20).unwrap();

    let [Effect::Dismiss(gone, Dismissal::GaveUp), Effect::HandOver] = &released.effects[..] else {
        panic!("{:?}", released.effects)
    };
    assert_eq!(gone.terms.holder, holder("hasty"));
    assert!(matches!(&handed.effects[..], [Effect::Wake(..)]));
    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn a_waiter_whose_tick_has_succeeded_meanwhile_is_dismissed_as_duplicate() {
    let mut scene = Scene::new(1);
    let first = with_key(scene.terms("first"), "tick");
    let again = with_key(scene.terms("again"), "tick");
    scene.ask(first, WhenFull::Refuse, 0).unwrap();
    scene.ask(again, WhenFull::Queue { most: 9 }, 1).unwrap();

    let done = scene.release("first", RunOutcome::Succeeded, 5).unwrap();

    let effects = &done.effects[..];
    assert!(
        matches!(effects, [Effect::Dismiss(_, Dismissal::Duplicate(_))]),
        "{effects:?}"
    );
    assert!(scene.record().is_idle());
}

#[test]
fn a_waiter_whose_tick_has_failed_meanwhile_tries_it_again() {
    let mut scene = Scene::new(1);
    let first = with_key(scene.terms("first"), "tick");
    let again = with_key(scene.terms("again"), "tick");
    scene.ask(first, WhenFull::Refuse, 0).unwrap();
    scene.ask(again, WhenFull::Queue { most: 9 }, 1).unwrap();

    scene.release("first", RunOutcome::Failed, 5).unwrap();

    assert_eq!(scene.holders(), ["again"]);
    assert_eq!(scene.marker("tick").unwrap().holder, holder("again"));
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
    let mut scene = Scene::new(1);
    let mut first = scene.terms("first");
    first.min_interval = Some(Seconds::of(30));
    scene.ask(first, WhenFull::Refuse, 0).unwrap();
    scene.queue("b", 1).unwrap();

    scene.release("first", RunOutcome::Succeeded, 5).unwrap();
    scene.carry_out(&Command::HandOver, 29).unwrap();
    let resting = scene.holders().len();
    scene.carry_out(&Command::HandOver, 30).unwrap();

    assert_eq!((resting, scene.holders()), (0, vec!["b"]));
}

#[test]
fn a_paused_lock_takes_waiters_and_lets_them_in_when_it_is_resumed() {
    let mut scene = Scene::new(1);
    scene
        .carry_out(&Command::Pause(audit_note("upgrade"), None), 0)
        .unwrap();
    scene.queue("a", 1).unwrap();
    scene.queue("b", 2).unwrap();
    let waiting = scene.line().len();

    scene
        .carry_out(&Command::Resume(audit_note("done")), 3)
        .unwrap();

    assert_eq!(waiting, 2);
    assert_eq!((scene.holders(), scene.line()), (vec!["a"], vec!["b"]));
}

#[test]
fn a_place_whose_side_item_is_gone_does_not_hold_up_the_queue() {
    let mut scene = line(&["ghost", "b"]);
    scene
        .items
        .waiters
        .retain(|_, waiter| waiter.terms.holder == holder("b"));

    scene.release("a", RunOutcome::Succeeded, 5).unwrap();
    scene.carry_out(&Command::HandOver, 5).unwrap();

    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn a_waiter_that_registered_anew_does_not_lose_its_new_state() {
    let mut scene = line(&["b"]);
    let mut seen = scene.clone();
    let decided = seen.release("a", RunOutcome::Succeeded, 5).unwrap();
    let change = decided.change(scene.items.record.as_ref()).unwrap();
    let waiter = scene.items.waiters.values_mut().next().unwrap();
    waiter.task_token = TaskToken::new("b-waits-anew").ok();

    scene.items.commit(&change);

    assert_eq!(scene.holders(), ["a"], "the release reads the waiter again");
}

#[test]
fn a_release_that_comes_twice_wakes_the_waiter_again_that_has_not_shown_up() {
    let mut scene = line(&["b"]);
    let release = Command::Release(crate::domain::Release {
        expect_every: None,
        holder: holder("a"),
        token: scene.token("a"),
        run_key: None,
        outcome: RunOutcome::Succeeded,
        retention: super::scene::RETENTION,
    });
    scene.carry_out(&release, 5).unwrap();

    let again = scene.carry_out(&release, 6).unwrap();

    assert!(matches!(
        again.outcome,
        Outcome::Released { already: true, .. }
    ));
    assert!(
        matches!(&again.effects[..], [Effect::WakeAgain(..)]),
        "{:?}",
        again.effects
    );
}
