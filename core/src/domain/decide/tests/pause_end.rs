//! Pauses with an end.

use super::scene::{RETENTION, Scene, WAIT, answer, at, audit_note, held, holder};
use crate::domain::{
    ActKind, Command, FencingToken, Freeze, Mode, Opening, Refusal, RunOutcome, Seconds,
    StalePolicy, WhenFull,
};

/// Pauses the lock until second 100.
fn pause(scene: &mut Scene, second: u64) {
    let pause = Command::Pause(audit_note("upgrade"), Some(at(100)));
    scene.carry_out(&pause, second).unwrap();
}

fn end_pause(scene: &mut Scene, second: u64) -> String {
    answer(&scene.carry_out(
        &Command::Open(Opening::PauseEnd, audit_note("it is over")),
        second,
    ))
}

#[test]
fn an_acquire_sees_an_open_lock_from_the_end_of_the_pause_on() {
    let mut scene = Scene::new(1);
    pause(&mut scene, 0);

    let before = scene.acquire("a", WhenFull::Refuse, 99);
    let after = scene.acquire("a", WhenFull::Refuse, 100);

    let Err(Refusal::Paused { until, .. }) = before else {
        panic!("{before:?}")
    };
    assert_eq!(until, Some(at(100)));
    assert_eq!(answer(&after), "Granted");
}

#[test]
fn a_lock_is_due_at_the_end_of_its_pause() {
    let (mut idle, (mut released, _)) = (Scene::new(1), held());
    let mut evicted = Scene::queued(&["b"]);
    for scene in [&mut idle, &mut released, &mut evicted] {
        pause(scene, 1);
    }
    released.release("a", RunOutcome::Succeeded, 2).unwrap();
    evicted.evict("a", 2).unwrap();
    evicted.evict("b", 2).unwrap();

    for mut scene in [idle, released, evicted] {
        assert_eq!(scene.record().due, Some(at(100)));
        scene.carry_out(&Command::Reschedule, 3).unwrap();
        assert_eq!(scene.record().due, Some(at(100)));
    }
}

#[test]
fn the_sweep_ends_an_expired_pause_and_hands_over() {
    use ActKind::{Paused, Resumed};
    let (mut scene, _) = held();
    pause(&mut scene, 1);
    scene.queue("b", 2).unwrap();
    scene.release("a", RunOutcome::Succeeded, 3).unwrap();
    assert!(scene.holders().is_empty());

    let answers = [99, 100, 101].map(|second| end_pause(&mut scene, second));

    assert_eq!(answers, ["Unchanged", "Done", "Unchanged"]);
    assert_eq!(scene.record().gate.mode, Mode::Open);
    assert_eq!(scene.holders(), ["b"]);
    let expected = [(Paused, "upgrade"), (Resumed, "it is over")];
    assert_eq!(scene.orders(), expected);
}

#[test]
fn the_end_of_a_pause_does_not_end_a_newer_pause() {
    for until in [None, Some(at(200))] {
        let mut scene = Scene::new(1);
        pause(&mut scene, 0);
        let longer = Command::Pause(audit_note("longer"), until);
        scene.carry_out(&longer, 50).unwrap();

        assert_eq!(end_pause(&mut scene, 100), "Unchanged", "{until:?}");

        assert_eq!(scene.record().gate.mode.pause_end(), until);
        assert_eq!(scene.record().due, until);
    }
}

#[test]
fn an_expired_pause_lets_grants_and_hand_overs_through() {
    let mut scene = Scene::new(1);
    pause(&mut scene, 0);
    scene.acquire("a", WhenFull::Refuse, 100).unwrap();
    scene.queue("b", 101).unwrap();

    let released = scene.release("a", RunOutcome::Succeeded, 102).unwrap();

    assert_eq!(released.narrow_guard, None, "a pause is no clause");
    assert_eq!(scene.holders(), ["b"]);
    assert!(scene.record().last_token > FencingToken::NONE);
    assert_eq!(end_pause(&mut scene, 103), "Done");
    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn a_pause_that_ends_over_a_stale_holder_under_hold_lets_no_run_in() {
    let mut scene = Scene::held_on(2, |terms| {
        terms.max_run = Some(Seconds::of(50));
        terms.stale = StalePolicy::Hold;
    });
    pause(&mut scene, 1);

    let refused = answer(&scene.acquire("b", WhenFull::Refuse, 120));
    let queued = answer(&scene.acquire("c", WAIT, 120));
    let opened = end_pause(&mut scene, 120);
    let freeze = Command::Freeze(Freeze {
        holder: holder("a"),
        token: scene.token("a"),
        note: "a is over its time".into(),
        retention: RETENTION,
    });
    let frozen = answer(&scene.carry_out(&freeze, 121));

    assert_eq!((refused.as_str(), queued.as_str()), ("Err(Held)", "Queued"));
    assert_eq!((opened.as_str(), frozen.as_str()), ("Unchanged", "Frozen"));
    assert_eq!(scene.holders(), ["a"]);
}
