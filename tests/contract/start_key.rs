//! Act `start` of a run key: when it is started again, and what it forgets.

use crate::functions::Functions;
use crate::scene::{arn, ask_with, assert_fails, execution, merged, status_of};
use crate::start::{ran, start, started, started_x};
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

const AGAIN: [&str; 3] = ["tick-1", "", ""];

async fn ran_key(functions: &Functions, name: &str, key: &str, outcome: &str) {
    ran(functions, name, json!({ "runKey": key }), outcome).await;
}

#[tokio::test]
async fn a_run_key_that_succeeded_is_started_again_only_if_named() {
    let functions = Functions::new();
    ran_key(&functions, "monday", "tick-1", "succeeded").await;
    ran_key(&functions, "tuesday", "tick-2", "succeeded").await;

    let refused = functions.operate(start(&json!({}))).await;
    let would = json!({ "again": "tick-1", "dryRun": true });
    let would = functions.operate(start(&would)).await.unwrap();
    let taken = functions
        .status(ask_with("other", json!({ "runKey": "tick-1" })))
        .await;
    let done = functions
        .operate(start(&json!({ "again": "tick-1", "id": "x" })))
        .await
        .unwrap();
    let free = functions
        .status(ask_with(&started_x(AGAIN), json!({ "runKey": "tick-1" })))
        .await;

    assert_fails(
        refused,
        "Lockstep.InvalidRequest",
        &["again", "tick-2", "duplicate"],
    );
    assert_eq!(
        (&would["from"], &would["runKey"]),
        (&json!(execution("monday")), &json!("tick-1"))
    );
    assert_eq!(taken, "duplicate", "a dry run forgets nothing");
    assert_eq!(done["from"], execution("monday"));
    assert_eq!(free, "granted");
}

#[tokio::test]
async fn a_run_key_whose_run_failed_is_started_again_without_its_name() {
    let functions = Functions::new();
    ran_key(&functions, "monday", "tick-1", "failed").await;

    for more in [
        json!({ "id": "x" }),
        json!({ "again": "tick-1", "id": "y" }),
    ] {
        let done = functions.operate(start(&more)).await;
        assert_eq!(status_of(&done), "started", "{more}");
    }
}

/// The started execution would be a duplicate, although the operator was told that it started.
#[tokio::test]
async fn a_run_key_that_is_in_use_is_not_started_again() {
    for case in ["held", "waiting", "without its permit"] {
        let functions = Functions::new();
        ran_key(&functions, "monday", "tick-1", "failed").await;
        functions.start(&["tuesday", "wednesday"]);
        match case {
            "held" => {
                let keyed = ask_with("tuesday", json!({ "runKey": "tick-1" }));
                functions.granted_with(keyed).await;
            }
            "waiting" => {
                functions.granted_with(ask_with("tuesday", json!({}))).await;
                let keyed = json!({ "runKey": "tick-1", "overlap": "queue", "taskToken": "t" });
                assert_eq!(
                    functions.status(ask_with("wednesday", keyed)).await,
                    "queued"
                );
            }
            _ => {
                let yields =
                    json!({ "runKey": "tick-1", "stalePolicy": "yield", "maxRunSeconds": 30 });
                functions.granted_with(ask_with("tuesday", yields)).await;
                functions.wait(95);
                functions.sweep().await;
                assert!(functions.holders("nightly").await.is_empty());
            }
        }
        let again = json!({ "again": "tick-1", "id": "x" });
        for more in [json!({ "dryRun": true }), json!({})] {
            let refused = functions
                .operate(start(&merged(again.clone(), &more)))
                .await;
            assert_fails(refused, "Lockstep.LockHeld", &["tick-1"]);
        }
        assert_eq!(started(&functions), Vec::<String>::new(), "{case}");
    }
}

/// The first answer was lost, and the run that the request started has succeeded since.
#[tokio::test]
async fn a_repeated_request_forgets_no_success_of_the_run_that_it_started() {
    let functions = Functions::new();
    ran_key(&functions, "monday", "tick-1", "succeeded").await;
    let again = start(&json!({ "again": "tick-1", "id": "x" }));
    functions.operate(again.clone()).await.unwrap();
    let keyed = ask_with(&started_x(AGAIN), json!({ "runKey": "tick-1" }));
    let grant = functions.granted_with(keyed).await;
    functions.succeed(&grant).await;

    let repeated = functions.operate(again).await.unwrap();
    let next = functions
        .status(ask_with("tuesday", json!({ "runKey": "tick-1" })))
        .await;

    assert_eq!(repeated["executionArn"], execution(&started_x(AGAIN)));
    assert_eq!(next, "duplicate");
}

#[tokio::test]
async fn an_id_taken_by_a_foreign_execution_is_refused_and_forgets_nothing() {
    let functions = Functions::new();
    ran_key(&functions, "monday", "tick-1", "succeeded").await;
    functions.start(&[&started_x(AGAIN)]);
    functions.executions.disown(&arn(&started_x(AGAIN)));

    let refused = functions
        .operate(start(&json!({ "again": "tick-1", "id": "x" })))
        .await;
    let next = functions
        .status(ask_with("tuesday", json!({ "runKey": "tick-1" })))
        .await;

    assert_fails(
        refused,
        "Lockstep.InvalidRequest",
        &["id", "does not belong to this lock"],
    );
    assert_eq!(next, "duplicate");
}

#[tokio::test]
async fn no_success_is_forgotten_for_a_state_machine_that_cannot_be_started() {
    let functions = Functions::new();
    ran_key(&functions, "monday", "tick-1", "succeeded").await;
    let denied = ExecutionsError::Denied("no such state machine".into());
    functions
        .executions
        .fail_every(ExecutionsCall::CheckStart, denied);

    for more in [json!({ "dryRun": true }), json!({})] {
        let again = merged(json!({ "again": "tick-1" }), &more);
        let refused = functions.operate(start(&again)).await;
        assert_fails(refused, "Lockstep.Denied", &["no such state machine"]);
    }

    let next = functions
        .status(ask_with("tuesday", json!({ "runKey": "tick-1" })))
        .await;
    assert_eq!(next, "duplicate");
}
