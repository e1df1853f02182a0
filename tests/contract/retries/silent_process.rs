//! A process with a run key under `yield` that has died.

use crate::functions::Functions;
use crate::scene::{ask, ask_with, merged};
use serde_json::json;

/// A process that cannot renew its lease stops its own work under every policy. It did not succeed, so its key is
/// free with its permit. Only a process whose heartbeat was answered `ended` works on.
#[tokio::test]
async fn the_key_of_a_silent_process_under_yield_is_free_after_its_lease() {
    let functions = Functions::running(&["b"]);
    let terms = json!({
        "holder": "worker-1", "runKey": "tick", "stalePolicy": "yield", "leaseSeconds": 60
    });
    functions.granted_with(merged(ask("x"), &terms)).await;
    functions.wait(63);
    let next = ask_with("b", json!({ "runKey": "tick" }));

    let soon = functions.status(next.clone()).await;
    functions.wait(3600);
    let later = functions.status(next).await;

    assert_eq!([soon, later], ["granted", "alreadyHeld"]);
}
