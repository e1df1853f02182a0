//! A heartbeat that was under way when its run ended.

use crate::functions::Functions;
use crate::scene::ask;
use lockstep::domain::ExecutionEnd;
use serde_json::json;

#[tokio::test]
async fn a_beat_that_was_under_way_when_the_workflow_released_does_not_bring_the_lease_back() {
    let functions = Functions::new();
    functions.start(&["a"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.beat(&grant, "beat-1").await;
    let release = json!({ "grant": grant, "outcome": "failed" });
    functions.release(release).await.unwrap();
    functions.wait(1);

    let refused = functions.refused_beat(&grant, "beat-2").await;

    assert_eq!(refused, "Lockstep.LeaseLost");
    assert!(functions.holders("nightly").await.is_empty());
}

#[tokio::test]
async fn a_beat_that_was_under_way_when_the_run_was_recovered_does_not_bring_the_lease_back() {
    let functions = Functions::new();
    functions.start(&["a"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.beat(&grant, "beat-1").await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(62);
    functions.sweep().await;
    functions.wait(1);

    let refused = functions.refused_beat(&grant, "beat-2").await;

    assert_eq!(refused, "Lockstep.LeaseLost");
    assert!(functions.holders("nightly").await.is_empty());
}
