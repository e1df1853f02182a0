//! A retry that has to wait for an attempt that is ending, beside a sibling that cannot be described.

use crate::ending::run_of;
use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged, status_of, task};
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// The answer `skipped` with `ending` takes the caller to its waiting state, as with `mayWait`. An error that lasts fails
/// the run.
#[tokio::test]
async fn a_retry_that_waits_for_an_ending_attempt_is_in_no_doubt() {
    let functions = Functions::running(&["a", "s", "b"]);
    let of_two = |request: Value| merged(request, &json!({ "permits": 2 }));
    let parent = json!({ "parent": execution("caller") });
    functions
        .granted_with(of_two(run_of("a", parent.clone())))
        .await;
    functions.put_task("a", task("t", 1, false));
    functions
        .granted_with(of_two(ask_with("s", parent.clone())))
        .await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    functions.reap_end("a", "ABORTED").await;
    functions.lose_every(ExecutionsCall::Describe);
    let retry = merged(parent, &json!({ "waitForEnding": true }));

    let answer = functions.acquire(of_two(ask_with("b", retry))).await;

    assert_eq!(status_of(&answer), "skipped");
    assert_eq!(answer.unwrap()["ending"], true);
}
