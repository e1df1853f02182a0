//! What show says of a live holder that is stopped for its replacer at the end of the rest.

use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::assert_says;
use serde_json::json;

/// It sends heartbeats, and is stopped all the same.
#[tokio::test]
async fn show_makes_no_stop_for_a_replacer_depend_on_heartbeats() {
    let rests = json!({ "minIntervalSeconds": 600, "leaseSeconds": 3600 });
    let (functions, grant) = Functions::held_with(&["a", "b"], rests).await;
    functions.wait(5);
    let status = functions.status(replacing("b", "token-b")).await;
    assert_eq!(status, "queued");

    let shown = functions.shown().await;
    for _ in 0..11 {
        functions.wait(60);
        functions.renew(&grant).await;
    }
    functions.sweep().await;

    assert!(!functions.executions.stops().is_empty(), "{shown}");
    let frees = shown["frees"].as_str().unwrap();
    assert_says(frees, "stops the holder");
    assert!(
        !frees.contains("If no further heartbeat arrives"),
        "{frees}"
    );
}
