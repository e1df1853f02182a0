//! A retry of which the first DescribeExecution takes two seconds, as after one attempt of the SDK without an answer.

use super::comes_to_a_run;
use super::many_siblings::acquire_slowly;
use crate::ending::{exited, run_of, yielded};
use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged};
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// DescribeExecution shows the end of the predecessor only to the second call. There are three seconds left for it.
#[tokio::test]
async fn a_retry_looks_again_at_its_predecessor_after_one_slow_answer() {
    for first in [60, 2100] {
        let functions = Functions::running(&["a", "b"]);
        let parent = json!({ "parent": execution("caller") });
        functions.granted_with(ask_with("a", parent.clone())).await;
        functions.end_late("a", ExecutionEnd::Aborted, 1);
        functions.wait(1);
        let retry = merged(parent, &json!({ "waitForEnding": true }));

        let answer = acquire_slowly(&functions, [first, 60], ask_with("b", retry)).await;

        assert!(comes_to_a_run(&answer), "{first} ms: {answer:?}");
    }
}

/// The same of a run that has lost its permit, and keeps the run key of the caller.
#[tokio::test]
async fn a_retry_looks_again_at_a_yielded_run_after_one_slow_answer() {
    for first in [60, 2100] {
        let functions = yielded(&["a", "b"]).await;
        functions.put_task("a", exited(1));
        functions.end_late("a", ExecutionEnd::Aborted, 1);
        let retry = run_of("b", json!({ "runKey": "tick", "waitForEnding": true }));

        let answer = acquire_slowly(&functions, [first, 60], retry).await;

        assert!(comes_to_a_run(&answer), "{first} ms: {answer:?}");
    }
}
