//! Overlap `replace` of a run whose run key is in flight.

use crate::ending::run_of;
use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::{ask, execution, merged, task};
use serde_json::json;

/// The run with its key is at work without its permit, under `yield`. The answer is `duplicate`, sooner or later. So
/// the holder must not be stopped for it.
#[tokio::test]
async fn a_run_whose_key_a_yielded_run_keeps_stops_no_holder() {
    let functions = Functions::running(&["a", "x", "b"]);
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
    functions.granted_with(run_of("a", yields)).await;
    functions.put_task("a", task("t", 1, false));
    functions.silent_for_long(60).await;
    functions.sweep().await;
    assert!(functions.holders("nightly").await.is_empty());
    functions.granted_with(ask("x")).await;
    let delivered_twice = merged(replacing("b", "token-b"), &json!({ "runKey": "tick" }));

    let status = functions.status(delivered_twice).await;

    let later = functions.output("token-b");
    let stops = functions.executions.stops();
    assert!(stops.is_empty(), "{status}, then {later:?}: {stops:?}");
    assert_eq!(functions.holders("nightly").await, [execution("x")]);
}
