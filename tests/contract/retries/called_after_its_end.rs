//! A retry of an attempt that was handed its permit after its end: its last request to wait was under way when it was
//! aborted.

use super::comes_to_a_run;
use crate::functions::{Functions, task_token};
use crate::scene::{ask, ask_with, execution, merged, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// The registration is later than the end that is shown, so the execution may also have been redriven. The attempt keeps
/// the permit, and no check shows whether it is at work.
#[tokio::test]
async fn a_retry_is_in_doubt_of_an_attempt_that_registered_after_its_end() {
    for same in [
        json!({ "parent": execution("caller") }),
        json!({ "runKey": "tick" }),
    ] {
        let functions = Functions::running(&["x", "a", "b"]);
        let before = functions.granted_with(ask("x")).await;
        functions.wait(10);
        functions.end("a", ExecutionEnd::Aborted);
        functions.executions.close(&task_token("token-a"));
        functions.wait(1);
        let late = merged(waiting("a", "token-a"), &same);
        assert_eq!(functions.status(late).await, "queued", "{same}");
        functions.wait(1);
        functions.succeed(&before).await;
        assert_eq!(functions.holders("nightly").await, [execution("a")]);
        functions.wait(1);
        let retry = merged(
            ask_with("b", same.clone()),
            &json!({ "waitForEnding": true }),
        );

        let answer = functions.acquire(retry).await;

        assert!(comes_to_a_run(&answer), "{same}: {answer:?}");
    }
}
