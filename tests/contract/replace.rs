//! Overlap `replace`: the oldest holder is stopped, and its permit is free once its work is.

use crate::functions::Functions;
use crate::scene::{CLUSTER, arn, ask, ask_with, assert_says, execution, task};
use lockstep::contract::EventKind;
use lockstep::domain::RunOutcome;
use serde_json::{Value, json};

pub(crate) fn replacing(name: &str, token: &str) -> Value {
    ask_with(name, json!({ "overlap": "replace", "taskToken": token }))
}

/// `a` holds and has a task at work; `b` has asked for its place.
pub(crate) async fn replaced() -> (Functions, Value, Value) {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.works("a").await;
    functions.wait(5);
    let answer = functions.acquire(replacing("b", "token-b")).await.unwrap();
    (functions, grant, answer)
}

#[tokio::test]
async fn the_holder_is_stopped_under_a_name_that_says_so_and_by_whom() {
    let (functions, _, answer) = replaced().await;

    assert_eq!(answer["status"], "queued");
    assert_eq!(answer["position"], 1);
    let stops = functions.executions.stops();
    assert_eq!(stops.len(), 1);
    assert_eq!(stops[0].execution, arn("a"));
    assert_eq!(stops[0].error, "Lockstep.Replaced");
    let by = format!("replaced by {}", execution("b"));
    assert_says(&stops[0].cause, &by);
    let event = functions.event(EventKind::RunStopped);
    assert_says(&event.reason, &by);
}

#[tokio::test]
async fn its_tasks_are_stopped_and_its_permit_stays_until_they_have() {
    let (functions, ..) = replaced().await;

    let stops = functions.tasks.stops();
    assert_eq!(stops[0].task_arn, task("t", 1, false).arn);
    assert_eq!(stops[0].cluster, CLUSTER);
    assert_says(&stops[0].reason, &execution("b"));
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    assert_eq!(functions.output("token-b"), None);
}

#[tokio::test]
async fn the_caller_is_granted_when_the_task_is_seen_stopped_and_the_history_says_by_whom() {
    let (functions, grant, _) = replaced().await;
    let stopped = task("t", 2, true);
    functions.put_task("a", stopped.clone());

    functions.reap_stop("a", &stopped, &grant).await;

    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    let run = functions.run_of(&grant).unwrap();
    let end = run.end.unwrap();
    assert_eq!(end.outcome, RunOutcome::Replaced);
    let by = format!("replaced by {}", execution("b"));
    assert_says(&end.evidence.unwrap(), &by);
    assert_eq!(run.task.unwrap().runtime_id.as_deref(), Some("t-4711"));
    let event = functions.event(EventKind::RunReplaced);
    assert_eq!(event.holder.unwrap().as_str(), execution("a"));
}

#[tokio::test]
async fn a_holder_without_tasks_makes_way_at_once() {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(ask("a")).await;

    functions.acquire(replacing("b", "token-b")).await.unwrap();

    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

#[tokio::test]
async fn a_run_whose_key_has_had_its_success_replaces_no_run() {
    let functions = Functions::running(&["a", "b"]);
    let keyed = json!({ "runKey": "tick-6" });
    let grant = functions.granted_with(ask_with("a", keyed)).await;
    functions.succeed(&grant).await;
    let more = json!({ "runKey": "tick-6", "overlap": "replace", "taskToken": "token-b" });

    let answer = functions.acquire(ask_with("b", more)).await.unwrap();

    assert_eq!(answer["status"], "duplicate");
    assert!(functions.executions.stops().is_empty());
}
