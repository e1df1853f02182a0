//! One lock and one run after the other: grant, renewal and release. Only the holder can renew and release,
//! under its fencing token.

use crate::functions::Functions;
use crate::scene::{ask, assert_fails, assert_has};
use lockstep::domain::{ExecutionEnd, Permits, Timestamp};
use serde_json::json;

#[tokio::test]
async fn a_heartbeat_can_change_the_lease_and_its_own_interval() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    let beat = json!({ "grant": grant, "heartbeatSeconds": 99, "leaseSeconds": 300 });
    let shown = async || functions.shown().await["holders"][0].take();

    let long = functions.heartbeat(beat).await.unwrap();
    let longer = shown().await;
    functions.wait(10);
    let plain = functions.renew(&grant).await;

    assert_eq!(long["expiresAt"], longer["expiresAt"]);
    assert_eq!(longer["heartbeatSeconds"], 99);
    assert_eq!(
        plain["expiresAt"],
        functions.time_in(300),
        "a plain heartbeat keeps the lease and the interval"
    );
    assert_eq!(shown().await["heartbeatSeconds"], 99);
}

#[tokio::test]
async fn a_repeated_release_frees_one_permit_and_ends_one_state() {
    let functions = Functions::new();
    let ask = |holder: &str| json!({ "lock": "api", "holder": holder, "permits": 2 });
    let grant = functions.granted_with(ask("run-1")).await;
    functions.wait(1);
    functions.granted_with(ask("run-2")).await;
    functions.beat(&grant, "AQC-secret").await;

    let first = functions.succeed(&grant).await;
    let second = functions.succeed(&grant).await;
    let late = functions.beat(&grant, "AQC-late").await;

    let released =
        |again: bool| json!({ "status": "released", "heldSeconds": 1.0, "alreadyReleased": again });
    assert_eq!((first, second), (released(false), released(true)));
    assert_eq!(late, json!({ "status": "ended" }));
    let ended = functions.executions.ended();
    let tokens: Vec<_> = ended.iter().map(|token| token.reveal()).collect();
    assert_eq!(tokens, ["AQC-secret", "AQC-late"]);
    assert_eq!(functions.holders("api").await, ["run-2"]);
    functions.wait(1);
    functions.granted_with(ask("run-3")).await;
    let fourth = functions.acquire(ask("run-4")).await.unwrap();
    assert_has(&fourth, json!({ "status": "skipped", "held": 2 }));
}

/// The state machine was deleted and created again.
#[tokio::test]
async fn an_execution_under_a_reused_arn_gets_the_earlier_grant() {
    let (functions, grant) = Functions::held(&["a"]).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(1);
    functions.start(&["a"]);

    let again = functions.acquire(ask("a")).await.unwrap();

    assert_has(&again, json!({ "status": "alreadyHeld", "grant": grant }));
}

#[tokio::test]
async fn grants_skips_recoveries_and_held_time_are_counted() {
    let functions = Functions::new();
    functions.granted("nightly", "run-1").await;
    let second = json!({ "lock": "nightly", "holder": "run-2" });
    assert_eq!(functions.status(second).await, "skipped");
    functions.wait(62);
    let grant = functions.granted("nightly", "run-3").await;
    functions.wait(5);
    functions.beat(&grant, "beat").await;
    functions.succeed(&grant).await;

    let lines = functions.metrics.all();

    for (line, metric, value) in [
        (0, "Acquired", 1.0),
        (1, "Skipped", 1.0),
        (2, "Acquired", 1.0),
        (2, "Recovered", 1.0),
        (3, "Renewed", 1.0),
        (4, "Released", 1.0),
        (4, "HeldSeconds", 5.0),
    ] {
        assert_eq!(lines[line][metric], value, "{line}: {metric}");
    }
}

#[tokio::test]
async fn permits_can_change_only_while_the_lock_is_free() {
    let functions = Functions::new();
    let ask = json!({ "lock": "api", "holder": "run-2", "permits": 3 });
    let grant = functions.granted("api", "run-1").await;

    let held = functions.status(ask.clone()).await;
    functions.succeed(&grant).await;
    let free = functions.status(ask).await;

    assert_eq!([held, free], ["Lockstep.PermitsMismatch", "granted"]);
    let record = functions.record("api").await.unwrap();
    assert_eq!(record.permits, Permits::new(3).unwrap());
}

#[tokio::test]
async fn a_wrong_holder_or_token_can_neither_renew_nor_release() {
    let functions = Functions::new();
    let old = functions.granted("nightly", "run-1").await;
    functions.wait(62);
    let grant = functions.granted("nightly", "run-2").await;
    let before = functions.record("nightly").await;
    let (mut renamed, mut renumbered) = (grant.clone(), grant.clone());
    renamed["holder"] = json!("run-3");
    renumbered["token"] = json!(grant["token"].as_u64().unwrap() + 1);

    for other in [old, renamed, renumbered] {
        let beat = functions.heartbeat(json!({ "grant": other })).await;
        assert_fails(beat, "Lockstep.LeaseLost", &["run-2"]);
        let lost = json!({ "status": "lost", "holders": ["run-2"] });
        assert_eq!(functions.succeed(&other).await, lost, "{other}");
    }
    assert_eq!(functions.record("nightly").await, before);
}

#[tokio::test]
async fn fencing_tokens_grow_although_the_clock_steps_back() {
    let functions = Functions::new();
    let first = functions.granted("nightly", "run-1").await;
    functions.succeed(&first).await;
    let earlier = functions.now().millis() - 600_000;
    functions.clock.set(Timestamp::from_millis(earlier));

    let second = functions.granted("nightly", "run-2").await;
    let beat = functions.renew(&second).await;
    let end = functions.succeed(&second).await;

    assert!(second["token"].as_u64() > first["token"].as_u64());
    assert_eq!(beat["status"], "renewed");
    assert_has(&end, json!({ "status": "released", "heldSeconds": 0.0 }));
}
