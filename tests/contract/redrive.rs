//! RedriveExecution continues a run after its acquire step, under the grant that the run had.

use crate::functions::Functions;
use crate::scene::{
    ask, ask_with, assert_fails, assert_has, execution, in_tasks, merged, status_of, task,
};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, HolderId, RunOutcome};
use serde_json::{Value, json};

/// Returns the functions with `a` redriven, and its grant. `a` had died with its heartbeat state and was
/// recovered an hour earlier.
async fn redriven() -> (Functions, Value) {
    let key = json!({ "runKey": "tick-6" });
    let (functions, grant) = Functions::held_with(&["a", "b"], key).await;
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
async fn a_redriven_run_gets_its_grant_back_under_the_same_token() {
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
async fn the_release_of_a_redriven_run_ends_its_state_and_takes_its_key() {
    let (functions, grant) = redriven().await;
    functions.beat(&grant, "beat-2").await;

    let answer = functions.succeed(&grant).await;

    assert_has(
        &answer,
        json!({ "status": "released", "alreadyReleased": false }),
    );
    assert_eq!(functions.output("beat-2"), Some(json!({})));
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Succeeded);
    let marker = functions.marker("nightly", "tick-6").unwrap();
    assert_eq!(marker.outcome(), Some(RunOutcome::Succeeded));
    assert_eq!(functions.status(tick("b")).await, "duplicate");
}

#[tokio::test]
async fn a_redriven_run_has_lost_its_lease_after_another_grant() {
    let b = execution("b");
    for (next, is_over, holders) in [
        (ask("b"), true, vec![]),
        (tick("b"), true, vec![]),
        (ask("b"), false, vec![b.as_str()]),
    ] {
        let (functions, grant) = redriven().await;
        let newer = functions.granted_with(next.clone()).await;
        if is_over {
            functions.succeed(&newer).await;
        }

        let refused = functions.try_beat(&grant, "beat-2").await;

        assert_fails(refused, "Lockstep.LeaseLost", &holders);
        let published = functions.events.published();
        assert_eq!(published.last().unwrap().kind, EventKind::LeaseLost);
        assert_eq!(functions.holders("nightly").await, holders, "{next}");
        let marker = functions.marker("nightly", "tick-6").unwrap();
        assert_eq!(marker.holder.as_str() == b, next == tick("b"));
        let lost = json!({ "status": "lost", "holders": holders });
        assert_eq!(functions.succeed(&grant).await, lost, "{next}");
    }
}

#[tokio::test]
async fn a_heartbeat_after_a_success_is_answered_with_ended() {
    let (functions, grant) = Functions::held(&["a"]).await;
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
    let (functions, grant) = Functions::held(&["a"]).await;
    functions.beat(&grant, "beat-1").await;
    functions.finish(&grant, "failed").await;
    functions.wait(3600);

    let answer = functions.beat(&grant, "beat-2").await;

    assert_eq!(answer["status"], "renewed");
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}

/// Returns the terms of a run that may take 90 s and then continues without its permit.
fn yields() -> Value {
    merged(
        in_tasks(),
        &json!({ "stalePolicy": "yield", "maxRunSeconds": 90 }),
    )
}

/// Returns the request with which the state *Resume Run* of a redriven execution asks whether its work may
/// begin.
fn resume(grant: &Value, count: u64) -> Value {
    let redrive = json!({ "grant": grant, "count": count });
    ask_with("a", merged(yields(), &json!({ "redrive": redrive })))
}

#[tokio::test]
async fn a_redriven_run_that_had_yielded_is_finished_only_after_a_success() {
    // Columns: what the run reports after it has yielded, the answer to its redrive, and whether the redrive
    // publishes a Lease Lost event. No heartbeat of a run that has yielded fails, so only the redrive can
    // report the loss.
    for (reported, told, is_event) in [
        (None, "Lockstep.LeaseLost", true),
        (Some("failed"), "Lockstep.LeaseLost", false),
        (Some("succeeded"), "finished", false),
    ] {
        let (functions, grant) = Functions::held_with(&["a"], yields()).await;
        functions.wait(91);
        functions.beat(&grant, "beat-1").await;
        if let Some(outcome) = reported {
            functions.finish(&grant, outcome).await;
        }
        let before = functions.events.kinds().len();

        let answer = functions.acquire(resume(&grant, 1)).await;

        assert_eq!(status_of(&answer), told, "{reported:?}");
        let published = functions.events.kinds();
        let lost = published[before..].contains(&EventKind::LeaseLost);
        assert_eq!(lost, is_event, "{reported:?}: {published:?}");
        assert!(functions.holders("nightly").await.is_empty());
    }
}

#[tokio::test]
async fn a_run_that_yields_while_it_waits_to_resume_is_not_finished() {
    let (functions, grant) = Functions::held_with(&["a"], yields()).await;
    functions.put_task("a", task("t", 1, false));

    let early = functions.status(resume(&grant, 1)).await;
    functions.wait(91);
    functions.beat(&grant, "beat-2").await;
    let late = functions.acquire(resume(&grant, 1)).await;

    assert_eq!(early, "Lockstep.LockHeld", "its task still runs");
    assert_fails(
        late,
        "Lockstep.LeaseLost",
        &["continues without its permit"],
    );
    assert!(functions.has_published(EventKind::LeaseLost));
}
