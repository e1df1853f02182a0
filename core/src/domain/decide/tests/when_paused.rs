//! What an acquire does at a paused lock.

use super::scene::{Decision, OPERATOR, Scene, WAIT, answer, at, held};
use crate::domain::{
    Acquire, Clause, Command, Mode, Outcome, Refusal, RunOutcome, WhenFull, WhenPaused, fast_path,
};

const REFUSE: WhenPaused = WhenPaused::Refuse;
const CATCH_UP: WhenPaused = WhenPaused::CatchUp;

fn ask(scene: &mut Scene, name: &str, when_paused: WhenPaused, second: u64) -> Decision {
    let request = Acquire {
        when_full: WhenFull::Refuse,
        when_paused,
        ..scene.request(name, WAIT)
    };
    scene.carry_out(&Command::Acquire(request), second)
}

#[test]
fn a_run_waits_at_a_paused_lock_as_its_request_says() {
    let wait = WhenPaused::Queue { most: 2 };
    for (case, requests, line) in [
        ("refused", [REFUSE, REFUSE, REFUSE], &[][..]),
        ("up to the bound", [wait, wait, wait], &["a", "b"]),
        ("one catches up", [CATCH_UP, CATCH_UP, CATCH_UP], &["a"]),
        ("a place is taken", [wait, CATCH_UP, wait], &["a", "c"]),
    ] {
        for (state, mut scene) in [
            ("free", Scene::new(1)),
            ("held", Scene::held_by(1, &[("h", 0)])),
        ] {
            scene.pause(1);

            let answers = ["a", "b", "c"].into_iter().zip(requests);
            let answers: Vec<_> = answers
                .map(|(name, when)| ask(&mut scene, name, when, 2))
                .collect();

            assert_eq!(scene.line(), line, "{case}, {state}: {answers:?}");
        }
    }
}

#[test]
fn a_refusal_says_who_holds_and_who_waits() {
    let mut scene = Scene::held_by(1, &[("h", 0)]);
    scene.pause(1);
    ask(&mut scene, "a", CATCH_UP, 2).unwrap();

    let refused = ask(&mut scene, "b", CATCH_UP, 3);

    let expected = Refusal::Paused {
        note: format!("upgrade (by {OPERATOR})"),
        until: None,
        waiting: 1,
        holders: scene.record().oldest_first(),
    };
    assert_eq!(refused, Err(expected));
}

#[test]
fn a_run_that_waited_for_the_resume_keeps_its_place_beside_a_holder() {
    let mut scene = Scene::held_by(1, &[("h", 0)]);
    scene.pause(1);
    ask(&mut scene, "a", CATCH_UP, 2).unwrap();
    scene.resume(3);

    let again = ask(&mut scene, "a", CATCH_UP, 4).unwrap();
    let other = ask(&mut scene, "b", CATCH_UP, 5);
    scene.release("h", RunOutcome::Succeeded, 6).unwrap();
    scene.hand_over(6);

    let waits = matches!(again.outcome, Outcome::Queued { position: 1, .. });
    assert!(waits, "{again:?}");
    assert_eq!(answer(&other), "Err(Held)");
    assert_eq!(scene.holders(), ["a"]);
}

#[test]
fn a_frozen_lock_refuses_whatever_the_request_says() {
    for when_paused in [REFUSE, CATCH_UP, WhenPaused::Queue { most: 9 }] {
        let (mut scene, _) = held();
        scene.record_mut().gate.mode = Mode::Frozen {
            note: "a is stale".into(),
        };

        let refused = ask(&mut scene, "b", when_paused, 2);

        assert_eq!(answer(&refused), "Err(Frozen)");
    }
}

#[test]
fn the_fast_enqueue_at_a_paused_lock_is_only_for_runs_that_wait_there() {
    for (when_paused, clause) in [
        (WhenPaused::Queue { most: 3 }, Clause::NotFrozen),
        (WhenPaused::Queue { most: 2 }, Clause::Open),
        (REFUSE, Clause::Open),
        (CATCH_UP, Clause::Open),
    ] {
        let request = Acquire {
            when_paused,
            ..held().0.request("b", WhenFull::Queue { most: 3 })
        };

        let path = fast_path(&Command::Acquire(request), at(2)).unwrap();

        let clauses = path.change.guard.0;
        assert!(clauses.contains(&clause), "{when_paused:?}: {clauses:?}");
    }
}
