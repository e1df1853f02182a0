//! What an acquire does at a paused lock.

use super::scene::{Decision, Scene, at, audit_note};
use crate::domain::{
    Acquire, Clause, Command, Mode, Outcome, Refusal, RunOutcome, TaskToken, WhenFull, WhenPaused,
    fast_path,
};
use crate::testing;

const REFUSE: WhenPaused = WhenPaused::Refuse;
const CATCH_UP: WhenPaused = WhenPaused::CatchUp;

fn request(scene: &Scene, name: &str, when_paused: WhenPaused) -> Acquire {
    Acquire {
        when_paused,
        task_token: TaskToken::new(format!("{name}-waits")).ok(),
        ..testing::acquire(scene.terms(name))
    }
}

fn ask(scene: &mut Scene, name: &str, when_paused: WhenPaused, second: u64) -> Decision {
    let request = request(scene, name, when_paused);
    scene.carry_out(&Command::Acquire(request), second)
}

fn pause(scene: &mut Scene, second: u64) {
    let pause = Command::Pause(audit_note("upgrade"), None);
    scene.carry_out(&pause, second).unwrap();
}

fn resume(scene: &mut Scene, second: u64) -> Decision {
    scene.carry_out(&Command::Resume(audit_note("done")), second)
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
            pause(&mut scene, 1);

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
    pause(&mut scene, 1);
    ask(&mut scene, "a", CATCH_UP, 2).unwrap();

    let refused = ask(&mut scene, "b", CATCH_UP, 3);

    let Err(Refusal::Paused {
        note,
        until: None,
        waiting: 1,
        holders,
    }) = refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!(note, "upgrade (by arn:aws:iam::1:user/op)");
    assert_eq!(holders, scene.record().oldest_first());
}

#[test]
fn a_run_that_waited_for_the_resume_keeps_its_place_beside_a_holder() {
    let mut scene = Scene::held_by(1, &[("h", 0)]);
    pause(&mut scene, 1);
    ask(&mut scene, "a", CATCH_UP, 2).unwrap();
    resume(&mut scene, 3).unwrap();

    let again = ask(&mut scene, "a", CATCH_UP, 4).unwrap();
    let other = ask(&mut scene, "b", CATCH_UP, 5);
    scene.release("h", RunOutcome::Succeeded, 6).unwrap();
    scene.carry_out(&Command::HandOver, 6).unwrap();

    assert!(
        matches!(again.outcome, Outcome::Queued { position: 1, .. }),
        "{again:?}"
    );
    assert!(matches!(other, Err(Refusal::Held { .. })), "{other:?}");
    assert_eq!(scene.holders(), ["a"]);
}

#[test]
fn a_frozen_lock_refuses_whatever_the_request_says() {
    for when_paused in [REFUSE, CATCH_UP, WhenPaused::Queue { most: 9 }] {
        let mut scene = Scene::held_by(1, &[("h", 0)]);
        let record = scene.items.record.as_mut().unwrap();
        record.mode = Mode::Frozen {
            note: "h is stale".into(),
        };

        let answer = ask(&mut scene, "a", when_paused, 2);

        assert!(matches!(answer, Err(Refusal::Frozen { .. })), "{answer:?}");
    }
}

#[test]
fn a_place_without_a_read_is_taken_at_a_paused_lock_by_those_alone_that_wait_there() {
    for (when_paused, clause) in [
        (WhenPaused::Queue { most: 3 }, Clause::NotFrozen),
        (WhenPaused::Queue { most: 2 }, Clause::Open),
        (REFUSE, Clause::Open),
        (CATCH_UP, Clause::Open),
    ] {
        let scene = Scene::held_by(1, &[("h", 0)]);
        let request = Acquire {
            when_full: WhenFull::Queue { most: 3 },
            ..request(&scene, "a", when_paused)
        };

        let path = fast_path(&Command::Acquire(request), at(2)).unwrap();

        let clauses = path.change.guard.0;
        assert!(clauses.contains(&clause), "{when_paused:?}: {clauses:?}");
    }
}
