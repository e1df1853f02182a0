//! Overlap `replace`: the oldest holder is stopped, and its permit is free once its work has stopped.

use crate::functions::Functions;
use crate::scene::{CLUSTER, arn, ask_with, assert_has, assert_says, execution, merged, task};
use lockstep::contract::EventKind;
use lockstep::domain::RunOutcome;
use serde_json::{Value, json};

pub(crate) fn replacing(name: &str, token: &str) -> Value {
    ask_with(name, json!({ "overlap": "replace", "taskToken": token }))
}

/// Returns the functions with `a` as the holder, whose task runs, the grant of `a`, and the answer to `b`,
/// which replaces `a`.
async fn replaced() -> (Functions, Value, Value) {
    let (functions, grant) = Functions::at_work(&["a", "b"]).await;
    functions.wait(5);
    let answer = functions.acquire(replacing("b", "token-b")).await.unwrap();
    (functions, grant, answer)
}

#[tokio::test]
async fn replace_stops_the_holder_and_keeps_its_permit_until_it_stopped() {
    let (functions, _, answer) = replaced().await;

    assert_has(&answer, json!({ "status": "queued", "position": 1 }));
    let by = format!("replaced by {}", execution("b"));
    let [stop] = &functions.executions.stops()[..] else {
        panic!("{:?}", functions.executions.stops());
    };
    assert_eq!(stop.execution, arn("a"));
    assert_eq!(stop.error, "Lockstep.Replaced");
    assert_says(&stop.cause, &by);
    assert_says(&functions.event(EventKind::RunStopped).reason, &by);
    let stop = &functions.tasks.stops()[0];
    assert_eq!(stop.task_arn, task("t", 1, false).arn);
    assert_eq!(stop.cluster, CLUSTER);
    assert_says(&stop.reason, &execution("b"));
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    assert_eq!(functions.output("token-b"), None);
}

#[tokio::test]
async fn a_replacer_is_granted_when_the_task_of_the_holder_has_stopped() {
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
async fn a_replaced_holder_without_tasks_frees_its_permit_at_once() {
    let (functions, _) = Functions::held(&["a", "b"]).await;

    functions.acquire(replacing("b", "token-b")).await.unwrap();

    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

#[tokio::test]
async fn a_run_whose_key_has_had_its_success_replaces_no_run() {
    let key = json!({ "runKey": "tick-6" });
    let (functions, grant) = Functions::held_with(&["a", "b"], key.clone()).await;
    functions.succeed(&grant).await;

    let answer = functions
        .status(merged(replacing("b", "token-b"), &key))
        .await;

    assert_eq!(answer, "duplicate");
    assert!(functions.executions.stops().is_empty());
}
