//! Damaged entries of the history, and damaged markers of run keys.

use super::scene::{Damage, Scene, damages, key_sort_key, number, text, to, token_sort_key};
use crate::fixture::{Ask, acquire_tick, note_task, release_tick, renew, run_key};
use lockstep::domain::{Command, Outcome, RecoveryBasis, RunOutcome, Settle, StalePolicy};
use std::time::Duration;

#[tokio::test]
async fn a_damaged_run_is_reported_by_the_call_that_ends_it_and_left_alone() {
    let scene = Scene::new("running", 1).await;
    let mut damages = damages(&[], "schema holder token", "runKey lease");
    damages.push(to(&["schema"], number("2")));
    damages.push(to(&["outcome"], text("perfect")));
    damages.push(to(&["endedAt"], number("7")));
    damages.push(to(&["evidence"], text("it is gone")));
    let recovery = scene.fixture.recovery("a", scene.token).await;
    let commands = [release_tick("a", scene.token).ask(), recovery.ask()];

    let key = key_sort_key();
    scene.each_is_reported(&key, &damages, &commands).await;
}

#[tokio::test]
async fn a_damaged_marker_is_reported_by_the_next_run_of_its_key() {
    let scene = failed("marker").await;
    let (damages, next) = (damages_of_an_ended_run(), acquire_tick("b").ask());

    let key = key_sort_key();
    scene.each_is_reported(&key, &damages, &[next]).await;
}

#[tokio::test]
async fn a_damaged_entry_is_reported_by_its_late_run_and_left_alone() {
    let scene = failed("entry").await;
    let mut all = damages_of_an_ended_run();
    all.extend(damages(&[], "", "taskArn"));
    all.extend(damages(&["lease"], "token expiresAt leaseMs beatMs", ""));
    let late = renew("a", scene.token).ask();
    let again = release_tick("a", scene.token).ask();
    let commands = [late, again, note_task(scene.token)];

    let key = token_sort_key(scene.token);
    scene.each_is_reported(&key, &all, &commands).await;
}

#[tokio::test]
async fn a_damaged_entry_is_reported_by_settle_and_left_alone() {
    let scene = Scene::with("settle", 1, StalePolicy::Yield).await;
    scene.fixture.advance(Duration::from_secs(600));
    let mut lost = scene.fixture.recovery("a", scene.token).await;
    lost.basis = RecoveryBasis::Expired;
    let freed = scene.fixture.outcome(lost).await;
    let outcome = Some(RunOutcome::Lost);
    assert_eq!(freed, Outcome::Freed { outcome });
    let settle = Command::Settle(Settle {
        run_key: run_key(),
        token: scene.token,
        succeeded: true,
        evidence: "its task ended with 0".into(),
        retention: release_tick("a", scene.token).retention,
    });

    let (key, damages) = (token_sort_key(scene.token), damages_of_an_ended_run());
    scene.each_is_reported(&key, &damages, &[settle]).await;
}

/// Returns a lock whose run `a` has failed.
async fn failed(test: &str) -> Scene {
    let scene = Scene::new(test, 1).await;
    let mut failed = release_tick("a", scene.token);
    failed.outcome = RunOutcome::Failed;
    scene.fixture.done(failed).await;
    scene
}

fn damages_of_an_ended_run() -> Vec<Damage> {
    let required = "schema holder token endedAt retainUntil";
    let mut damages = damages(&[], required, "outcome evidence runKey lease");
    damages.push(to(&["outcome"], text("perfect")));
    damages.push(to(&["schema"], number("2")));
    damages
}
