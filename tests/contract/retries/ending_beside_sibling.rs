//! A retry that has to wait for an attempt that is ending, beside a sibling with the same parent.

use crate::ending::run_of;
use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged, status_of, task};
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

fn of_caller(request: Value) -> Value {
    merged(
        request,
        &json!({ "permits": 2, "parent": execution("caller") }),
    )
}

/// Returns the functions with `a`, which is ending, and its sibling `s` as the holders.
async fn ending_beside_sibling() -> Functions {
    let functions = Functions::running(&["a", "s", "b"]);
    functions
        .granted_with(of_caller(run_of("a", json!({}))))
        .await;
    functions.put_task("a", task("t", 1, false));
    functions
        .granted_with(of_caller(ask_with("s", json!({}))))
        .await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    functions.reap_end("a", "ABORTED").await;
    functions
}

fn retry() -> Value {
    of_caller(ask_with("b", json!({ "waitForEnding": true })))
}

/// The run waits for its turn after the answer, so the call does not look again at the sibling. Each check of the ending
/// attempt stops its task once more, so a call makes at most two.
#[tokio::test]
async fn a_retry_that_waits_for_an_ending_attempt_stops_its_task_at_most_twice() {
    let functions = ending_beside_sibling().await;
    let before = functions.tasks.stops().len();

    let answer = functions.acquire(retry()).await;

    assert_eq!(status_of(&answer), "skipped");
    assert_eq!(answer.unwrap()["ending"], true);
    let stops = functions.tasks.stops().len() - before;
    assert!(stops <= 2, "{stops}");
}

/// The answer `skipped` with `ending` takes the caller to its waiting state, as with `mayWait`. An error that lasts fails
/// the run.
#[tokio::test]
async fn a_retry_that_waits_for_an_ending_attempt_is_in_no_doubt() {
    let functions = ending_beside_sibling().await;
    functions.lose_every(ExecutionsCall::Describe);

    let answer = functions.acquire(retry()).await;

    assert_eq!(status_of(&answer), "skipped");
    assert_eq!(answer.unwrap()["ending"], true);
}
