//! No waiter is left waiting beside a free permit: the time of the sweep, hand-overs, side items.

use super::super::release;
use super::scene::{Scene, WAIT, answer, at, effects, eviction_of, held, id};
use crate::domain::{
    Command, Effect, Outcome, Recover, RecoveryBasis, RunOutcome, Seconds, StalePolicy, WhenFull,
    decide,
};

#[test]
fn the_sweep_comes_when_a_permit_that_was_freed_may_be_given_to_a_waiter() {
    let mut scene = Scene::resting(1);
    scene.queue("b", 5).unwrap();

    scene.release("a", RunOutcome::Succeeded, 10).unwrap();

    assert_eq!(scene.record().due, Some(at(60)));
}

#[test]
fn the_sweep_comes_for_those_that_join_a_lock_that_rests() {
    for when_full in [WAIT, WhenFull::Replace] {
        let mut scene = Scene::resting(2);

        for (name, second) in [("b", 5), ("c", 6)] {
            scene.acquire(name, when_full, second).unwrap();
        }

        assert_eq!(scene.record().due, Some(at(60)), "{when_full:?}");
        assert_eq!(scene.record().queue.len(), 2);
    }
}

#[test]
fn a_repeated_release_hands_over_if_the_first_did_not() {
    let mut scene = Scene::queued(&["b"]);
    let release = scene.release_of("a");
    // The side item of the first waiter was not read for this release.
    let first = release::decide(&scene.read(None), &release, at(2));
    assert_eq!(first.effects, [Effect::HandOver]);
    let change = first.change(scene.items.record.as_ref()).unwrap();
    let _ = scene.items.commit(&change);

    let again = scene.carry_out(&Command::Release(release), 3).unwrap();

    assert_eq!(again.effects, [Effect::HandOver]);
}

#[test]
fn a_waiting_state_that_finds_the_lock_free_leaves_no_side_item() {
    let mut scene = Scene::new(1);

    let done = scene.queue("a", 0);

    assert_eq!(answer(&done), "Granted");
    assert!(scene.items.waiters.is_empty());
}

/// The execution was redriven after the check had seen its end.
#[test]
fn evidence_from_before_a_hand_over_was_confirmed_is_void() {
    for basis in [RecoveryBasis::Seen, RecoveryBasis::Unconfirmed] {
        let mut scene = Scene::queued(&["b"]);
        scene.release("a", RunOutcome::Succeeded, 4).unwrap();
        let recover = Command::Recover(Recover {
            basis,
            ..scene.recovery_of("b")
        });
        scene.queue("b", 6).unwrap();

        let done = scene.carry_out(&recover, 7);

        assert_eq!(answer(&done), "Unchanged", "{basis:?}");
        assert_eq!(scene.holders(), ["b"]);
    }
}

#[test]
fn a_waiter_that_asks_again_confirms_its_grant() {
    let mut scene = Scene::queued(&["b"]);
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();
    let unconfirmed = Command::Recover(Recover {
        basis: RecoveryBasis::Unconfirmed,
        ..scene.recovery_of("b")
    });
    let mut dead = scene.clone();

    let again = scene.queue("b", 5);
    let late = scene.carry_out(&unconfirmed, 6);
    let freed = dead.carry_out(&unconfirmed, 6);

    let answers = [&again, &late, &freed].map(answer);
    assert_eq!(answers, ["AlreadyHeld", "Unchanged", "Freed"]);
}

#[test]
fn a_dropped_place_never_takes_a_permit() {
    let mut scene = Scene::queued(&["b"]);
    let drop = Command::DropWaiter(eviction_of("b"));
    let mut waiting = scene.clone();
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let late = scene.carry_out(&drop, 6);
    waiting.carry_out(&drop, 6).unwrap();

    assert_eq!(answer(&late), "Unchanged");
    assert_eq!(scene.holders(), ["b"]);
    assert!(!waiting.record().queue.contains_key(&id("b")));
}

#[test]
fn a_resumed_holder_is_not_frozen_again_by_what_the_operator_has_seen() {
    let mut scene = Scene::held_on(1, |terms| {
        terms.max_run = Some(Seconds::of(100));
        terms.stale = StalePolicy::Hold;
    });
    let token = scene.token("a");
    for second in [50, 100] {
        scene.renew("a", token, second).unwrap();
    }

    scene.resume(110);
    let beats = [120, 170, 210].map(|second| answer(&scene.renew("a", token, second)));

    assert_eq!(beats, ["Renewed", "Renewed", "Frozen"]);
}

#[test]
fn the_time_of_a_run_begins_when_its_hand_over_reaches_it() {
    let (mut beats, _) = held();
    let mut terms = beats.terms("b");
    terms.max_run = Some(Seconds::of(100));
    terms.no_progress = Some(Seconds::of(50));
    beats.ask(terms.clone(), WAIT, 1).unwrap();
    beats.release("a", RunOutcome::Succeeded, 5).unwrap();
    let mut asks = beats.clone();
    let token = beats.token("b");

    let beat = beats.renew("b", token, 300);
    asks.ask(terms, WAIT, 300).unwrap();
    let later = asks.renew("b", token, 340);
    let over = beats.renew("b", token, 350);

    let answers = [&beat, &later, &over].map(answer);
    assert_eq!(answers, ["Renewed", "Renewed", "Err(Stale)"]);
}

#[test]
fn a_waiter_that_confirms_its_grant_behind_the_lease_has_all_of_its_time() {
    let (mut scene, _) = held();
    let mut terms = scene.terms("b");
    terms.max_run = Some(Seconds::of(100));
    scene.ask(terms.clone(), WAIT, 1).unwrap();
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    // The lease of the hand-over ends at 65 s, and the run time at 105 s.
    scene.ask(terms, WAIT, 90).unwrap();

    let lease = scene.lease("b");
    assert_eq!(
        (lease.run_until, lease.expires_at),
        (Some(at(190)), at(150))
    );
}

#[test]
fn the_time_of_a_run_begins_when_it_learns_of_its_grant() {
    // The lease ends at 60 s. Each later request repeats the acquire, because the answers before it were
    // lost.
    for (case, beat, asks, run_until, stalls_at) in [
        ("the first answer came", None, [].as_slice(), 100, 80),
        ("the second answer came", None, &[30], 130, 110),
        ("the third answer came", None, &[30, 50], 150, 130),
        ("within a second", None, &[1], 100, 80),
        ("after the lease", None, &[70], 160, 140),
        ("long after the lease", None, &[90, 95, 120], 160, 140),
        ("after a heartbeat", Some(20), &[30], 100, 80),
    ] {
        let mut scene = Scene::new(1);
        let mut terms = scene.terms("a");
        terms.max_run = Some(Seconds::of(100));
        terms.no_progress = Some(Seconds::of(80));
        scene.ask(terms.clone(), WhenFull::Refuse, 0).unwrap();
        if let Some(second) = beat {
            scene.renew("a", scene.token("a"), second).unwrap();
        }

        for second in asks {
            let again = scene.ask(terms.clone(), WhenFull::Refuse, *second);
            assert_eq!(answer(&again), "AlreadyHeld", "{case}");
        }

        let lease = scene.lease("a");
        let limits = (lease.run_until, lease.stalls_at);
        assert_eq!(limits, (Some(at(run_until)), Some(at(stalls_at))), "{case}");
    }
}

#[test]
fn a_waiter_that_asks_again_is_let_in_only_if_it_is_the_first() {
    let mut scene = Scene::resting(2);
    for (name, second) in [("b", 5), ("c", 6)] {
        scene.queue(name, second).unwrap();
    }

    let second = scene.queue("c", 60).unwrap();
    let first = scene.queue("b", 61);

    let waits = matches!(second.outcome, Outcome::Queued { position: 2, .. });
    assert!(waits, "{second:?}");
    assert_eq!(second.effects, [Effect::HandOver], "the first may come in");
    assert_eq!(answer(&first), "Granted");
}

#[test]
fn a_waiter_that_takes_up_an_old_turn_confirms_its_grant() {
    // The turn is taken up within the run time and after it, and within the lease and after it.
    for (max_run, second) in [(Some(30), 20), (Some(30), 50), (Some(30), 300), (None, 300)] {
        let (mut scene, _) = held();
        let mut terms = scene.terms("b");
        terms.max_run = max_run.map(Seconds::of);
        scene.ask(terms.clone(), WAIT, 1).unwrap();
        scene.release("a", RunOutcome::Succeeded, 5).unwrap();
        assert!(scene.lease("b").call.is_some());

        let again = scene.ask(terms, WAIT, second);

        assert_eq!(answer(&again), "AlreadyHeld", "at {second} s");
        assert_eq!(scene.lease("b").call, None, "at {second} s");
    }
}

#[test]
fn a_repeated_release_wakes_an_unconfirmed_waiter_again() {
    for (waiters, confirmed, expected) in [
        (&[][..], false, &[][..]),
        (&["b"], false, &["WakeAgain"]),
        (&["b"], true, &[]),
    ] {
        let mut scene = Scene::queued(waiters);
        let release = Command::Release(scene.release_of("a"));
        scene.carry_out(&release, 2).unwrap();
        if confirmed {
            scene.queue("b", 3).unwrap();
        }

        let again = scene.carry_out(&release, 4).unwrap();

        let is_known = matches!(again.outcome, Outcome::Released { already: true, .. });
        assert!(is_known, "{again:?}");
        assert_eq!(effects(&again), expected, "{waiters:?}, {confirmed}");
    }
}

#[test]
fn the_time_of_a_run_begins_when_it_confirms_its_grant() {
    for (second, run_until) in [(50, 150), (200, 300)] {
        let (mut scene, _) = held();
        let mut terms = scene.terms("b");
        terms.max_run = Some(Seconds::of(100));
        scene.ask(terms.clone(), WAIT, 1).unwrap();
        scene.release("a", RunOutcome::Succeeded, 10).unwrap();

        scene.ask(terms, WhenFull::Refuse, second).unwrap();

        let until = scene.lease("b").run_until;
        assert_eq!(until, Some(at(run_until)), "at {second} s");
    }
}

/// The side item of the first waiter was not read for this command.
#[test]
fn a_hand_over_that_changes_nothing_is_asked_for_again() {
    let mut scene = Scene::queued(&["b"]);
    scene.record_mut().holders.clear();

    let done = decide(&scene.read(None), &Command::HandOver, at(2)).unwrap();

    assert_eq!((done.next, done.effects), (None, vec![Effect::HandOver]));
}

#[test]
fn a_checked_lock_is_due_at_its_next_lease_end_or_after_30_s() {
    for (second, due) in [(10, 60), (200, 230)] {
        let (mut scene, _) = held();
        scene.record_mut().due = Some(at(5));

        scene.carry_out(&Command::Reschedule, second).unwrap();
        let again = scene.carry_out(&Command::Reschedule, second);

        let due_at = scene.record().due.unwrap();
        assert!(due_at >= at(due) && due_at <= at(due + 60), "{due_at:?}");
        assert_eq!(answer(&again), "Unchanged");
    }
}

#[test]
fn a_waiter_that_takes_its_turn_by_asking_again_lets_the_next_in() {
    for (others, effects) in [(&["c"][..], vec![Effect::HandOver]), (&[], vec![])] {
        let mut scene = Scene::resting(3);
        scene.queue("b", 5).unwrap();
        for other in others {
            scene.queue(other, 6).unwrap();
        }

        let turn = scene.queue("b", 61);

        assert_eq!(answer(&turn), "Granted");
        assert_eq!(turn.unwrap().effects, effects);
    }
}
