//! Workers that are stopped, and workers that die.

use super::{Scene, Sign, Worker};
use crate::support::{lives, until_dead};
use lockstep_tests::stack::{now, until};

/// A lease longer than any test: a message that is received again was given back.
const LONG: [&str; 4] = ["--lease", "1h", "--grace", "2s"];
const SHORT: [&str; 4] = ["--lease", "5s", "--grace", "2s"];

#[tokio::test]
async fn a_message_of_a_stopped_command_is_given_back_at_once() {
    let scene = Scene::new("given-back", 9).await;
    let stubborn = "trap 'say term' TERM; say start; while :; do sleep 0.1; done";
    let first = scene.worker(&LONG, stubborn);
    scene.send("work").await;
    scene.resource.until_received("start", 1, 30).await;
    let group = first.process.children()[0].0;

    let log = first.end().await;
    let was_alive = lives(group);
    let second = scene.worker(&LONG, "say \"again $LOCKSTEP_RECEIVE_COUNT\"");
    scene.until_empty(60).await;
    second.end().await;

    assert_eq!(scene.received(), ["start", "term", "again 2"]);
    assert!(!was_alive && log.contains("given back"), "{log}");
}

#[tokio::test]
async fn a_command_may_finish_within_the_grace_and_its_message_is_deleted() {
    let scene = Scene::new("finishes", 9).await;
    let go = Sign::new();
    let script = format!("trap 'say term' TERM; say start; {} say end", go.wait());
    let mut worker = scene.worker(&["--grace", "60s"], &script);
    scene.send("work").await;
    scene.resource.until_received("start", 1, 30).await;

    worker.process.signal("TERM").await;
    worker.until_logged("no more messages", 10).await;
    // A worker that still received messages would receive it.
    scene.send("later").await;
    go.give();
    scene.resource.until_received("end", 1, 30).await;
    until("only the later message", 30, async || {
        scene.depth().await == 1
    })
    .await;
    worker.process.signal("TERM").await;

    assert_eq!(worker.process.code().await, 143);
    assert_eq!(scene.received(), ["start", "end"]);
}

/// Starts a worker under a lease of five seconds whose command writes `work`. Returns the worker at
/// work, and the group of the command.
async fn at_work(test: &str) -> (Scene, Worker, u32) {
    let scene = Scene::new(test, 9).await;
    let writer = "say start; sleep 300 & while :; do say work; sleep 0.05; done";
    let worker = scene.worker(&SHORT, writer);
    scene.send("work").await;
    scene.resource.until_received("work", 3, 30).await;
    let group = worker.process.children()[0].0;
    (scene, worker, group)
}

/// Checks that another worker runs the message, and not before `group` is dead. Returns that
/// worker.
async fn assert_run_again(scene: &Scene, group: u32) -> Worker {
    let second = scene.worker(&SHORT, "say again");
    scene.resource.until_received("again", 1, 60).await;
    assert!(!lives(group));
    scene.until_empty(30).await;
    second
}

/// Checks that nothing was written under an old token.
fn assert_in_turn(scene: &Scene) {
    let entries = scene.resource.entries();
    assert!(entries.iter().all(|entry| entry.taken));
    assert_eq!(entries.last().expect("entries").what, "again");
}

#[tokio::test]
async fn a_killed_workers_message_runs_again_after_its_orphan_is_dead() {
    let (scene, mut first, group) = at_work("killed").await;

    first.process.signal("KILL").await;
    assert_eq!(first.process.code().await, 137);

    let second = assert_run_again(&scene, group).await;
    second.end().await;
    assert_in_turn(&scene);
}

#[tokio::test]
async fn a_stopped_workers_command_is_dead_before_its_message_runs_again() {
    let (scene, first, group) = at_work("stopped").await;

    first.process.signal("STOP").await;

    let second = assert_run_again(&scene, group).await;
    first.process.signal("CONT").await;
    until_dead(&[group], 10).await;
    first.until_logged("the lease is lost", 30).await;
    first.end().await;
    second.end().await;
    assert_in_turn(&scene);
}

#[tokio::test]
async fn a_worker_works_on_while_its_watchdog_is_stopped() {
    let (scene, worker, _) = at_work("stopped-watchdog").await;

    let watchdog = worker.process.stop_watchdog().await;
    let stopped = now();

    until_dead(&[watchdog], 10).await;
    // Two leases later the command still works.
    scene.resource.until_later("work", stopped, 10_000).await;
    let log = worker.end().await;
    assert_eq!(scene.resource.received("start").len(), 1, "{log}");
}
