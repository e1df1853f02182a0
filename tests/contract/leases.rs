//! One lock, one run after the other: grant, renewal, release, run key.

use crate::functions::Functions;
use lockstep::domain::{Permits, RunOutcome};
use serde_json::json;

#[tokio::test]
async fn a_grant_renews_and_releases_and_the_lock_is_free() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;

    let beat = functions.renew(&grant).await;
    let end = functions.succeed(&grant).await;

    assert_eq!(beat["status"], "renewed");
    assert_eq!(end["status"], "released");
    assert!(functions.holders("nightly").await.is_empty());
}

#[tokio::test]
async fn a_heartbeat_sets_the_length_of_the_lease_and_the_time_to_the_next() {
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
    assert_eq!(plain["expiresAt"], functions.time_in(300), "it keeps both");
    assert_eq!(shown().await["heartbeatSeconds"], 99);
}

#[tokio::test]
async fn a_release_ends_the_state_that_keeps_the_lease_exactly_once() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    functions.beat(&grant, "AQC-secret").await;

    functions.succeed(&grant).await;
    functions.succeed(&grant).await;

    let ended = functions.executions.ended();
    let tokens: Vec<_> = ended.iter().map(|token| token.reveal()).collect();
    assert_eq!(tokens, ["AQC-secret"]);
}

#[tokio::test]
async fn a_beat_that_comes_after_the_release_ends_its_own_state_instead_of_losing_the_lease() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    functions.succeed(&grant).await;

    let answer = functions.beat(&grant, "AQC-late").await;

    assert_eq!(answer["status"], "ended");
    assert_eq!(functions.executions.ended()[0].reveal(), "AQC-late");
}

#[tokio::test]
async fn one_success_per_run_key_and_a_failure_frees_the_key() {
    let functions = Functions::new();
    let ask = |holder: &str| json!({ "lock": "nightly", "holder": holder, "runKey": "tick-6" });
    let first = functions.acquire(ask("run-1")).await.unwrap();
    functions.finish(&first["grant"], "failed").await;
    functions.wait(1);

    let second = functions.acquire(ask("run-2")).await.unwrap();
    functions.succeed(&second["grant"]).await;
    let third = functions.acquire(ask("run-3")).await.unwrap();

    assert_eq!(second["status"], "granted");
    assert_eq!(third["status"], "duplicate");
    assert_eq!(third["holder"], "run-2");
    let marker = functions.marker("nightly", "tick-6").unwrap();
    assert_eq!(marker.holder.as_str(), "run-2");
    assert_eq!(marker.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test]
async fn metrics_tell_grants_skips_recoveries_and_held_time() {
    let functions = Functions::new();
    functions.granted("nightly", "run-1").await;
    let second = json!({ "lock": "nightly", "holder": "run-2" });
    functions.acquire(second).await.unwrap();
    functions.wait(62);
    let grant = functions.granted("nightly", "run-3").await;
    functions.wait(5);
    functions.beat(&grant, "beat").await;
    functions.succeed(&grant).await;

    let lines = functions.metrics.all();

    assert_eq!(lines[0]["Acquired"], 1.0);
    assert_eq!(lines[1]["Skipped"], 1.0);
    assert_eq!(lines[2]["Acquired"], 1.0);
    assert_eq!(lines[2]["Recovered"], 1.0);
    assert_eq!(lines[3]["Renewed"], 1.0);
    assert_eq!(lines[4]["Released"], 1.0);
    assert_eq!(lines[4]["HeldSeconds"], 5.0);
}

#[tokio::test]
async fn capacity_can_change_while_the_lock_is_free() {
    let functions = Functions::new();
    let ask = |holder: &str| json!({ "lock": "api", "holder": holder, "permits": 3 });
    let grant = functions.granted("api", "run-1").await;

    let held = functions.acquire(ask("run-2")).await.unwrap_err();
    functions.succeed(&grant).await;
    let free = functions.acquire(ask("run-2")).await.unwrap();

    assert_eq!(held.name().as_str(), "Lockstep.PermitsMismatch");
    assert_eq!(free["status"], "granted");
    let record = functions.record("api").await.unwrap();
    assert_eq!(record.permits, Permits::new(3).unwrap());
}
