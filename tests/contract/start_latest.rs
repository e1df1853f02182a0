//! Act `start`: which run operate starts again.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::operate::act;
use crate::scene::{arn, ask_with, assert_fails, assert_says, execution, merged};
use serde_json::{Value, json};

fn start(more: &Value) -> Value {
    act(
        "start",
        merged(json!({ "lock": "nightly", "id": "x" }), more),
    )
}

/// Performs a failed run of the execution `name`, whose request has the fields `more`. Then 60 s pass.
async fn ran(functions: &Functions, name: &str, more: Value) {
    functions.start(&[name]);
    let grant = functions.granted_with(ask_with(name, more)).await;
    functions.finish(&grant, "failed").await;
    functions.wait(60);
}

/// Returns the functions after a run of `monday` with `tick-1`, while `tuesday` holds the permit with
/// `tick-2` and `wednesday` waits with `tick-3`.
async fn in_use() -> Functions {
    let functions = Functions::new();
    ran(&functions, "monday", json!({ "runKey": "tick-1" })).await;
    functions.start(&["tuesday", "wednesday"]);
    let keyed = ask_with("tuesday", json!({ "runKey": "tick-2" }));
    functions.granted_with(keyed).await;
    let waits = json!({ "runKey": "tick-3", "overlap": "queue", "taskToken": "token" });
    let queued = functions.status(ask_with("wednesday", waits)).await;
    assert_eq!(queued, "queued");
    functions
}

#[tokio::test]
async fn start_with_again_is_accepted_while_a_run_of_another_key_holds() {
    let functions = in_use().await;

    let again = functions
        .operate(start(&json!({ "again": "tick-1" })))
        .await;
    let answer = again.unwrap();

    assert_eq!(answer["from"], execution("monday"));
    let machine = answer["stateMachineArn"].as_str().unwrap();
    let started = answer["executionArn"].as_str().unwrap();
    let message = format!(
        "started {machine} with the input of {}: {started}",
        execution("monday")
    );
    assert_eq!(answer["message"], message);
}

#[tokio::test]
async fn start_with_again_of_the_key_of_a_holder_or_a_waiter_is_refused() {
    let functions = in_use().await;
    for key in ["tick-2", "tick-3"] {
        let refused = functions.operate(start(&json!({ "again": key }))).await;

        assert_fails(refused, "Lockstep.LockHeld", &[key]);
    }
}

/// `tuesday` waits with the run key of the latest run, so a copy of that run would be a second run of the
/// key.
#[tokio::test]
async fn the_latest_run_is_not_started_while_its_run_key_waits() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({ "runKey": "tick-1" })).await;
    functions.pause("upgrade").await;
    functions.start(&["tuesday"]);
    let waits =
        json!({ "runKey": "tick-1", "overlap": "queue", "onPaused": "wait", "taskToken": "token" });
    let queued = functions.status(ask_with("tuesday", waits)).await;
    assert_eq!(queued, "queued");

    let refused = functions.operate(start(&json!({}))).await;

    assert_fails(refused, "Lockstep.LockHeld", &["tick-1"]);
}

#[tokio::test]
async fn a_started_copy_has_no_parent_in_its_input() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({})).await;
    let by = execution("caller");
    let input = json!({ "lock": "nightly", "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": by });
    functions
        .executions
        .set_input(&arn("monday"), &input.to_string());

    functions.operate(start(&json!({}))).await.unwrap();

    let starts = functions.executions.starts();
    let input = starts[0].input.as_deref().unwrap();
    assert_eq!(input, r#"{"lock":"nightly"}"#);
}

/// The latest run may be one of the runs that cannot be read.
#[tokio::test]
async fn a_lock_with_unreadable_runs_is_started_only_by_a_run_key() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({ "runKey": "tick-1" })).await;
    let table = || Faulty::unreadable_entries(&functions, 2);

    let refused = functions.operate_on(table(), start(&json!({}))).await;
    let named = start(&json!({ "again": "tick-1" }));
    let again = functions.operate_on(table(), named).await;

    assert_fails(refused, "Lockstep.Corrupt", &["2 of its latest runs"]);
    assert_says(again.unwrap()["from"].as_str().unwrap(), "monday");
}

#[tokio::test]
async fn a_run_key_is_searched_among_the_latest_thousand_runs() {
    for (later, found) in [(999, true), (1000, false)] {
        let functions = Functions::new();
        ran(&functions, "monday", json!({ "runKey": "tick-1" })).await;
        for _ in 0..later {
            functions.ran("nightly", "other").await;
            functions.wait(1);
        }

        let again = start(&json!({ "again": "tick-1", "dryRun": true }));
        let answer = functions.operate(again).await;

        assert_eq!(answer.is_ok(), found, "{later}: {answer:?}");
    }
}
