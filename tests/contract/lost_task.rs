//! A task that no run answers for: RunTask was accepted and its response lost, or a stop failed.

use crate::functions::Functions;
use crate::scene::{CLUSTER, ask, ask_with, execution, execution_event, task, task_event};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, RunOutcome};
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::{Value, json};

/// The execution has ended, and a task of its group runs.
async fn orphaned(functions: &Functions) -> Value {
    functions.start(&["a", "b"]);
    let request = ask_with("a", json!({ "work": { "cluster": CLUSTER } }));
    let grant = functions.granted_with(request).await;
    functions.put_task("a", task("t", 1, false));
    functions.end("a", ExecutionEnd::Failed);
    grant
}

fn ended() -> Value {
    execution_event("a", "FAILED", json!("{\"lock\":\"nightly\"}"))
}

#[tokio::test]
async fn it_is_stopped_and_the_permit_is_free_once_it_has() {
    let functions = Functions::new();
    let grant = orphaned(&functions).await;

    let first = functions.reap(ended()).await.unwrap();
    let between = functions.holders("nightly").await;
    let stopped = task("t", 2, true);
    functions.put_task("a", stopped.clone());
    let second = functions
        .reap(task_event("a", &stopped, &grant, "STOPPED"))
        .await
        .unwrap();

    assert_eq!((&first["freed"], &second["freed"]), (&json!(0), &json!(1)));
    assert_eq!(between, [execution("a")]);
    assert_eq!(functions.tasks.stops()[0].task_arn, stopped.arn);
    assert!(
        functions.executions.stops().is_empty(),
        "the execution has ended"
    );
    assert!(functions.holders("nightly").await.is_empty());
    let outcome = functions.run_of(&grant).unwrap().outcome();
    assert_eq!(outcome, Some(RunOutcome::Recovered));
    let event = functions.event(EventKind::RunStopped);
    assert!(
        event.reason.contains("its task still runs"),
        "{}",
        event.reason
    );
}

#[tokio::test]
async fn a_task_on_its_way_down_still_counts_as_running() {
    let functions = Functions::new();
    let grant = orphaned(&functions).await;
    functions.reap(ended()).await.unwrap();

    let stopping = task_event("a", &task("t", 2, false), &grant, "STOPPING");
    functions.reap(stopping).await.unwrap();

    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn one_that_cannot_be_stopped_keeps_the_lock_and_is_tried_again() {
    let functions = Functions::new();
    orphaned(&functions).await;
    let throttled = TasksError::Unavailable("ThrottlingException".into());
    functions.tasks.fail_every(TasksCall::Stop, throttled);
    functions.reap(ended()).await.unwrap();
    assert!(functions.tasks.stops().is_empty());
    functions.wait(62);
    let skipped = functions.acquire(ask("b")).await.unwrap();
    functions.tasks.heal();

    functions.sweep().await;

    assert_eq!(skipped["status"], "skipped");
    assert!(!functions.tasks.stops().is_empty());
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn one_of_another_run_is_left_alone() {
    let functions = Functions::new();
    orphaned(&functions).await;
    functions.put_task("b", task("u", 1, false));

    functions.reap(ended()).await.unwrap();

    let stops = functions.tasks.stops();
    assert!(
        stops
            .iter()
            .all(|stop| stop.task_arn == task("t", 1, false).arn)
    );
}
