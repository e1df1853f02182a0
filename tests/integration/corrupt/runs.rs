//! Damaged entries of the history, and damaged markers of run keys.

use super::scene::{
    Damage, Scene, every_damage, every_wrong_type, key_sort_key, number, text, token_sort_key,
};
use crate::fixture::{Ask, acquire_tick, release_tick, renew, run_key};
use lockstep::domain::{
    Command, NoteTask, Outcome, Recover, RecoveryBasis, RunOutcome, Settle, StalePolicy, TaskEnd,
};
use std::time::Duration;

#[tokio::test]
async fn a_damaged_running_run_is_reported_by_the_call_that_ends_it_and_left_alone() {
    let scene = Scene::new("running", 1).await;
    let key = key_sort_key();
    let run = scene.item(&key).await;
    let mut damages = Vec::new();
    for name in ["schema", "holder", "token"] {
        damages.extend(every_damage(&[name]));
    }
    damages.extend(every_wrong_type(&["runKey"]));
    damages.extend(every_wrong_type(&["lease"]));
    damages.push(Damage::new(&["schema"], Some(number("2"))));
    damages.push(Damage::new(&["outcome"], Some(text("perfect"))));
    damages.push(Damage::new(&["endedAt"], Some(number("7"))));
    damages.push(Damage::new(&["evidence"], Some(text("it is gone"))));

    let recovery = scene.fixture.recovery("a", scene.token).await;
    for damage in damages {
        let damaged = damage.done_to(&run);
        let release = release_tick("a", scene.token).ask();
        for command in [release, recovery.clone()] {
            scene.expect_corrupt(&damaged, &key, &damage, command).await;
        }
    }
}

#[tokio::test]
async fn a_damaged_marker_is_reported_by_the_next_run_of_its_key_and_left_alone() {
    let scene = failed("marker").await;
    let key = key_sort_key();
    let marker = scene.item(&key).await;
    let damages = damages_of_an_ended_run();

    for damage in damages {
        let damaged = damage.done_to(&marker);
        let next = acquire_tick("b").ask();
        scene.expect_corrupt(&damaged, &key, &damage, next).await;
    }
}

#[tokio::test]
async fn a_damaged_entry_is_reported_by_its_late_run_and_left_alone() {
    let scene = failed("entry").await;
    let key = token_sort_key(scene.token);
    let entry = scene.item(&key).await;
    let mut damages = damages_of_an_ended_run();
    damages.extend(every_wrong_type(&["taskArn"]));
    for name in ["token", "expiresAt", "leaseMs", "beatMs"] {
        damages.extend(every_damage(&["lease", name]));
    }

    for damage in damages {
        let damaged = damage.done_to(&entry);
        let late = renew("a", scene.token).ask();
        let again = release_tick("a", scene.token).ask();
        for command in [late, again, note(&scene)] {
            scene.expect_corrupt(&damaged, &key, &damage, command).await;
        }
    }
}

#[tokio::test]
async fn a_damaged_entry_is_reported_when_its_work_is_seen_to_have_succeeded_and_left_alone() {
    let scene = Scene::with("settle", 1, StalePolicy::Yield).await;
    scene.fixture.advance(Duration::from_secs(600));
    let Command::Recover(lost) = scene.fixture.recovery("a", scene.token).await else {
        unreachable!("a recovery recovers")
    };
    let lost = Command::Recover(Recover {
        basis: RecoveryBasis::Expired,
        ..lost
    });
    let freed = scene.fixture.outcome(lost).await;
    let outcome = Some(RunOutcome::Lost);
    assert_eq!(freed, Outcome::Freed { outcome });
    let key = token_sort_key(scene.token);
    let entry = scene.item(&key).await;
    let settle = Command::Settle(Settle {
        run_key: run_key(),
        token: scene.token,
        succeeded: true,
        evidence: "its task ended with 0".into(),
        retention: release_tick("a", scene.token).retention,
    });

    for damage in damages_of_an_ended_run() {
        let damaged = damage.done_to(&entry);
        let settle = settle.clone();
        scene.expect_corrupt(&damaged, &key, &damage, settle).await;
    }
}

/// A lock whose run `a` has failed.
async fn failed(test: &str) -> Scene {
    let scene = Scene::new(test, 1).await;
    let mut failed = release_tick("a", scene.token);
    failed.outcome = RunOutcome::Failed;
    scene.fixture.done(failed).await;
    scene
}

fn note(scene: &Scene) -> Command {
    Command::NoteTask(NoteTask {
        token: scene.token,
        task: TaskEnd {
            arn: "arn:aws:ecs:eu-west-1:123456789012:task/batches/4f".into(),
            version: 3,
            runtime_id: None,
            exit_code: None,
            reason: None,
        },
    })
}

fn damages_of_an_ended_run() -> Vec<Damage> {
    let mut damages = Vec::new();
    for name in ["schema", "holder", "token", "endedAt", "retainUntil"] {
        damages.extend(every_damage(&[name]));
    }
    for name in ["outcome", "evidence", "runKey", "lease"] {
        damages.extend(every_wrong_type(&[name]));
    }
    damages.push(Damage::new(&["outcome"], Some(text("perfect"))));
    damages.push(Damage::new(&["schema"], Some(number("2"))));
    damages
}
