//! Overlap `replace` of a run whose run key is in flight.

use crate::ending::yielded;
use crate::replace::replacing;
use crate::scene::{ask, execution, merged};
use serde_json::json;

/// The run with its key is at work without its permit, under `yield`. The answer is `duplicate`, sooner or later. So
/// the holder must not be stopped for it.
#[tokio::test]
async fn a_run_whose_key_a_yielded_run_keeps_stops_no_holder() {
    let functions = yielded(&["a", "x", "b"]).await;
    functions.granted_with(ask("x")).await;
    let delivered_twice = merged(replacing("b", "token-b"), &json!({ "runKey": "tick" }));

    let status = functions.status(delivered_twice).await;

    let later = functions.output("token-b");
    let stops = functions.executions.stops();
    assert!(stops.is_empty(), "{status}, then {later:?}: {stops:?}");
    assert_eq!(functions.holders("nightly").await, [execution("x")]);
}
