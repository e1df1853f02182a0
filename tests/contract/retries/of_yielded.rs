//! A retry with the run key of an attempt that went on without its permit, and has failed.

use crate::ending::{exited, run_of, yielded};
use crate::faulty::Faulty;
use crate::scene::status_of;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

/// The answer `duplicate` would end the caller's retry without a run. Of an attempt that has its permit, each
/// of these three is checked again for three seconds, or is in doubt.
#[tokio::test]
async fn a_retry_is_no_duplicate_while_the_end_of_a_yielded_run_is_in_doubt() {
    for case in ["shown late", "throttled once", "not written"] {
        let functions = yielded(&["a", "b"]).await;
        functions.put_task("a", exited(1));
        match case {
            "shown late" => functions.end_late("a", ExecutionEnd::Aborted, 1),
            _ => functions.end("a", ExecutionEnd::Aborted),
        }
        if case == "throttled once" {
            functions.lose_next(ExecutionsCall::Describe);
        }
        // The first write is that of the request, which is refused. The second records the end of `a`.
        let failing = if case == "not written" { 2 } else { 0 };
        let table = Faulty::failing(&functions, failing);
        let retry = run_of("b", json!({ "runKey": "tick", "waitForEnding": true }));

        let answer = functions.acquire_on(&table, retry).await;

        let status = status_of(&answer);
        assert_eq!(status, "granted", "{case}");
    }
}
