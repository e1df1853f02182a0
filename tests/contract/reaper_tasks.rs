//! The reaper's handling of events of ECS tasks.

use crate::functions::{Functions, key};
use crate::scene::{ask, assert_has, assert_says, execution, task, task_event};
use lockstep::domain::{ExecutionEnd, RunOutcome, Task};
use serde_json::{Value, json};

/// Returns the functions with `a` as the holder, its grant and its task, which has stopped. The reaper has
/// had no event of the task.
async fn stopped() -> (Functions, Value, Task) {
    let (functions, grant) = Functions::at_work(&["a"]).await;
    let stopped = task("t", 2, true);
    functions.put_task("a", stopped.clone());
    (functions, grant, stopped)
}

#[tokio::test]
async fn a_stopped_task_of_an_ended_execution_frees_the_permit_in_seconds() {
    let (functions, grant, stopped) = stopped().await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(2);

    let report = functions.reap_stop("a", &stopped, &grant).await;

    assert_has(&report, json!({ "holders": 1, "freed": 1 }));
    assert!(functions.holders("nightly").await.is_empty());
    let run = functions.run_of(&grant).unwrap();
    assert_eq!(run.outcome(), Some(RunOutcome::Recovered));
    let end = run.task.unwrap();
    assert_eq!(end.exit_code, Some(137));
    assert_eq!(end.runtime_id.as_deref(), Some("t-4711"));
    assert!(end.reason.unwrap().contains("OutOfMemory"));
}

#[tokio::test]
async fn a_stopped_task_of_a_running_execution_frees_no_permit() {
    let (functions, grant, stopped) = stopped().await;

    let report = functions.reap_stop("a", &stopped, &grant).await;

    assert_eq!(report["freed"], 0);
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    let run = functions.run_of(&grant).unwrap();
    assert_eq!((run.end, run.task.unwrap().version), (None, 2));
}

#[tokio::test]
async fn a_task_event_that_is_delivered_twice_is_ignored() {
    let (functions, grant, stopped) = stopped().await;
    functions.end("a", ExecutionEnd::Failed);
    let event = task_event("a", &stopped, &grant, "STOPPED");
    functions.reap(event.clone()).await.unwrap();
    let before = functions.store.items(&key("nightly"));

    let report = functions.reap(event).await.unwrap();

    assert_says(report["ignored"].as_str().unwrap(), "seen before");
    assert_eq!(functions.store.items(&key("nightly")), before);
}

#[tokio::test]
async fn an_older_version_of_the_task_is_dropped_and_a_newer_one_is_noted() {
    let (functions, grant) = Functions::at_work(&["a"]).await;
    let event = |version| task_event("a", &task("t", version, true), &grant, "STOPPED");
    functions.reap(event(5)).await.unwrap();

    let older = functions.reap(event(4)).await.unwrap();
    let noted = functions.run_of(&grant).unwrap().task.unwrap().version;
    let newer = functions.reap(event(6)).await.unwrap();

    assert!(older["ignored"].is_string(), "{older}");
    assert_eq!(noted, 5);
    assert!(newer["ignored"].is_null(), "{newer}");
    assert_eq!(functions.run_of(&grant).unwrap().task.unwrap().version, 6);
}

#[tokio::test]
async fn a_late_task_event_of_an_earlier_run_does_not_touch_the_next_run() {
    let (functions, grant) = Functions::at_work(&["a"]).await;
    let stopped = task("t", 2, true);
    functions.succeed(&grant).await;
    functions.wait(1);
    functions.start(&["b"]);
    functions.granted_with(ask("b")).await;

    functions.reap_stop("a", &stopped, &grant).await;

    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    let run = functions.run_of(&grant).unwrap();
    assert_eq!(run.outcome(), Some(RunOutcome::Succeeded));
    assert_eq!(run.task.unwrap().version, 2);
}
