//! A retry with the run key of a run that lost its permit under `yield`, and whose last heartbeat came after its end.

use super::comes_to_a_run;
use crate::ending::{exited, run_of};
use crate::functions::Functions;
use crate::scene::merged;
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

fn retry() -> Value {
    run_of("b", json!({ "runKey": "tick", "waitForEnding": true }))
}

/// Returns the functions with `a`, which has failed. A heartbeat that was under way at its end came a second later.
async fn with_a_late_heartbeat(limits: Value) -> (Functions, Value) {
    let functions = Functions::running(&["a", "b"]);
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
    let grant = functions
        .granted_with(run_of("a", merged(yields, &limits)))
        .await;
    functions.put_task("a", exited(1));
    functions.wait(25);
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(1);
    functions.renew(&grant).await;
    (functions, grant)
}

/// Lambda runs the late heartbeat twice. By the second time, the run has exceeded its limit, and yields. The heartbeat
/// came after the described end of the execution, so the execution may have been redriven, and the retry is in doubt.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_a_run_that_yields_by_a_late_heartbeat() {
    let (functions, grant) = with_a_late_heartbeat(json!({ "maxRunSeconds": 30 })).await;
    functions.wait(5);
    assert_eq!(functions.renew(&grant).await["status"], "ended");

    let answer = functions.acquire(retry()).await;

    assert!(comes_to_a_run(&answer), "{answer:?}");
}

/// A lease that is over within 30 s of that heartbeat. The check of the retry lets the run yield.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_a_run_that_yields_soon_after_its_end() {
    let (functions, _) = with_a_late_heartbeat(json!({ "leaseSeconds": 9 })).await;
    functions.wait(11);
    functions.sweep().await;
    functions.wait(10);

    let answer = functions.acquire(retry()).await;

    assert!(comes_to_a_run(&answer), "{answer:?}");
    let run = functions.marker("nightly", "tick").expect("a marker");
    assert!(run.lease.is_some(), "the run has yielded: {run:?}");
}
