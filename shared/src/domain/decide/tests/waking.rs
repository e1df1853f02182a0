//! No waiter is left beside a free permit: the sweep's time, hand-overs, side items.

use super::super::release;
use super::scene::{Scene, at, audit_note, holder};
use crate::domain::{
    Command, Effect, Evict, Outcome, Recover, RecoveryBasis, RunOutcome, Seconds, Snapshot,
    StalePolicy, WaiterId, WhenFull, decide,
};
use crate::testing;

/// A lock of `permits` whose holder has a day, and whose next grant is a minute after the last.
fn resting(permits: i64) -> Scene {
    let mut scene = Scene::new(permits);
    let mut terms = scene.terms("a");
    terms.lease = Seconds::of(86_400);
    terms.min_interval = Some(Seconds::of(60));
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    scene
}

#[test]
fn the_sweep_comes_when_a_permit_that_was_freed_may_be_given_to_a_waiter() {
    let mut scene = resting(1);
    scene.queue("b", 5).unwrap();

    scene.release("a", RunOutcome::Succeeded, 10).unwrap();

    assert_eq!(scene.record().due, Some(at(60)));
}

#[test]
fn the_sweep_comes_for_those_that_join_a_lock_that_rests() {
    for when_full in [WhenFull::Queue { most: 9 }, WhenFull::Replace] {
        let mut scene = resting(2);

        for (name, second) in [("b", 5), ("c", 6)] {
            scene.acquire(name, when_full, second).unwrap();
        }

        assert_eq!(scene.record().due, Some(at(60)), "{when_full:?}");
        assert_eq!(scene.record().queue.len(), 2);
    }
}

#[test]
fn a_release_that_comes_twice_hands_over_what_the_first_was_cut_off_before() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let release = testing::release(holder("a"), scene.token("a"));
    scene.queue("b", 1).unwrap();
    // The side item of the first waiter was not read with this release.
    let seen = Snapshot {
        record: scene.items.record.clone(),
        ..Snapshot::default()
    };
    let first = release::decide(&seen, &release, at(2));
    assert_eq!(first.effects, [Effect::HandOver]);
    let change = first.change(seen.record.as_ref()).unwrap();
    let _ = scene.items.commit(&change);

    let again = scene.carry_out(&Command::Release(release), 3).unwrap();

    assert_eq!(again.effects, [Effect::HandOver]);
}

#[test]
fn a_waiting_state_that_finds_the_lock_free_leaves_no_side_item() {
    let mut scene = Scene::new(1);

    let done = scene.queue("a", 0).unwrap();

    assert!(matches!(done.outcome, Outcome::Granted { .. }), "{done:?}");
    assert!(scene.items.waiters.is_empty());
}

#[test]
fn a_waiter_that_asks_again_confirms_its_grant() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();
    let unconfirmed = Command::Recover(Recover {
        basis: RecoveryBasis::Unconfirmed,
        ..testing::recover(holder("b"), scene.token("b"), scene.seen("b"))
    });
    let mut dead = scene.clone();

    let again = scene.queue("b", 5).unwrap();
    let late = scene.carry_out(&unconfirmed, 6).unwrap();
    let freed = dead.carry_out(&unconfirmed, 6).unwrap();

    assert!(matches!(again.outcome, Outcome::AlreadyHeld { .. }));
    assert_eq!(late.outcome, Outcome::Unchanged, "it may be at work");
    assert!(matches!(freed.outcome, Outcome::Freed { .. }));
}

#[test]
fn a_dropped_place_never_takes_a_permit() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    let drop = Command::DropWaiter(Evict {
        holder: holder("b"),
        audit: audit_note("its execution is over"),
    });
    let mut waiting = scene.clone();
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let late = scene.carry_out(&drop, 6).unwrap();
    waiting.carry_out(&drop, 6).unwrap();

    assert_eq!(late.outcome, Outcome::Unchanged);
    assert_eq!(scene.holders(), ["b"]);
    let id = WaiterId::of(&holder("b"));
    assert!(!waiting.record().queue.contains_key(&id));
}

#[test]
fn a_resumed_holder_is_not_frozen_again_by_what_the_operator_has_seen() {
    let mut scene = Scene::new(1);
    let mut terms = scene.terms("a");
    terms.max_run = Some(Seconds::of(100));
    terms.stale = StalePolicy::Hold;
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    let token = scene.token("a");
    scene.renew("a", token, 50).unwrap();
    scene.renew("a", token, 100).unwrap();

    let resume = Command::Resume(audit_note("it is well"));
    scene.carry_out(&resume, 110).unwrap();
    let next = scene.renew("a", token, 120).unwrap();
    scene.renew("a", token, 170).unwrap();
    let over = scene.renew("a", token, 210).unwrap();

    assert!(matches!(next.outcome, Outcome::Renewed { .. }), "{next:?}");
    assert!(matches!(over.outcome, Outcome::Frozen { .. }), "{over:?}");
}

#[test]
fn the_time_of_a_run_begins_when_its_hand_over_reaches_it() {
    let waits = WhenFull::Queue { most: 9 };
    let mut beats = Scene::held_by(1, &[("a", 0)]);
    let mut terms = beats.terms("b");
    terms.max_run = Some(Seconds::of(100));
    terms.no_progress = Some(Seconds::of(50));
    beats.ask(terms.clone(), waits, 1).unwrap();
    beats.release("a", RunOutcome::Succeeded, 5).unwrap();
    let mut asks = beats.clone();
    let token = beats.token("b");

    let beat = beats.renew("b", token, 300).unwrap();
    asks.ask(terms, waits, 300).unwrap();
    let later = asks.renew("b", token, 340).unwrap();
    let over = beats.renew("b", token, 350);

    assert!(matches!(beat.outcome, Outcome::Renewed { .. }), "{beat:?}");
    assert!(
        matches!(later.outcome, Outcome::Renewed { .. }),
        "{later:?}"
    );
    assert!(over.is_err(), "{over:?}");
}

#[test]
fn a_release_that_comes_twice_leaves_nothing_to_do_with_an_empty_queue() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let release = Command::Release(testing::release(holder("a"), scene.token("a")));
    scene.carry_out(&release, 2).unwrap();

    let again = scene.carry_out(&release, 3).unwrap();

    assert!(again.effects.is_empty(), "{:?}", again.effects);
}

#[test]
fn a_waiter_that_asks_again_is_let_in_only_if_it_is_the_first() {
    let mut scene = resting(2);
    for (name, second) in [("b", 5), ("c", 6)] {
        scene.queue(name, second).unwrap();
    }

    let second = scene.queue("c", 60).unwrap();
    let first = scene.queue("b", 61).unwrap();

    assert!(
        matches!(second.outcome, Outcome::Queued { position: 2, .. }),
        "{second:?}"
    );
    assert_eq!(second.effects, [Effect::HandOver], "the first may come in");
    assert!(
        matches!(first.outcome, Outcome::Granted { .. }),
        "{first:?}"
    );
}

#[test]
fn a_waiter_that_takes_up_an_old_turn_has_confirmed_it() {
    let waits = WhenFull::Queue { most: 9 };
    // Within the time of the run, and after it.
    for second in [20, 50, 300] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let mut terms = scene.terms("b");
        terms.max_run = Some(Seconds::of(30));
        scene.ask(terms.clone(), waits, 1).unwrap();
        scene.release("a", RunOutcome::Succeeded, 5).unwrap();
        assert!(scene.record().holders[&holder("b")].call.is_some());

        scene.ask(terms, waits, second).unwrap();

        let lease = &scene.record().holders[&holder("b")];
        assert_eq!(lease.call, None, "at {second} s");
    }
}

#[test]
fn a_release_that_comes_twice_wakes_no_run_that_has_confirmed_its_grant() {
    for (confirmed, effects) in [(false, 1), (true, 0)] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        scene.queue("b", 1).unwrap();
        let release = Command::Release(testing::release(holder("a"), scene.token("a")));
        scene.carry_out(&release, 2).unwrap();
        if confirmed {
            scene.queue("b", 3).unwrap();
        }

        let again = scene.carry_out(&release, 4).unwrap();

        assert_eq!(again.effects.len(), effects, "{:?}", again.effects);
    }
}

/// Only the time that its hand-over took is given back, and only where that has used it up.
#[test]
fn a_waiter_that_confirms_its_grant_in_time_has_no_more_time_for_it() {
    for (second, run_until) in [(50, 110), (200, 300)] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let mut terms = scene.terms("b");
        terms.max_run = Some(Seconds::of(100));
        scene
            .ask(terms.clone(), WhenFull::Queue { most: 9 }, 1)
            .unwrap();
        scene.release("a", RunOutcome::Succeeded, 10).unwrap();

        scene.ask(terms, WhenFull::Refuse, second).unwrap();

        let lease = &scene.record().holders[&holder("b")];
        assert_eq!(lease.run_until, Some(at(run_until)), "at {second} s");
    }
}

/// The side item of the first waiter was not read with it.
#[test]
fn a_hand_over_that_changes_nothing_is_asked_for_again() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    scene.queue("b", 1).unwrap();
    scene.items.record.as_mut().unwrap().holders.clear();
    let seen = Snapshot {
        record: scene.items.record.clone(),
        ..Snapshot::default()
    };

    let done = decide(&seen, &Command::HandOver, at(2)).unwrap();

    assert_eq!((done.next, done.effects), (None, vec![Effect::HandOver]));
}

#[test]
fn a_lock_that_was_looked_at_comes_up_again_when_its_next_lease_ends_or_after_a_while() {
    for (second, due) in [(10, 60), (200, 230)] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        scene.items.record.as_mut().unwrap().due = Some(at(5));

        scene.carry_out(&Command::Reschedule, second).unwrap();
        let again = scene.carry_out(&Command::Reschedule, second).unwrap();

        let due_at = scene.record().due.unwrap();
        assert!(due_at >= at(due) && due_at <= at(due + 60), "{due_at:?}");
        assert_eq!(again.outcome, Outcome::Unchanged);
    }
}

#[test]
fn a_waiter_that_takes_its_turn_by_asking_again_lets_the_next_in() {
    for (others, effects) in [(&["c"][..], vec![Effect::HandOver]), (&[], vec![])] {
        let mut scene = resting(3);
        scene.queue("b", 5).unwrap();
        for other in others {
            scene.queue(other, 6).unwrap();
        }

        let turn = scene.queue("b", 61).unwrap();

        assert!(matches!(turn.outcome, Outcome::Granted { .. }), "{turn:?}");
        assert_eq!(turn.effects, effects);
    }
}
