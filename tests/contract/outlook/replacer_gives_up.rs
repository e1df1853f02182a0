//! What show says of a holder whose replacer gives up before the lock could grant it the permit.

use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::merged;
use serde_json::json;

#[tokio::test]
async fn show_predicts_no_stop_for_a_run_that_has_given_up_by_then() {
    let rests = json!({ "minIntervalSeconds": 600, "leaseSeconds": 3600 });
    let (functions, _) = Functions::held_with(&["a", "b"], rests).await;
    functions.wait(5);
    let patience = json!({ "waitUntil": functions.time_in(100) });
    let request = merged(replacing("b", "token-b"), &patience);
    let answer = functions.acquire(request).await.unwrap();
    assert_eq!(answer["status"], "queued");

    let shown = functions.shown().await;
    functions.wait(657);
    functions.sweep().await;

    let next = &shown["holders"][0]["next"];
    let stopped = !functions.executions.stops().is_empty();
    assert_eq!(next["action"] == "stop", stopped, "{next}");
}
