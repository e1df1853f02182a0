//! A retry with the run key of a dead attempt whose lease cannot be read for a moment.

use crate::ending::{exited, run_of};
use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{merged, status_of};
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// The refusal has the run and not its lease. A read that fails shows nothing of the earlier attempt.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_an_attempt_that_cannot_be_read() {
    let functions = Functions::running(&["a", "b"]);
    let key = json!({ "runKey": "tick" });
    functions.granted_with(run_of("a", key.clone())).await;
    functions.put_task("a", exited(1));
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    let table = Faulty::unread(&functions);
    let retry = merged(run_of("b", key), &json!({ "waitForEnding": true }));

    let answer = functions.acquire_on(&table, retry).await;

    // The call looks again.
    assert_eq!(status_of(&answer), "granted");
}
