//! Stale runs under the policies `yield` and `hold`: no progress, over their time, or without a renewal.

use crate::functions::{Answer, Functions, RETENTION};
use crate::scene::{ask, assert_fails, assert_says, at_work, execution, in_tasks, merged, task};
use lockstep::contract::EventKind;
use lockstep::domain::{Mode, RunOutcome};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// Returns the functions with `a` as the holder under `policy`, and its grant. The limits are 30 s without
/// progress and 100 s in all.
pub(crate) async fn held(policy: &str) -> (Functions, Value) {
    let limits = json!({
        "stalePolicy": policy, "noProgressSeconds": 30, "maxRunSeconds": 100
    });
    Functions::held_with(&["a", "b"], limits).await
}

pub(crate) async fn beat(functions: &Functions, grant: &Value, progress: &str) -> Answer {
    let beat = json!({ "grant": grant, "taskToken": "beat-a", "progress": progress });
    functions.heartbeat(beat).await
}

#[tokio::test]
async fn under_yield_a_stale_run_works_on_and_its_permit_is_handed_over() {
    let (functions, grant) = held("yield").await;
    beat(&functions, &grant, "1 of 3").await.unwrap();
    functions.queue(&["b"]).await;
    functions.wait(31);

    let answer = functions.beat(&grant, "beat-a2").await;

    assert_eq!(answer, json!({ "status": "ended" }));
    assert_eq!(functions.output("beat-a2"), Some(json!({})));
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Lost);
    let reason = functions.event(EventKind::LeaseLost).reason;
    assert_says(&reason, "continues without its permit");
    assert!(functions.executions.stops().is_empty());
}

#[tokio::test]
async fn a_yielding_heartbeat_fails_until_the_end_of_its_state_is_confirmed() {
    let (functions, grant) = held("yield").await;
    beat(&functions, &grant, "1 of 3").await.unwrap();
    functions.wait(31);
    functions.lose_next(ExecutionsCall::EndState);

    let lost = functions.try_beat(&grant, "beat-a2").await;
    let again = functions.beat(&grant, "beat-a2").await;

    assert_fails(lost, "Lockstep.Unavailable", &["a retry is safe"]);
    assert_eq!(again, json!({ "status": "ended" }));
    assert_eq!(functions.output("beat-a2"), Some(json!({})));
}

#[tokio::test]
async fn show_lists_work_without_a_permit_until_it_has_stopped() {
    let terms = json!({ "stalePolicy": "yield", "maxRunSeconds": 30 });
    let terms = merged(in_tasks(), &terms);
    let (functions, grant) = Functions::held_with(&["a"], terms).await;
    functions.put_task("a", task("t", 1, false));
    let without_permit = async || {
        let shown = functions.shown().await;
        shown.get("withoutPermit").cloned().unwrap_or_default()
    };
    assert_eq!(without_permit().await, json!(null), "`a` holds the lock");
    functions.wait(31);
    functions.beat(&grant, "beat-1").await;

    let shown = without_permit().await;

    assert_eq!(shown[0]["holder"], execution("a"), "{shown}");
    assert_eq!(shown[0]["tasks"][0]["arn"], task("t", 1, false).arn);
    let again = functions.granted_with(at_work("a")).await;
    assert_eq!(
        without_permit().await,
        json!(null),
        "`a` has a permit again"
    );
    functions.finish(&again, "failed").await;
    functions.put_task("a", task("t", 2, true));
    assert_eq!(without_permit().await, json!(null), "the task has stopped");
}

#[tokio::test]
async fn the_release_of_a_run_that_yielded_is_answered_with_lost() {
    let (functions, grant) = held("yield").await;
    functions.wait(31);
    functions.beat(&grant, "beat-1").await;

    let late = functions.beat(&grant, "beat-2").await;
    let released = functions.succeed(&grant).await;

    assert_eq!(late["status"], "ended");
    assert_eq!(functions.output("beat-2"), Some(json!({})));
    assert_eq!(released, json!({ "status": "lost", "holders": [] }));
}

#[tokio::test]
async fn under_hold_a_stale_run_freezes_the_lock_once_and_is_renewed() {
    let (functions, grant) = held("hold").await;
    functions.wait(31);

    for number in 0..3 {
        functions.wait(20);
        let answer = functions.beat(&grant, &format!("beat-{number}")).await;
        let until = functions.time_in(60);
        assert_eq!(answer, json!({ "status": "renewed", "expiresAt": until }));
    }

    let record = functions.record("nightly").await.unwrap();
    assert!(matches!(record.gate.mode, Mode::Frozen { .. }));
    let event = functions.event(EventKind::LockFrozen);
    assert_says(&event.reason, "noProgressSeconds");
    assert_says(&event.advice, "resume");
    assert!(functions.executions.ended().is_empty());
}

#[tokio::test]
async fn a_lock_stays_frozen_after_its_run_until_it_is_resumed() {
    let (functions, grant) = held("hold").await;
    functions.wait(31);
    functions.beat(&grant, "beat-1").await;
    functions.succeed(&grant).await;

    let frozen = functions.status(ask("b")).await;
    functions.resume("checked").await;

    assert_eq!(frozen, "Lockstep.LockFrozen");
    assert_eq!(functions.status(ask("b")).await, "granted");
}

#[tokio::test]
async fn a_sweep_freezes_the_lock_of_a_silent_holder_under_hold_once() {
    let holds = json!({ "stalePolicy": "hold" });
    let (functions, _) = Functions::held_with(&["a"], holds).await;
    functions.wait(62);

    functions.sweep().await;
    functions.wait(40);
    functions.sweep().await;

    assert_eq!(functions.events.kinds(), [EventKind::LockFrozen]);
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    assert!(functions.executions.stops().is_empty());
}

#[tokio::test]
async fn a_sweep_frees_the_permit_of_a_silent_holder_under_yield() {
    let yields = json!({ "stalePolicy": "yield" });
    let (functions, grant) = Functions::held_with(&["a"], yields).await;
    functions.beat(&grant, "beat-a").await;
    functions.silent_for_long(60).await;

    let report = functions.sweep().await;

    assert_eq!(report["freed"], 1);
    let output = functions.output("beat-a");
    assert_eq!(output, Some(json!({})), "the heartbeat state ends");
    assert!(functions.executions.stops().is_empty());
    let event = functions.event(EventKind::LeaseLost);
    assert_says(&event.advice, "may still be at work");
    let end = functions.run_of(&grant).unwrap().end.unwrap();
    assert_eq!(end.retain_until, functions.now().plus(RETENTION.history));
}
