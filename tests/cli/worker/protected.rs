//! A worker in a task of a service: protected while messages are in flight.

use super::{Scene, Sign, Worker};
use crate::agent::HostTask;
use lockstep_tests::stack::until;

/// Starts a worker in a task of `service`, or of no service.
async fn in_task(
    scene: &Scene,
    service: Option<&str>,
    flags: &[&str],
    script: &str,
) -> (Worker, HostTask) {
    let task = HostTask::start(&scene.inside, service).await;
    let (mut command, log) = scene.command(flags, script);
    task.put(&mut command);
    (Worker::of(command, log), task)
}

#[tokio::test]
async fn the_first_message_sets_protection_and_the_last_clears_it() {
    let scene = Scene::new("protected", 9).await;
    let go = Sign::new();
    let script = format!("say \"${{LOCKSTEP_HOLDER%%#*}}\"; {}", go.wait());
    let flags = ["--concurrency", "3", "--protect=required"];
    let service = Some(scene.queue.name.as_str());
    let (worker, task) = in_task(&scene, service, &flags, &script).await;
    worker.until_logged("waiting for messages", 30).await;
    let idle = task.asked(&scene.inside).await;

    for n in 0..5 {
        scene.send(&format!("{n}")).await;
    }
    scene.resource.until_received(&task.arn, 3, 30).await;
    let busy = task.asked(&scene.inside).await;
    go.give();
    scene.until_empty(30).await;
    let is_clear = async || task.asked(&scene.inside).await.last() == Some(&false);
    until("end of the protection", 30, is_clear).await;
    let done = task.asked(&scene.inside).await;
    worker.end().await;

    assert_eq!((idle, busy, done), (vec![], vec![true], vec![true, false]));
}

#[tokio::test]
async fn a_worker_without_required_protection_leaves_messages_to_others() {
    let scene = Scene::new("unprotected", 9).await;
    let flags = ["--backoff-max", "1s", "--protect=required"];
    // A task of no service cannot be protected.
    let (refused, _) = in_task(&scene, None, &flags, "say refused").await;
    scene.send("work").await;
    refused.until_logged("TASK_NOT_VALID", 60).await;
    refused.until_logged("deferred: ", 60).await;
    refused.end().await;

    // The message is hidden for a while.
    let other = scene.worker(&["--backoff-max", "1s"], "say done");
    scene.until_empty(60).await;
    other.end().await;

    assert_eq!(scene.received(), ["done"]);
}
