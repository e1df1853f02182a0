//! Act `start` without a schedule: operate starts the latest run of a lock again.

use crate::bad_input::{NULL, cases};
use crate::functions::Functions;
use crate::operate::act;
use crate::scene::{arn, ask_with, assert_fails, execution, merged};
use lockstep::domain::{LockKey, start_name};
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

pub(crate) fn start(more: &Value) -> Value {
    act("start", merged(json!({ "lock": "nightly" }), more))
}

/// Returns the executions that operate has started.
pub(crate) fn started(functions: &Functions) -> Vec<String> {
    let known = functions
        .executions
        .known()
        .into_iter()
        .map(|arn| arn.to_string());
    known.filter(|arn| arn.contains(":started-")).collect()
}

/// Carries out a run of the execution `name` on the terms of `more`, which ends with `outcome`, and waits 60
/// s.
pub(crate) async fn ran(functions: &Functions, name: &str, more: Value, outcome: &str) {
    functions.start(&[name]);
    let grant = functions.granted_with(ask_with(name, more)).await;
    functions.finish(&grant, outcome).await;
    functions.wait(60);
}

#[tokio::test]
async fn the_latest_run_is_started_again_and_the_history_names_who_did_it() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({}), "succeeded").await;
    ran(&functions, "tuesday", json!({}), "failed").await;

    let would = functions
        .operate(start(&json!({ "dryRun": true, "id": "x" })))
        .await
        .unwrap();
    assert_eq!(started(&functions), Vec::<String>::new());
    let done = functions
        .operate(start(&json!({ "id": "x" })))
        .await
        .unwrap();

    assert_eq!(would["status"], "wouldStart");
    assert_eq!(done["status"], "started");
    assert_eq!(
        (&would["from"], &done["from"]),
        (&json!(execution("tuesday")), &json!(execution("tuesday")))
    );
    assert_eq!(started(&functions), [execution(&started_x(LATEST))]);
    assert_eq!(done["executionArn"], execution(&started_x(LATEST)));
    let entry = &functions.history_page().await["entries"][0];
    assert_eq!(
        (&entry["outcome"], &entry["actor"]),
        (&json!("started"), &json!("jo@example.com"))
    );
    let note = format!(
        "{}: upgrade (by jo@example.com)",
        execution(&started_x(LATEST))
    );
    assert_eq!(entry["note"], note);
}

#[tokio::test]
async fn a_repeated_request_with_the_same_id_starts_one_run() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({}), "succeeded").await;

    for _ in 0..3 {
        functions
            .operate(start(&json!({ "id": "x" })))
            .await
            .unwrap();
    }
    functions.wait(1);
    functions.operate(start(&json!({}))).await.unwrap();

    assert_eq!(started(&functions).len(), 2);
}

/// Both locks start the same state machine, whose executions need different names.
#[tokio::test]
async fn requests_for_two_locks_at_one_time_start_two_executions() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({}), "succeeded").await;
    ran(
        &functions,
        "other",
        json!({ "lock": "weekly" }),
        "succeeded",
    )
    .await;

    for id in [json!({}), json!({ "id": "x" })] {
        for lock in ["nightly", "weekly"] {
            let asked = start(&merged(id.clone(), &json!({ "lock": lock })));
            functions.operate(asked).await.unwrap();
        }
    }

    assert_eq!(started(&functions).len(), 4);
}

/// The first request started the execution and failed before it wrote the history.
#[tokio::test]
async fn a_start_without_an_answer_is_in_the_history_after_its_repetition() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({}), "succeeded").await;
    functions.start(&[&started_x(LATEST)]);

    for _ in 0..2 {
        let again = functions.operate(start(&json!({ "id": "x" }))).await;
        assert_eq!(again.unwrap()["status"], "started");
    }

    let history = functions.history_page().await;
    let entries = history["entries"].as_array().unwrap().iter();
    let starts = entries.filter(|entry| entry["outcome"] == "started");
    assert_eq!(starts.count(), 1, "{history}");
}

#[tokio::test]
async fn the_latest_run_may_be_one_that_is_under_way() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({}), "succeeded").await;
    functions.start(&["tuesday"]);
    functions.granted_with(ask_with("tuesday", json!({}))).await;

    let would = functions
        .operate(start(&json!({ "dryRun": true })))
        .await
        .unwrap();

    assert_eq!(would["from"], execution("tuesday"));
}

/// A caller chooses the name of its holder, and may have named an execution that is not its own.
#[tokio::test]
async fn an_execution_that_does_not_name_the_lock_is_not_started() {
    let functions = Functions::new();
    ran(&functions, "victim", json!({}), "succeeded").await;
    functions.executions.disown(&arn("victim"));

    let refused = functions.operate(start(&json!({}))).await;

    let parts = ["lock", &execution("victim"), "named in the input"];
    assert_fails(refused, "Lockstep.InvalidRequest", &parts);
    assert_eq!(started(&functions), Vec::<String>::new());
}

#[tokio::test]
async fn a_lock_without_a_known_execution_has_nothing_to_start() {
    let functions = Functions::new();
    functions.ran("process", "host:batch-1#17/a").await;
    ran(&functions, "monday", json!({}), "succeeded").await;
    let base = start(&json!({}));
    let cases = cases! {
        "lock", "process" => "lock", "\"process\"", "an execution of Step Functions as a whole";
        "lock", "unused" => "lock", "\"unused\"", "acquired or paused before";
        "again", "tick" => "again", "\"tick\"", "the run key of one of the latest runs";
        "again", "a b" => "again", "a b", "without spaces";
        "id", "a b" => "id", "a b", "A-Z a-z 0-9";
        "id", "" => "id", "\"\"", "1 to 40";
        "dryRun", "yes" => "dryRun", "string \"yes\"";
        "note", NULL => "missing field `note`";
        "input", "{}" => "unknown field `input`";
    };

    functions.assert_refused(&base, cases).await;

    functions.executions.forget(&arn("monday"));
    let gone = functions.operate(base).await;
    assert_fails(
        gone,
        "Lockstep.InvalidRequest",
        &["lock", &execution("monday")],
    );
}

#[tokio::test]
async fn a_start_that_step_functions_refuses_leaves_no_entry() {
    let functions = Functions::new();
    ran(&functions, "monday", json!({}), "succeeded").await;
    let denied = ExecutionsError::Denied("no permission".into());
    functions
        .executions
        .fail_every(ExecutionsCall::Start, denied);

    let refused = functions.operate(start(&json!({}))).await;

    assert_fails(refused, "Lockstep.Denied", &["no permission"]);
    let history = functions.history_page().await;
    assert_eq!(history["entries"][0]["kind"], "run");
}

#[tokio::test]
async fn a_run_that_is_not_a_whole_execution_is_not_started_again() {
    let map = "arn:aws:states:eu-west-1:123456789012:execution:report/a1b2:c3d4";
    for holder in [
        format!("{}#shard-3", execution("monday")),
        map.into(),
        "host:a#1/b".into(),
    ] {
        let functions = Functions::running(&["monday"]);
        functions.ran("nightly", &execution("monday")).await;
        functions.wait(5);
        functions.ran("nightly", &holder).await;

        for dry_run in [true, false] {
            let refused = functions
                .operate(start(&json!({ "dryRun": dry_run })))
                .await;
            assert_fails(
                refused,
                "Lockstep.InvalidRequest",
                &["lock", &holder, "as a whole"],
            );
        }
        assert_eq!(started(&functions), Vec::<String>::new());
    }
}

/// Returns the name of the execution that the request with the id `x` and this `again`, `schedule` and
/// `scheduledTime` starts.
pub(crate) fn started_x(given: [&str; 3]) -> String {
    start_name(&LockKey::new("nightly").unwrap(), &given, "x")
}

const LATEST: [&str; 3] = ["", "", ""];
