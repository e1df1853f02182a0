//! RedriveExecution goes on behind the acquire step, with the grant that the run had.

use crate::functions::Functions;
use crate::scene::{ask, ask_with, assert_says, execution};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, HolderId, RunOutcome};
use serde_json::{Value, json};

/// `a` died with its heartbeat state and was recovered; then it was redriven an hour later.
async fn redriven() -> (Functions, Value) {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(tick("a")).await;
    functions.beat(&grant, "beat-1").await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.reap_end("a", "ABORTED").await;
    assert!(functions.holders("nightly").await.is_empty());
    functions.wait(3600);
    functions.start(&["a"]);
    (functions, grant)
}

fn tick(name: &str) -> Value {
    ask_with(name, json!({ "runKey": "tick-6" }))
}

#[tokio::test]
async fn its_heartbeat_gets_the_grant_back_under_the_same_token() {
    let (functions, grant) = redriven().await;

    let answer = functions.beat(&grant, "beat-2").await;

    let expires_at = functions.time_in(60);
    let renewed = json!({ "status": "renewed", "expiresAt": expires_at });
    assert_eq!(answer, renewed);
    let record = functions.record("nightly").await.unwrap();
    let lease = &record.holders[&HolderId::new(execution("a")).unwrap()];
    assert_eq!(Some(lease.token.number()), grant["token"].as_u64());
    assert_eq!(functions.run_of(&grant).unwrap().end, None);
    assert_eq!(functions.marker("nightly", "tick-6").unwrap().end, None);
}

#[tokio::test]
async fn its_release_ends_its_state_and_takes_the_run_key() {
    let (functions, grant) = redriven().await;
    functions.beat(&grant, "beat-2").await;

    let answer = functions.succeed(&grant).await;

    assert_eq!(answer["status"], "released");
    assert_eq!(answer["alreadyReleased"], false);
    assert_eq!(functions.output("beat-2"), Some(json!({})));
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Succeeded);
    let marker = functions.marker("nightly", "tick-6").unwrap();
    assert_eq!(marker.outcome(), Some(RunOutcome::Succeeded));
    let again = functions.acquire(tick("b")).await.unwrap();
    assert_eq!(again["status"], "duplicate");
}

#[tokio::test]
async fn it_has_lost_its_lease_when_somebody_was_granted_since() {
    let (functions, grant) = redriven().await;
    let newer = functions.granted_with(ask("b")).await;
    functions.succeed(&newer).await;

    let refused = functions.refused_beat(&grant, "beat-2").await;

    assert_eq!(refused, "Lockstep.LeaseLost");
    assert!(functions.holders("nightly").await.is_empty());
    let lost = functions.events.published();
    assert_eq!(lost.last().unwrap().kind, EventKind::LeaseLost);
}

#[tokio::test]
async fn it_has_lost_its_lease_when_its_run_key_was_done_by_another() {
    let (functions, grant) = redriven().await;
    let other = functions.granted_with(tick("b")).await;
    functions.succeed(&other).await;

    let refused = functions.refused_beat(&grant, "beat-2").await;

    assert_eq!(refused, "Lockstep.LeaseLost");
    let marker = functions.marker("nightly", "tick-6").unwrap();
    assert_eq!(marker.holder.as_str(), execution("b"));
}

#[tokio::test]
async fn it_has_lost_its_lease_while_another_holds_the_lock_and_is_named() {
    let (functions, grant) = redriven().await;
    functions.granted_with(ask("b")).await;

    let beat = json!({ "grant": grant });
    let error = functions.heartbeat(beat).await.unwrap_err();
    let released = functions.succeed(&grant).await;

    assert_says(error.message(), &execution("b"));
    let lost = json!({ "status": "lost", "holders": [execution("b")] });
    assert_eq!(released, lost);
}

#[tokio::test]
async fn after_a_success_there_is_nothing_to_keep() {
    let functions = Functions::new();
    let grant = functions.granted_with(ask("a")).await;
    functions.beat(&grant, "beat-1").await;
    functions.succeed(&grant).await;
    functions.wait(3600);

    let answer = functions.beat(&grant, "beat-2").await;

    assert_eq!(answer["status"], "ended");
    assert_eq!(functions.output("beat-2"), Some(json!({})));
    assert!(functions.holders("nightly").await.is_empty());
}

#[tokio::test]
async fn a_run_that_failed_and_was_redriven_gets_its_grant_back() {
    let functions = Functions::running(&["a"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.beat(&grant, "beat-1").await;
    functions.finish(&grant, "failed").await;
    functions.wait(3600);

    let answer = functions.beat(&grant, "beat-2").await;

    assert_eq!(answer["status"], "renewed");
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}
