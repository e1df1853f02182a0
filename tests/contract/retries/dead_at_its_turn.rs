//! A retry whose call hands the permit of the first attempt over to the second, which has died in the queue.

use super::comes_to_a_run;
use crate::ending::{exited, run_of};
use crate::functions::{Functions, task_token};
use crate::scene::{execution, merged, task, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// The second attempt died less than 30 s before its turn, so it keeps the permit that it is handed. It is in the way
/// only at the second decision of the call.
#[tokio::test]
async fn a_retry_checks_an_attempt_that_gets_its_turn_under_it() {
    for same in [
        json!({ "parent": execution("caller") }),
        json!({ "runKey": "tick" }),
    ] {
        let functions = Functions::running(&["a", "c", "b"]);
        functions.granted_with(run_of("a", same.clone())).await;
        functions.put_task("a", task("t", 1, false));
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        let second = merged(waiting("c", "token-c"), &same);
        assert_eq!(functions.status(second).await, "queued");
        functions.wait(1);
        functions.end("c", ExecutionEnd::Aborted);
        functions.executions.close(&task_token("token-c"));
        functions.wait(1);
        functions.put_task("a", exited(1));
        let third = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));

        let answer = functions.acquire(third).await;

        let holders = functions.holders("nightly").await;
        assert!(!holders.contains(&execution("a")), "{same}: {holders:?}");
        assert!(comes_to_a_run(&answer), "{same}: {answer:?}");
    }
}
