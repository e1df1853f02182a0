//! A retry whose dead predecessor cannot be described: Step Functions throttles each call of these seconds.
//!
//! A table that fails in these seconds leaves the end of the earlier attempt in doubt, and so does Step Functions.

use crate::ending::{exited, run_of};
use crate::functions::Functions;
use crate::scene::{execution, merged, task};
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

#[tokio::test]
async fn a_retry_is_in_doubt_while_its_predecessor_cannot_be_described() {
    for same in [
        json!({ "parent": execution("caller") }),
        json!({ "runKey": "tick" }),
    ] {
        let functions = Functions::running(&["a", "b"]);
        functions.granted_with(run_of("a", same.clone())).await;
        functions.put_task("a", exited(1));
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        functions.lose_every(ExecutionsCall::Describe);
        let retry = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));

        let status = functions.status(retry).await;

        assert_eq!(status, "Lockstep.Unavailable", "{same}");
    }
}

#[tokio::test]
async fn a_retry_is_in_doubt_while_a_yielded_run_cannot_be_described() {
    let functions = Functions::running(&["a", "b"]);
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
    functions.granted_with(run_of("a", yields)).await;
    functions.put_task("a", task("t", 1, false));
    functions.silent_for_long(60).await;
    functions.sweep().await;
    assert!(functions.holders("nightly").await.is_empty());
    functions.put_task("a", exited(1));
    functions.end("a", ExecutionEnd::Aborted);
    functions.lose_every(ExecutionsCall::Describe);
    let retry = run_of("b", json!({ "runKey": "tick", "waitForEnding": true }));

    let status = functions.status(retry).await;

    assert_eq!(status, "Lockstep.Unavailable");
}
