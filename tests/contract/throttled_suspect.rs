//! A dead holder that could not be described when its lease ended. The event of its end is lost.

use crate::functions::Functions;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

/// The sweep that gets no answer marks it as a suspect, which has a heartbeat's time.
#[tokio::test]
async fn a_dead_holder_that_was_not_described_is_found_a_heartbeat_later() {
    let long = json!({ "leaseSeconds": 2700, "heartbeatSeconds": 900 });
    let (functions, _) = Functions::held_with(&["a"], long).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(2702);
    functions.lose_next(ExecutionsCall::Describe);
    functions.sweep().await;
    assert!(!functions.holders("nightly").await.is_empty());

    functions.wait(902);
    functions.sweep().await;

    assert!(functions.holders("nightly").await.is_empty());
}
