//! A worker in a task of a service: protected while messages are in flight.

use super::{Scene, Sign, Worker};
use lockstep_tests::stack::until;
use serde_json::{Value, json};

/// What the agent was asked to set, in order.
async fn asked(scene: &Scene, task: &str) -> Vec<bool> {
    let path = format!("/_lockstack/agent?task={task}");
    let journal = scene
        .inside
        .stack
        .rest("agent", "GET", &path, Value::Null)
        .await;
    let calls = journal.body["calls"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let puts = calls.iter().filter(|call| call["method"] == "PUT");
    puts.map(|call| call["body"]["ProtectionEnabled"] == true)
        .collect()
}

/// A worker in a task of `service`, or of none. Answers the task's ARN too.
async fn in_task(scene: &Scene, service: Value, flags: &[&str], script: &str) -> (Worker, String) {
    let host = json!({ "cluster": "default", "service": service });
    let host = scene
        .inside
        .stack
        .rest("agent", "POST", "/_lockstack/agent/task", host)
        .await
        .body;
    let task = host["taskArn"].as_str().expect("a task").to_owned();
    let (mut command, log) = scene.command(flags, script);
    for (name, value) in host["environment"].as_object().expect("variables") {
        command.env(name, value.as_str().expect("text"));
    }
    (Worker::of(command, log), task)
}

#[tokio::test]
async fn the_task_is_protected_with_the_first_message_and_unprotected_after_the_last() {
    let scene = Scene::new("protected", 9).await;
    let go = Sign::new();
    let script = format!("say \"${{LOCKSTEP_HOLDER%%#*}}\"; {}", go.wait());
    let flags = ["--concurrency", "3", "--protect=required"];
    let service = json!(scene.queue.name);
    let (worker, task) = in_task(&scene, service, &flags, &script).await;
    worker.until_logged("waiting for messages", 30).await;
    let idle = asked(&scene, &task).await;

    for n in 0..5 {
        scene.send(&format!("{n}")).await;
    }
    scene.resource.until_received(&task, 3, 30).await;
    let busy = asked(&scene, &task).await;
    go.give();
    scene.until_empty(30).await;
    let is_clear = async || asked(&scene, &task).await.last() == Some(&false);
    until("end of the protection", 30, is_clear).await;
    let done = asked(&scene, &task).await;
    worker.end().await;

    assert_eq!((idle, busy, done), (vec![], vec![true], vec![true, false]));
}

#[tokio::test]
async fn a_worker_that_has_to_be_protected_and_cannot_be_leaves_messages_to_others() {
    let scene = Scene::new("unprotected", 9).await;
    let flags = ["--backoff-max", "1s", "--protect=required"];
    // A task of no service cannot be protected.
    let (refused, _) = in_task(&scene, Value::Null, &flags, "say refused").await;
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
