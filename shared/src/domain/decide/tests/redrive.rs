//! An execution that goes on after it was over.

use super::scene::{Scene, holder, with_key};
use crate::domain::{Command, Outcome, RecoveryBasis, Refusal, Renew, RunOutcome, WhenFull};
use crate::testing;

/// A run with a heartbeat state that was found dead.
fn dead() -> (Scene, crate::domain::FencingToken) {
    let mut scene = Scene::new(1);
    let terms = with_key(scene.terms("a"), "tick");
    scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
    (scene, token)
}

/// A run with a heartbeat state that has failed.
fn failed() -> (Scene, crate::domain::FencingToken) {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.release("a", RunOutcome::Failed, 5).unwrap();
    (scene, token)
}

#[test]
fn a_redriven_run_gets_its_grant_back_if_no_run_was_granted_since() {
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
fn a_redriven_run_that_asks_once_more_voids_what_was_seen_before() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    let seen = scene.seen("a");
    let terms = crate::domain::Terms {
        redrives: 1,
        ..scene.terms("a")
    };

    let again = scene.ask(terms.clone(), WhenFull::Refuse, 0).unwrap();
    let third = scene.ask(terms, WhenFull::Refuse, 1).unwrap();

    let held = |decision: &crate::domain::Transition| {
        let Outcome::AlreadyHeld { lease } = &decision.outcome else {
            panic!("{decision:?}");
        };
        (lease.token, lease.redrives)
    };
    assert_eq!((held(&again), held(&third)), ((token, 1), (token, 1)));
    assert_ne!(scene.seen("a"), seen);
    assert!(third.next.is_none(), "nothing has changed since");
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
    let pause = crate::domain::Command::Pause(super::scene::audit_note("upgrade"), None);
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

    let beat = scene.renew("a", token, 3600);

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
    scene.recover("a", RecoveryBasis::Seen, 90).unwrap();

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
        expect_every: None,
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

#[test]
fn a_heartbeat_brings_a_grant_back_fifteen_seconds_after_the_end_and_not_before() {
    for (second, back) in [(6, false), (19, false), (20, true)] {
        for (mut scene, token) in [dead(), failed()] {
            let beat = scene.renew("a", token, second);

            assert_eq!(beat.is_ok(), back, "{second}: {beat:?}");
        }
    }
}

#[test]
fn a_grant_that_is_back_counts_the_redrives_that_brought_it() {
    for (reported, expected) in [(Some(2), 2), (None, 0)] {
        let (mut scene, token) = dead();
        let renew = Command::Renew(Renew {
            redrives: reported,
            ..testing::renew(holder("a"), token)
        });

        scene.carry_out(&renew, 100).unwrap();

        assert_eq!(scene.record().holders[&holder("a")].redrives, expected);
    }
}

#[test]
fn the_history_keeps_the_lease_of_a_run_that_may_be_redriven() {
    use RunOutcome::{Failed, Succeeded};
    for (outcome, beats, kept) in [
        (Failed, true, true),
        (Succeeded, true, false),
        (Failed, false, false),
    ] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let token = scene.token("a");
        if beats {
            scene.renew("a", token, 1).unwrap();
        }

        scene.release("a", outcome, 5).unwrap();

        let lease = &scene.history(token).unwrap().lease;
        assert_eq!(lease.is_some(), kept, "{outcome:?}, {beats}");
    }
}
