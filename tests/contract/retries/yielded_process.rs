//! A caller under a name of its own that is over its time under `yield`, and works on without its permit.

use crate::functions::Functions;
use crate::scene::{ask, ask_with, merged};
use serde_json::json;

/// Its heartbeat was answered with `ended`, so it sends no other. That it is silent shows nothing.
#[tokio::test]
async fn a_process_that_yielded_keeps_its_run_key_after_its_lease() {
    let functions = Functions::running(&["b"]);
    let terms = json!({
        "holder": "worker-1", "runKey": "tick", "stalePolicy": "yield", "maxRunSeconds": 30,
        "leaseSeconds": 60
    });
    let grant = functions.granted_with(merged(ask("x"), &terms)).await;
    functions.wait(31);
    assert_eq!(functions.renew(&grant).await["status"], "ended");
    let next = ask_with("b", json!({ "runKey": "tick" }));
    let early = functions.status(next.clone()).await;
    functions.wait(60);

    let late = functions.status(next).await;

    assert_eq!([early, late], ["duplicate", "duplicate"]);
}
