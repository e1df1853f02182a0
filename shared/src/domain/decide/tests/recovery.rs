//! Dead holders.

use super::scene::{Scene, beat, holder};
use crate::domain::{
    Command, Effect, NoteTask, Outcome, Recover, RecoveryBasis, Refusal, Release, RunOutcome,
    TaskEnd, WhenFull,
};
use crate::testing;

#[test]
fn a_dead_holder_is_recovered_and_its_run_is_in_the_history_with_the_evidence() {
    let mut scene = Scene::held_by(1, &[("dead", 0)]);
    let token = scene.token("dead");

    scene.recover("dead", RecoveryBasis::Seen, 5).unwrap();

    let end = scene.history(token).unwrap().end.clone().unwrap();
    assert_eq!(end.outcome, RunOutcome::Recovered);
    assert_eq!(end.evidence.as_deref(), Some("the execution is ABORTED"));
    assert!(scene.record().is_idle());
}

#[test]
fn a_recovery_hands_the_permit_to_the_first_waiter() {
    let mut scene = Scene::held_by(1, &[("dead", 0)]);
    scene.queue("b", 1).unwrap();

    let done = scene.recover("dead", RecoveryBasis::Seen, 5).unwrap();

    assert!(
        matches!(&done.effects[..], [Effect::Wake(..)]),
        "{:?}",
        done.effects
    );
    assert_eq!(scene.holders(), ["b"]);
}

#[test]
fn a_lease_that_is_only_expired_is_dead_two_seconds_after_its_end_and_not_before() {
    let mut scene = Scene::held_by(1, &[("silent", 0)]);
    let mut later = scene.clone();

    let early = scene.recover("silent", RecoveryBasis::Expired, 61).unwrap();
    later.recover("silent", RecoveryBasis::Expired, 62).unwrap();

    assert_eq!(early.outcome, Outcome::Unchanged);
    assert!(later.record().is_idle());
}

#[test]
fn a_recovery_under_an_old_token_does_not_touch_the_successor() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let recover = Command::Recover(Recover {
        evidence: "ended".into(),
        ..testing::recover(holder("a"), scene.token("a"), scene.seen("a"))
    });
    scene.carry_out(&recover, 5).unwrap();
    scene.acquire("a", WhenFull::Refuse, 6).unwrap();

    let late = scene.carry_out(&recover, 7).unwrap();

    assert_eq!(late.outcome, Outcome::Unchanged);
    assert_eq!(scene.holders(), ["a"]);
}

#[test]
fn a_run_that_beats_again_is_not_recovered_on_what_was_seen_before() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    let recover = Command::Recover(testing::recover(holder("a"), token, scene.seen("a")));
    scene.renew("a", token, 30).unwrap();

    let late = scene.carry_out(&recover, 31).unwrap();

    assert_eq!(late.outcome, Outcome::Unchanged);
    assert_eq!(scene.holders(), ["a"]);
}

#[test]
fn a_heartbeat_after_recovery_by_expiry_learns_that_the_lease_is_lost() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.recover("a", RecoveryBasis::Expired, 62).unwrap();
    scene.acquire("b", WhenFull::Refuse, 62).unwrap();

    let late = scene.renew("a", token, 63);

    assert!(matches!(late, Err(Refusal::LeaseLost { .. })), "{late:?}");
}

#[test]
fn a_late_heartbeat_keeps_the_lease_until_it_is_freed() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");

    let late = scene.renew("a", token, 1000).unwrap();

    assert!(matches!(late.outcome, Outcome::Renewed { .. }), "{late:?}");
}

#[test]
fn a_released_run_is_not_brought_back_by_a_heartbeat_that_was_under_way() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    let late = scene.renew("a", token, 6).unwrap();

    assert_eq!(late.outcome, Outcome::Ended);
    assert!(scene.record().is_idle());
}

#[test]
fn a_task_is_noted_while_the_run_holds_and_stays_when_the_run_ends() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    note(&mut scene, 4);

    scene.release("a", RunOutcome::Failed, 5).unwrap();

    let run = scene.history(token).unwrap();
    assert_eq!(run.outcome(), Some(RunOutcome::Failed));
    assert_eq!(run.task.as_ref().unwrap().exit_code, Some(137));
}

#[test]
fn of_one_task_only_a_later_version_is_news() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");

    let noted = [4, 4, 3, 5].map(|version| note(&mut scene, version));

    let news = [
        Outcome::Done,
        Outcome::Unchanged,
        Outcome::Unchanged,
        Outcome::Done,
    ];
    assert_eq!(noted, news);
    assert_eq!(
        scene.history(token).unwrap().task.as_ref().unwrap().version,
        5
    );
}

#[test]
fn a_release_ends_the_heartbeat_state() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();

    let done = scene.release("a", RunOutcome::Succeeded, 5).unwrap();

    assert_eq!(done.effects, [Effect::EndHeartbeat(beat("beat"))]);
}

/// One that is seen to be dead has no state left to end.
#[test]
fn only_a_holder_that_may_live_has_its_heartbeat_state_ended() {
    for (basis, ends) in [(RecoveryBasis::Seen, false), (RecoveryBasis::Expired, true)] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        scene.renew("a", scene.token("a"), 1).unwrap();

        let done = scene.recover("a", basis, 100).unwrap();

        let expected = ends.then(|| Effect::EndHeartbeat(beat("beat")));
        assert_eq!(done.effects, Vec::from_iter(expected), "{basis:?}");
    }
}

/// Each case: who ended how, and what a failure that its workflow reports afterwards is answered.
#[test]
fn a_second_release_is_answered_as_such_only_to_the_run_that_released() {
    let cases = [
        ("a", RunOutcome::Failed, true),
        ("another", RunOutcome::Failed, false),
        ("a", RunOutcome::Evicted, false),
    ];
    for (who, outcome, already) in cases {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let release = Release {
            outcome: RunOutcome::Failed,
            ..testing::release(holder(who), scene.token("a"))
        };
        match outcome {
            RunOutcome::Evicted => scene.evict("a", 5).unwrap(),
            outcome => scene.release("a", outcome, 5).unwrap(),
        };

        let done = scene.carry_out(&Command::Release(release), 6).unwrap();

        let is_answered = matches!(done.outcome, Outcome::Released { already: true, .. });
        assert_eq!(
            is_answered, already,
            "{who} {outcome:?}: {:?}",
            done.outcome
        );
    }
}

/// A heartbeat may put such a lease back, and must not behind a success.
#[test]
fn a_late_success_counts_as_a_release_only_where_a_redrive_could_go_on() {
    for (beats, another, released) in [
        (true, false, true),
        (false, false, false),
        (true, true, false),
    ] {
        let mut scene = Scene::held_by(1, &[("a", 0)]);
        let token = scene.token("a");
        if beats {
            scene.renew("a", token, 1).unwrap();
        }
        scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
        if another {
            scene.acquire("b", WhenFull::Refuse, 6).unwrap();
            scene.release("b", RunOutcome::Failed, 7).unwrap();
        }
        let release = testing::release(holder("a"), token);

        let done = scene.carry_out(&Command::Release(release), 8).unwrap();

        let is_released = matches!(done.outcome, Outcome::Released { .. });
        assert_eq!(is_released, released, "{beats} {another}");
        assert_eq!(scene.ended(token), Some(RunOutcome::Succeeded));
    }
}

#[test]
fn a_heartbeat_under_the_token_of_another_run_has_lost_its_lease() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.release("a", RunOutcome::Succeeded, 2).unwrap();

    let own = scene.renew("a", token, 3);
    let forged = scene.renew("b", token, 3);

    assert_eq!(own.unwrap().outcome, Outcome::Ended);
    assert!(
        matches!(forged, Err(Refusal::LeaseLost { .. })),
        "{forged:?}"
    );
}

fn note(scene: &mut Scene, version: u64) -> Outcome {
    let task = TaskEnd {
        arn: "arn:aws:ecs:x:1:task/c/1".into(),
        version,
        runtime_id: Some("abc".into()),
        exit_code: Some(137),
        reason: Some("OutOfMemoryError".into()),
    };
    // The token outlives the lease, as the container's environment does.
    let held = scene
        .record()
        .holders
        .values()
        .next()
        .map(|lease| lease.token);
    let token = held.unwrap_or(scene.record().last_token);
    let note = Command::NoteTask(NoteTask { token, task });
    scene.carry_out(&note, 3).unwrap().outcome
}

#[test]
fn a_task_that_is_noted_late_does_not_undo_a_newer_end_of_its_run() {
    let mut scene = Scene::held_by(1, &[("a", 0)]);
    let token = scene.token("a");
    scene.renew("a", token, 1).unwrap();
    scene.recover("a", RecoveryBasis::Seen, 5).unwrap();
    let mut late = scene.clone();
    note(&mut late, 4);
    let noted = late.items.runs[&crate::domain::RunId::Token(token)].clone();
    let at = scene.history(token).unwrap().end.as_ref().unwrap().at;
    scene.renew("a", token, 100).unwrap();
    scene.release("a", RunOutcome::Succeeded, 110).unwrap();

    let guard = crate::domain::RunGuard::EndedAt(token, at);

    assert!(guard.holds(Some(&noted)));
    assert!(!guard.holds(scene.history(token)), "it ended again since");
}
