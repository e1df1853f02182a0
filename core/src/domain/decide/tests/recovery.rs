//! Recovery of dead holders, and the tasks that their runs ended with.

use super::scene::{Scene, answer, effects, held, holder, task_token};
use crate::domain::{
    Command, Effect, FencingToken, NoteTask, Outcome, RecoveryBasis, Release, RunGuard, RunId,
    RunOutcome, WhenFull,
};
use crate::testing;

#[test]
fn a_recovery_frees_the_permit_and_records_the_evidence() {
    let (mut scene, token) = held();

    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();

    let end = (RunOutcome::Recovered, "the execution is ABORTED");
    assert_eq!(scene.end(token), end);
    assert!(scene.record().is_idle());
}

#[test]
fn a_recovery_hands_the_permit_to_the_first_waiter() {
    let mut scene = Scene::queued(&["b"]);

    let done = scene.recover("a", RecoveryBasis::Seen, 5).unwrap();

    assert_eq!(effects(&done), ["Wake"]);
    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn an_expired_lease_is_recovered_two_seconds_after_its_end() {
    let (mut scene, _) = held();

    let answers =
        [61, 62].map(|second| answer(&scene.recover("a", RecoveryBasis::Expired, second)));

    assert_eq!(answers, ["Unchanged", "Freed"]);
    assert!(scene.record().is_idle());
}

#[test]
fn evidence_from_before_a_heartbeat_or_another_grant_is_void() {
    let (mut renewed, token) = held();
    let recover = Command::Recover(renewed.recovery_of("a"));
    let mut granted = renewed.clone();
    renewed.renew("a", token, 30).unwrap();
    granted.carry_out(&recover, 5).unwrap();
    granted.acquire("a", WhenFull::Refuse, 6).unwrap();
    for (case, mut scene) in [("a heartbeat", renewed), ("a grant", granted)] {
        let late = scene.carry_out(&recover, 31);

        assert_eq!(answer(&late), "Unchanged", "{case}");
        assert_eq!(scene.holders(), ["a"], "{case}");
    }
}

#[test]
fn a_late_heartbeat_keeps_the_lease_until_it_is_freed() {
    let (mut scene, token) = held();
    let late = scene.renew("a", token, 1000);
    let (mut freed, token) = held();
    freed.recover("a", RecoveryBasis::Expired, 62).unwrap();
    freed.acquire("b", WhenFull::Refuse, 62).unwrap();

    let lost = freed.renew("a", token, 63);

    assert_eq!([&late, &lost].map(answer), ["Renewed", "Err(LeaseLost)"]);
}

#[test]
fn a_late_or_forged_heartbeat_does_not_reinstate_a_released_grant() {
    let (mut scene, token) = held();
    scene.renew("a", token, 1).unwrap();
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let [own, forged] = ["a", "b"].map(|name| answer(&scene.renew(name, token, 6)));

    assert_eq!([own, forged], ["Ended", "Err(LeaseLost)"]);
    assert!(scene.record().is_idle());
}

/// Records version `version` of the task of the run with `token`, and returns the outcome.
fn note(scene: &mut Scene, token: FencingToken, version: u64) -> String {
    let task = testing::task_end(version);
    answer(&scene.carry_out(&Command::NoteTask(NoteTask { token, task }), 3))
}

#[test]
fn a_task_is_noted_while_the_run_holds_and_stays_when_the_run_ends() {
    let (mut scene, token) = held();
    note(&mut scene, token, 4);

    scene.release("a", RunOutcome::Failed, 5).unwrap();

    let run = scene.history(token).unwrap();
    assert_eq!(run.outcome(), Some(RunOutcome::Failed));
    assert_eq!(run.task.as_ref().unwrap().exit_code, Some(137));
}

#[test]
fn only_a_later_version_of_a_task_is_recorded() {
    let (mut scene, token) = held();

    let noted = [4, 4, 3, 5].map(|version| note(&mut scene, token, version));

    assert_eq!(noted, ["Done", "Unchanged", "Unchanged", "Done"]);
    let task = scene.history(token).unwrap().task.as_ref();
    assert_eq!(task.unwrap().version, 5);
}

#[test]
fn a_release_ends_the_heartbeat_state() {
    let (mut scene, token) = held();
    scene.renew("a", token, 1).unwrap();

    let done = scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    assert_eq!(done.effects, [Effect::EndHeartbeat(task_token("beat"))]);
}

/// The release may have died before it ended the state. After a failure, a redrive may continue the run
/// in another heartbeat state.
#[test]
fn a_repeated_release_ends_the_heartbeat_state_of_a_success_alone() {
    for (outcome, ends) in [(RunOutcome::Succeeded, true), (RunOutcome::Failed, false)] {
        let (mut scene, token) = held();
        scene.renew("a", token, 1).unwrap();
        let release = Command::Release(Release {
            outcome,
            ..scene.release_of("a")
        });
        scene.carry_out(&release, 5).unwrap();

        let again = scene.carry_out(&release, 6).unwrap();

        let expected = ends.then(|| Effect::EndHeartbeat(task_token("beat")));
        assert_eq!(again.effects, Vec::from_iter(expected), "{outcome:?}");
    }
}

/// A holder that is seen to be dead has no heartbeat state left.
#[test]
fn only_a_holder_that_may_live_has_its_heartbeat_state_ended() {
    for (basis, ends) in [(RecoveryBasis::Seen, false), (RecoveryBasis::Expired, true)] {
        let (mut scene, token) = held();
        scene.renew("a", token, 1).unwrap();

        let done = scene.recover("a", basis, 100).unwrap();

        let expected = ends.then(|| Effect::EndHeartbeat(task_token("beat")));
        assert_eq!(done.effects, Vec::from_iter(expected), "{basis:?}");
    }
}

/// Each case: the holder in the release, how the run ended, and whether a repeated failure is answered
/// as already released.
#[test]
fn only_the_run_that_released_is_told_that_it_already_did() {
    let cases = [
        ("a", RunOutcome::Failed, true),
        ("another", RunOutcome::Failed, false),
        ("a", RunOutcome::Evicted, false),
    ];
    for (who, outcome, already) in cases {
        let (mut scene, token) = held();
        let release = Release {
            outcome: RunOutcome::Failed,
            ..testing::release(holder(who), token)
        };
        match outcome {
            RunOutcome::Evicted => scene.evict("a", 5).unwrap(),
            outcome => scene.release("a", outcome, 5).unwrap(),
        };

        let done = scene.carry_out(&Command::Release(release), 6).unwrap();

        let is_answered = matches!(done.outcome, Outcome::Released { already: true, .. });
        assert_eq!(is_answered, already, "{who} {outcome:?}: {done:?}");
    }
}

/// A heartbeat may reinstate such a lease, but not after a success.
#[test]
fn a_late_success_is_a_release_only_if_its_grant_could_be_reinstated() {
    for (beats, another, expected) in [
        (true, false, "Released"),
        (false, false, "Lost"),
        (true, true, "Lost"),
    ] {
        let (mut scene, token) = held();
        let release = Command::Release(scene.release_of("a"));
        if beats {
            scene.renew("a", token, 1).unwrap();
        }
        scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
        if another {
            scene.acquire("b", WhenFull::Refuse, 6).unwrap();
            scene.release("b", RunOutcome::Failed, 7).unwrap();
        }

        let done = scene.carry_out(&release, 8);

        assert_eq!(answer(&done), expected, "{beats} {another}");
        assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    }
}

#[test]
fn a_task_that_is_noted_late_does_not_undo_a_newer_end_of_its_run() {
    let (mut scene, token) = held();
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
    let mut late = scene.clone();
    note(&mut late, token, 4);
    let noted = late.items.runs[&RunId::Token(token)].clone();
    let at = scene.history(token).unwrap().end.as_ref().unwrap().at;
    scene.renew("a", token, 100).unwrap();
    scene.release("a", RunOutcome::Succeeded, 110).unwrap();

    let guard = RunGuard::EndedAt(token, at);

    assert!(guard.holds(Some(&noted)));
    assert!(!guard.holds(scene.history(token)), "it ended again since");
}
