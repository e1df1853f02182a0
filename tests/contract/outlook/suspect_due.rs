//! A suspect has the time of one heartbeat to clear its mark. Until then no sweep checks it for anything else.

use super::replace_after_rest::sweep_until;
use crate::functions::Functions;
use lockstep::domain::Mode;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

/// Its limit is over before the time of the heartbeat.
#[tokio::test]
async fn a_suspect_over_its_time_is_stopped_by_the_shown_time() {
    let terms = json!({ "leaseSeconds": 1000, "heartbeatSeconds": 900, "maxRunSeconds": 1200 });
    let (functions, _) = Functions::held_with(&["a"], terms).await;
    functions.wait(1002);
    functions.sweep().await;
    functions.wait(1);

    let shown = functions.shown().await;
    let next = &shown["holders"][0]["next"];
    sweep_until(&functions, next["by"].as_str().unwrap()).await;

    assert_eq!(next["action"], "stop", "{shown}");
    assert!(!functions.executions.stops().is_empty(), "{next}");
}

/// An hour after the end of the lease is before the time of the heartbeat.
#[tokio::test]
async fn a_lock_freezes_an_hour_after_the_lease_however_long_the_heartbeats() {
    for heartbeat in [3000, 7200] {
        let lease = heartbeat + 100;
        let terms = json!({ "leaseSeconds": lease, "heartbeatSeconds": heartbeat });
        let (functions, _) = Functions::held_with(&["a"], terms).await;
        functions.lose_every(ExecutionsCall::Describe);
        functions.wait(lease);
        let by = functions.time_in(3600 + 180);

        sweep_until(&functions, &by).await;

        let mode = functions.record("nightly").await.unwrap().gate.mode;
        let is_frozen = matches!(mode, Mode::Frozen { .. });
        assert!(is_frozen, "heartbeats of {heartbeat} s: {mode:?}");
    }
}
