//! A retry that meets a run without its permit only at its second decision, while DescribeExecution still shows that
//! run as running.
//!
//! At a first decision such a run is looked at for three seconds.

use crate::ending::{exited, run_of};
use crate::functions::Functions;
use crate::scene::task;
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// Returns the functions with `a`, which is a silent suspect under `yield`.
async fn suspect() -> Functions {
    let functions = Functions::running(&["a", "x", "b"]);
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
    functions.granted_with(run_of("a", yields)).await;
    functions.put_task("a", task("t", 1, false));
    functions.silent_for_long(60).await;
    functions
}

fn retry() -> Value {
    run_of("b", json!({ "runKey": "tick", "waitForEnding": true }))
}

/// The check of this call lets `a` yield.
#[tokio::test]
async fn a_retry_looks_again_at_a_run_that_yields_under_it() {
    let functions = suspect().await;
    functions.put_task("a", exited(1));
    functions.end_late("a", ExecutionEnd::Aborted, 2);

    let status = functions.status(retry()).await;

    assert_eq!(status, "granted");
}

/// The check of this call frees the permit of `x`, which has died.
#[tokio::test]
async fn a_retry_looks_again_at_a_yielded_run_behind_another_dead_one() {
    let functions = suspect().await;
    functions.sweep().await;
    functions.granted_with(run_of("x", json!({}))).await;
    functions.end("x", ExecutionEnd::Failed);
    functions.wait(40);
    functions.put_task("a", exited(1));
    functions.end_late("a", ExecutionEnd::Aborted, 1);

    let status = functions.status(retry()).await;

    assert_eq!(status, "granted");
}
