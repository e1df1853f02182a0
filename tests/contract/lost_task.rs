//! A task whose run has ended: the response of RunTask was lost, or a stop of the task failed.

use crate::functions::Functions;
use crate::scene::{ask, assert_says, execution, task, task_event};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, RunOutcome};
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::{Value, json};

/// Returns the functions with `a` as the holder, and its grant. The execution `a` has ended, and a task of
/// its group runs.
async fn orphaned() -> (Functions, Value) {
    let (functions, grant) = Functions::at_work(&["a", "b"]).await;
    functions.end("a", ExecutionEnd::Failed);
    (functions, grant)
}

#[tokio::test]
async fn a_lost_task_is_stopped_before_its_permit_is_freed() {
    let (functions, grant) = orphaned().await;

    let first = functions.reap_end("a", "FAILED").await;
    let between = functions.holders("nightly").await;
    let stopped = task("t", 2, true);
    functions.put_task("a", stopped.clone());
    let second = functions.reap_stop("a", &stopped, &grant).await;

    assert_eq!(json!([first["freed"], second["freed"]]), json!([0, 1]));
    assert_eq!(between, [execution("a")]);
    assert_eq!(functions.tasks.stops()[0].task_arn, stopped.arn);
    assert_eq!(functions.executions.stops(), [], "the execution has ended");
    assert!(functions.holders("nightly").await.is_empty());
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
    let reason = functions.event(EventKind::RunStopped).reason;
    assert_says(&reason, "its task still runs");
}

#[tokio::test]
async fn a_task_in_status_stopping_still_counts_as_running() {
    let (functions, grant) = orphaned().await;
    functions.reap_end("a", "FAILED").await;

    let stopping = task_event("a", &task("t", 2, false), &grant, "STOPPING");
    functions.reap(stopping).await.unwrap();

    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn a_lost_task_that_cannot_be_stopped_is_stopped_again_by_the_sweep() {
    let (functions, _) = orphaned().await;
    let throttled = TasksError::Unavailable("ThrottlingException".into());
    functions.tasks.fail_every(TasksCall::Stop, throttled);
    functions.reap_end("a", "FAILED").await;
    assert!(functions.tasks.stops().is_empty());
    functions.wait(62);
    assert_eq!(functions.status(ask("b")).await, "skipped");
    functions.tasks.heal();

    functions.sweep().await;

    assert!(!functions.tasks.stops().is_empty());
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

#[tokio::test]
async fn the_task_of_another_run_is_not_stopped() {
    let (functions, _) = orphaned().await;
    functions.put_task("b", task("u", 1, false));

    functions.reap_end("a", "FAILED").await;

    let own = task("t", 1, false).arn;
    let stops = functions.tasks.stops();
    assert!(stops.iter().all(|stop| stop.task_arn == own), "{stops:?}");
}
