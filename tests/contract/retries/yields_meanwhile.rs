//! A retry with the run key of an attempt that yields while the retry is decided.

use crate::ending::{exited, run_of};
use crate::faulty::{Behind, Faulty};
use crate::functions::Functions;
use crate::scene::status_of;
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// The last heartbeat of the earlier attempt is over its time, and ends its grant. Its execution was aborted, and
/// DescribeExecution does not show that yet. Its work has failed, so the key is free.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_a_failed_run_that_yielded_under_it() {
    let functions = Functions::running(&["a", "b"]);
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield", "maxRunSeconds": 30 });
    let grant = functions.granted_with(run_of("a", yields)).await;
    functions.wait(31);
    functions.put_task("a", exited(1));
    functions.end_late("a", ExecutionEnd::Aborted, 1);
    let table = Faulty::behind_a_read(&functions, grant, Behind::Renewed);
    let retry = run_of("b", json!({ "runKey": "tick", "waitForEnding": true }));

    let answer = functions.acquire_on(&table, retry).await;

    let status = status_of(&answer);
    let is_right = ["granted", "Lockstep.Unavailable"].contains(&status);
    assert!(is_right, "{status}");
}
