//! One call ends in time, whatever service does not respond.

use crate::bad_input::with;
use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{ask, ask_with, execution, status_of, task, waiting};
use futures_util::FutureExt;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// Returns the functions with `a` as the holder on the terms of `more`. `a` is dead, and its lease has ended.
async fn dead(more: Value) -> Functions {
    let (functions, _) = Functions::held_with(&["a", "b"], more).await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(62);
    functions
}

/// The second decision may be written, so the answer of the first one may be wrong.
#[tokio::test]
async fn an_acquire_fails_if_its_second_decision_gets_no_response() {
    let functions = dead(json!({})).await;
    // The decision takes one request to the table. The checks that follow get no response.
    let table = Faulty::silent_after(&functions, 1);
    let start = functions.now();

    let answer = functions.acquire_on(&table, ask("b")).await;

    assert_eq!(status_of(&answer), "Lockstep.Unavailable");
    // The checks take 5 s, and the rest is the time for a newer decision.
    assert_eq!(functions.now().millis_since(start), 6_000);
}

#[tokio::test]
async fn a_retry_repeats_a_failed_check_of_its_earlier_attempt() {
    let retried = json!({ "parent": execution("caller"), "waitForEnding": true });
    let (functions, _) = Functions::held_with(&["a", "b"], retried.clone()).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.lose_next(ExecutionsCall::Describe);

    assert_eq!(functions.status(ask_with("b", retried)).await, "granted");
}

/// The answer `skipped` would end the caller's retry without a run.
#[tokio::test]
async fn only_a_retry_fails_if_its_earlier_attempt_cannot_be_checked() {
    let parent = json!({ "parent": execution("caller"), "waitForEnding": true });
    let alone = json!({ "waitForEnding": true });
    for (more, expected) in [(parent, "Lockstep.Unavailable"), (alone, "skipped")] {
        let functions = dead(more.clone()).await;
        // The decision takes one request to the table. The check gets an error.
        let table = Faulty::cut_off_after(&functions, 1);

        let request = ask_with("b", more.clone());
        let answer = functions.acquire_on(&table, request).await;

        assert_eq!(status_of(&answer), expected, "{more}");
    }
}

/// Lambda ends a call after 10 s. The clock of these tests advances only in pauses and in time limits.
#[tokio::test]
async fn an_acquire_ends_within_8_s_whichever_request_gets_no_response() {
    let replace = ask_with("b", json!({ "overlap": "replace", "taskToken": "token-1" }));
    let redrive = ask_with("b", json!({ "redriveCount": 1 }));
    for (request, least) in [
        (ask("b"), 3),
        (waiting("b", "token-1"), 5),
        (replace, 5),
        (redrive, 3),
    ] {
        for answered in 0.. {
            let functions = dead(json!({})).await;
            let table = Faulty::silent_after(&functions, answered);
            let start = functions.now();

            let call = functions.acquire_on(&table, request.clone());
            let response = call.now_or_never();

            let case = format!("{request} with {answered} responses");
            let response = response.unwrap_or_else(|| panic!("{case}: no end"));
            let took = functions.now().millis_since(start);
            assert!(took <= 8_000, "{case}: {took} ms");
            if let Err(error) = response {
                assert_eq!(error.name().as_str(), "Lockstep.Unavailable", "{case}");
            }
            if !table.is_silent() {
                assert!(answered >= least, "{case}");
                break;
            }
        }
    }
}

/// Returns the functions with a holder that has a heartbeat state and a waiter behind it, and a request with
/// the holder's grant and its task to protect.
async fn working() -> (Functions, Value) {
    let (functions, grant) = Functions::held(&["a", "b"]).await;
    functions.beat(&grant, "beat-1").await;
    functions.queue(&["b"]).await;
    let protect = json!({ "cluster": "batch", "task": task("t", 1, false).arn });
    (functions, json!({ "grant": grant, "protect": protect }))
}

#[tokio::test]
async fn heartbeat_and_release_end_within_9_s_whichever_service_is_silent() {
    let calls = [
        ("beat", "taskToken", "beat-2"),
        ("end", "outcome", "succeeded"),
    ];
    for (call, field, value) in calls {
        for silent in ["no service", "Step Functions", "ECS", "both"] {
            for answered in 0.. {
                let (functions, event) = working().await;
                let event = with(&event, field, json!(value));
                if ["Step Functions", "both"].contains(&silent) {
                    functions.executions.silence();
                }
                if ["ECS", "both"].contains(&silent) {
                    functions.tasks.silence();
                }
                let table = Faulty::silent_after(&functions, answered);
                let start = functions.now();

                let response = match call {
                    "beat" => functions.heartbeat_on(&table, event).now_or_never(),
                    _ => functions.release_on(&table, event).now_or_never(),
                };

                let case = format!("{call}, {silent} and {answered} responses");
                let response = response.unwrap_or_else(|| panic!("{case}: no end"));
                let took = functions.now().millis_since(start);
                assert!(took <= 9_000, "{case}: {took} ms");
                if !table.is_silent() {
                    // The table has answered everything, so the lease is renewed or the permit is free. Of
                    // the calls that follow, only the one that ends the heartbeat state fails the release of
                    // a success.
                    let waits = call == "end" && ["Step Functions", "both"].contains(&silent);
                    assert_eq!(response.is_err(), waits, "{case}: {response:?}");
                    break;
                }
            }
        }
    }
}
