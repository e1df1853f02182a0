//! Executions that are redriven after their end.

use super::scene::{Scene, answer, at, held, holder, ticking_under};
use crate::domain::{
    Command, EndingCause, FencingToken, Outcome, Pace, RecoveryBasis, Renew, RunOutcome, Seconds,
    StalePolicy, Terms, Transition, WhenFull,
};
use crate::testing;

/// Returns a run with a heartbeat state that was found dead.
fn dead() -> (Scene, FencingToken) {
    let (mut scene, token) = ticking_under(StalePolicy::Terminate);
    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
    (scene, token)
}

/// Returns a run with a heartbeat state that has failed.
fn failed() -> (Scene, FencingToken) {
    let (mut scene, token) = held();
    scene.renew("a", token, 1).unwrap();
    scene.release("a", RunOutcome::Failed, 5).unwrap();
    (scene, token)
}

#[test]
fn a_redriven_run_gets_its_grant_back_if_no_run_was_granted_since() {
    let (mut scene, token) = dead();

    let beat = scene.renew("a", token, 100);
    let open = scene.marker().end.is_none();
    scene.release("a", RunOutcome::Succeeded, 110).unwrap();

    assert_eq!(answer(&beat), "Reinstated");
    assert!(open, "the run key is taken again");
    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    assert_eq!(scene.marker().outcome(), Some(RunOutcome::Succeeded));
}

#[test]
fn an_acquire_after_a_redrive_makes_earlier_evidence_void() {
    let (mut scene, token) = held();
    let seen = scene.seen("a");
    let terms = Terms {
        redrives: 1,
        ..scene.terms("a")
    };

    let again = scene.ask(terms.clone(), WhenFull::Refuse, 0).unwrap();
    let third = scene.ask(terms, WhenFull::Refuse, 1).unwrap();

    let held = |decision: &Transition| {
        let Outcome::AlreadyHeld { lease } = &decision.outcome else {
            panic!("{decision:?}");
        };
        (lease.token, lease.redrives)
    };
    assert_eq!([&again, &third].map(held), [(token, 1), (token, 1)]);
    assert_ne!(scene.seen("a"), seen);
    assert!(third.next.is_none(), "nothing has changed since");
}

#[test]
fn a_redriven_run_that_was_overtaken_evicted_or_paused_loses_its_lease() {
    let (mut held, token) = dead();
    held.acquire("b", WhenFull::Refuse, 50).unwrap();
    let mut free = held.clone();
    free.release("b", RunOutcome::Succeeded, 70).unwrap();
    let (mut paused, _) = dead();
    paused.pause(50);
    let (mut evicted, _) = ticking_under(StalePolicy::Terminate);
    evicted.evict("a", 5).unwrap();
    for (case, mut scene) in [
        ("held", held),
        ("free again", free),
        ("paused", paused),
        ("evicted", evicted),
    ] {
        let beat = scene.renew("a", token, 3600);

        assert_eq!(answer(&beat), "Err(LeaseLost)", "{case}");
    }
}

#[test]
fn a_redrive_restarts_the_time_limit_of_the_run() {
    let mut scene = Scene::held_on(1, |terms| terms.max_run = Some(Seconds::of(100)));
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", RecoveryBasis::Seen, 90).unwrap();

    let beats = [500, 599, 600].map(|second| answer(&scene.renew("a", token, second)));

    assert_eq!(beats, ["Reinstated", "Renewed", "Err(Stale)"]);
}

#[test]
fn a_late_success_of_a_redriven_run_prevents_its_reinstatement() {
    let (scene, _) = ticking_under(StalePolicy::Terminate);
    let release = Command::Release(scene.release_of("a"));
    let (mut scene, token) = dead();

    let done = scene.carry_out(&release, 100).unwrap();
    let beat = scene.renew("a", token, 101);

    let again = matches!(done.outcome, Outcome::Released { already: false, .. });
    assert!(again, "{done:?}");
    assert_eq!(answer(&beat), "Ended");
    assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    assert_eq!(scene.marker().outcome(), Some(RunOutcome::Succeeded));
    assert!(scene.record().is_idle());
}

#[test]
fn a_heartbeat_reinstates_a_grant_only_15_s_after_its_end() {
    for (second, expected) in [
        (6, "Err(LeaseLost)"),
        (19, "Err(LeaseLost)"),
        (20, "Reinstated"),
    ] {
        for (mut scene, token) in [dead(), failed()] {
            let beat = scene.renew("a", token, second);

            assert_eq!(answer(&beat), expected, "{second}");
        }
    }
}

#[test]
fn a_heartbeat_sent_before_the_release_of_a_failure_is_no_error() {
    for (beats, second, counted, expected) in [
        (true, 5, Some(0), "Ended"),
        (true, 19, Some(0), "Ended"),
        (false, 6, Some(0), "Ended"),
        // The heartbeat may come from an execution that was redriven since.
        (true, 6, None, "Err(LeaseLost)"),
        (true, 6, Some(1), "Reinstated"),
        (false, 6, Some(1), "Err(LeaseLost)"),
        (true, 20, Some(0), "Reinstated"),
        (false, 20, Some(0), "Err(LeaseLost)"),
    ] {
        let (mut scene, token) = held();
        if beats {
            scene.renew("a", token, 1).unwrap();
        }
        scene.release("a", RunOutcome::Failed, 5).unwrap();
        let renew = Command::Renew(Renew {
            redrives: counted,
            ..testing::renew(holder("a"), token)
        });

        let beat = scene.carry_out(&renew, second);

        let case = format!("beats: {beats}, second {second}, {counted:?}");
        assert_eq!(answer(&beat), expected, "{case}");
    }
}

#[test]
fn a_reinstated_lease_has_the_reported_number_of_redrives() {
    for (reported, expected) in [(Some(2), 2), (None, 0)] {
        let (mut scene, token) = dead();
        let renew = Command::Renew(Renew {
            redrives: reported,
            ..testing::renew(holder("a"), token)
        });

        scene.carry_out(&renew, 100).unwrap();

        assert_eq!(scene.lease("a").redrives, expected);
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
        let (mut scene, token) = held();
        if beats {
            scene.renew("a", token, 1).unwrap();
        }

        scene.release("a", outcome, 5).unwrap();

        let lease = &scene.history(token).unwrap().lease;
        assert_eq!(lease.is_some(), kept, "{outcome:?}, {beats}");
    }
}

#[test]
fn the_first_heartbeat_after_a_redrive_never_shortens_the_lease() {
    let mut scene = Scene::held_on(1, |terms| terms.lease = Seconds::of(120));
    let (token, end) = (scene.token("a"), scene.lease("a").expires_at);
    let renew = Renew {
        redrives: Some(1),
        pace: Some(Pace {
            length: Seconds::of(20),
            heartbeat: Seconds::of(5),
        }),
        ..testing::renew(holder("a"), token)
    };

    scene.carry_out(&Command::Renew(renew), 10).unwrap();

    assert_eq!(scene.lease("a").expires_at, end);
    assert_eq!(scene.lease("a").redrives, 1);
}

#[test]
fn the_time_of_a_redriven_run_begins_when_its_work_may_begin_again() {
    for (resumes, run_until) in [(false, 150), (true, 190)] {
        let mut scene = Scene::held_on(1, |terms| {
            terms.max_run = Some(Seconds::of(100));
            terms.no_progress = Some(Seconds::of(30));
        });
        let token = scene.token("a");
        let renew = |resumes| {
            Command::Renew(Renew {
                redrives: Some(1),
                resumes,
                ..testing::renew(holder("a"), token)
            })
        };
        scene.carry_out(&renew(false), 50).unwrap();

        let later = scene.carry_out(&renew(resumes), 90);

        // After 30 s without progress, only the run that may not begin its work yet is within its
        // limits.
        let expected = if resumes { "Renewed" } else { "Err(Stale)" };
        assert_eq!(answer(&later), expected);
        assert_eq!(scene.lease("a").run_until, Some(at(run_until)));
    }
}

/// After a committed stop the heartbeats of the grant are refused, so no redrive continues it.
#[test]
fn an_ending_holder_gets_its_grant_again_only_after_a_redrive() {
    use EndingCause::{Evicted, Over, Stopped};
    // The cause of the ending, the redrives in the lease and in the request, and the answer.
    for (cause, known, reported, expected) in [
        (Over, 0, 1, "AlreadyHeld"),
        (Over, 0, 0, "Err(Held)"),
        (Over, 1, 0, "Err(Held)"),
        (Stopped, 0, 1, "Err(Held)"),
        (Evicted("broken".into()), 0, 1, "Err(Held)"),
    ] {
        let (mut scene, _) = held();
        let lease = scene.record_mut().holders.get_mut(&holder("a")).unwrap();
        lease.redrives = known;
        lease.exit = lease.exit.ending(cause.clone(), at(1));
        let terms = Terms {
            redrives: reported,
            ..scene.terms("a")
        };

        let again = scene.ask(terms, WhenFull::Refuse, 2);

        assert_eq!(answer(&again), expected, "{cause:?}: {known}, {reported}");
    }
}
