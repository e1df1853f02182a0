//! A holder that is to be replaced once its lock no longer rests.

use crate::functions::Functions;
use crate::replace::replacing;
use lockstep::contract::parse_time;
use lockstep::domain::Seconds;
use serde_json::json;

/// Sweeps each minute until the time `by`.
pub(crate) async fn sweep_until(functions: &Functions, by: &str) {
    let by = parse_time("by", by).unwrap();
    while functions.now().plus(Seconds::of(60)) <= by {
        functions.wait(60);
        functions.sweep().await;
    }
}

/// A sweep during the rest writes the next check of the holder, and with it forgets the end of the rest.
#[tokio::test]
async fn a_replaced_holder_is_stopped_after_the_rest_by_the_shown_time() {
    let rests = json!({ "minIntervalSeconds": 600, "leaseSeconds": 400 });
    let (functions, grant) = Functions::held_with(&["a", "b"], rests).await;
    functions.wait(390);
    functions.renew(&grant).await;
    functions.wait(5);
    let answer = functions.acquire(replacing("b", "token-b")).await.unwrap();
    assert_eq!(answer["status"], "queued");

    let shown = functions.shown().await;
    let next = &shown["holders"][0]["next"];
    sweep_until(&functions, next["by"].as_str().unwrap()).await;

    assert_eq!(next["action"], "stop", "{shown}");
    assert!(!functions.executions.stops().is_empty(), "{next}");
}
