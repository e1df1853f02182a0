//! An execution that goes on after it was over.

use super::scene::{Scene, with_key};
use crate::domain::{Death, Outcome, Refusal, RunOutcome, WhenFull};

/// A run with a heartbeat state that was found dead.
fn dead() -> (Scene, crate::domain::FencingToken) {
    let mut scene = Scene::new(1);
    let terms = with_key(scene.terms("a"), "tick");
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", Death::Seen, 5).unwrap();
    (scene, token)
}

#[test]
fn a_redriven_run_gets_its_grant_back_if_nobody_was_granted_since() {
    let (mut scene, token) = dead();

    let beat = scene.renew("a", token, 100).unwrap();
    let open = scene.marker("tick").unwrap().end.is_none();
    scene.release("a", RunOutcome::Succeeded, 110).unwrap();

    assert!(
        matches!(beat.outcome, Outcome::Reinstated { .. }),
        "{beat:?}"
    );
    assert!(open, "the run key is taken again");
    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    let marker = scene.marker("tick").unwrap();
    assert_eq!(marker.outcome(), Some(RunOutcome::Succeeded));
}

#[test]
fn a_redriven_run_that_was_overtaken_has_lost_its_lease() {
    let (mut scene, token) = dead();
    scene.acquire("b", WhenFull::Refuse, 50).unwrap();
    let held = scene.clone().renew("a", token, 60);
    scene.release("b", RunOutcome::Succeeded, 70).unwrap();

    let free = scene.renew("a", token, 80);

    assert!(matches!(held, Err(Refusal::LeaseLost { .. })), "{held:?}");
    assert!(matches!(free, Err(Refusal::LeaseLost { .. })), "{free:?}");
}

#[test]
fn a_redriven_run_does_not_get_past_a_pause() {
    let (mut scene, token) = dead();
    let pause = crate::domain::Command::Pause(super::scene::order("upgrade"));
    scene.carry_out(&pause, 50).unwrap();

    let beat = scene.renew("a", token, 60);

    assert!(matches!(beat, Err(Refusal::LeaseLost { .. })), "{beat:?}");
}

#[test]
fn an_evicted_run_does_not_come_back() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.evict("a", 5).unwrap();

    let beat = scene.renew("a", token, 6);

    assert!(matches!(beat, Err(Refusal::LeaseLost { .. })), "{beat:?}");
}

#[test]
fn a_redriven_run_has_its_whole_time_once_more() {
    let mut scene = Scene::new(1);
    let mut terms = scene.terms("a");
    terms.max_run = Some(crate::domain::Seconds::of(100));
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", Death::Seen, 90).unwrap();

    scene.renew("a", token, 500).unwrap();
    let within = scene.renew("a", token, 599);
    let after = scene.renew("a", token, 600);

    assert!(within.is_ok(), "{within:?}");
    assert!(matches!(after, Err(Refusal::Stale { .. })), "{after:?}");
}

#[test]
fn a_redriven_run_that_is_done_before_its_first_heartbeat_leaves_nothing_to_put_back() {
    let (mut scene, token) = dead();
    let release = crate::domain::Command::Release(crate::domain::Release {
        holder: super::scene::holder("a"),
        token,
        run_key: crate::domain::RunKey::new("tick").ok(),
        outcome: RunOutcome::Succeeded,
        retention: super::scene::RETENTION,
    });

    let done = scene.carry_out(&release, 100).unwrap();
    let beat = scene.renew("a", token, 101).unwrap();

    let again = matches!(done.outcome, Outcome::Released { already: false, .. });
    assert!(again, "{done:?}");
    assert_eq!(beat.outcome, Outcome::Ended);
    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    let marker = scene.marker("tick").unwrap();
    assert_eq!(marker.outcome(), Some(RunOutcome::Succeeded));
    assert!(scene.record().is_idle());
}
