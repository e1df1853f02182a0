//! acquire-lock meets a holder that is stale, or of whom nothing can be learnt.

use crate::functions::Functions;
use crate::scene::{arn, ask, assert_says, at_work, execution, merged, task};
use lockstep::contract::EventKind;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::json;

#[tokio::test]
async fn a_holder_that_stays_silent_and_whose_policy_is_to_terminate_is_stopped_and_the_caller_is_granted()
 {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    functions.silent_for_long(60).await;

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "granted");
    let stops = functions.executions.stops();
    assert_eq!(stops.len(), 1);
    assert_eq!(stops[0].error, "Lockstep.LeaseLost");
    assert_says(&stops[0].cause, "has not renewed");
    functions.event(EventKind::RunStopped);
    functions.event(EventKind::RunRecovered);
}

#[tokio::test]
async fn a_stale_holder_keeps_its_permit_until_its_task_has_stopped() {
    let functions = Functions::running(&["a", "b"]);
    functions.works("a").await;
    functions.silent_for_long(60).await;

    let early = functions.acquire(ask("b")).await.unwrap();
    functions.put_task("a", task("t", 2, true));
    let late = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(early["status"], "skipped");
    assert_eq!(late["status"], "granted");
    let own = task("t", 1, false).arn;
    let stops = functions.tasks.stops();
    assert!(stops.iter().all(|stop| stop.task_arn == own), "{stops:?}");
    assert!(!stops.is_empty());
}

#[tokio::test]
async fn a_holder_that_could_not_be_stopped_is_not_reported_as_stopped() {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    let denied = ExecutionsError::Denied("AccessDeniedException".into());
    functions
        .executions
        .fail_every(ExecutionsCall::Stop, denied);
    functions.silent_for_long(60).await;

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    let kinds = functions.events.kinds();
    assert!(!kinds.contains(&EventKind::RunStopped), "{kinds:?}");
}

/// The caller of acquire-lock chooses the name of the holder.
#[tokio::test]
async fn an_execution_that_does_not_name_the_lock_is_not_stopped_and_the_lock_is_frozen() {
    let functions = Functions::running(&["a", "b"]);
    functions.executions.disown(&arn("a"));
    functions.granted_with(ask("a")).await;
    functions.silent_for_long(60).await;

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    assert_eq!(functions.executions.stops(), []);
    let event = functions.event(EventKind::LockFrozen);
    assert_says(&event.reason, "names the lock");
}

#[tokio::test]
async fn a_holder_without_evidence_is_left_and_an_event_reports_it() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    let throttled = ExecutionsError::Unavailable("ThrottlingException".into());
    functions
        .executions
        .fail_every(ExecutionsCall::Describe, throttled);
    functions.wait(62);

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    let event = functions.event(EventKind::EvidenceMissing);
    assert_says(&event.reason, "ThrottlingException");
    assert_says(&event.advice, "evict");
}

#[tokio::test]
async fn tasks_that_cannot_be_seen_keep_a_dead_holders_permit() {
    let functions = Functions::new();
    functions.granted_with(at_work("a")).await;
    functions.end("a", ExecutionEnd::Failed);
    let denied = TasksError::Denied("AccessDeniedException".into());
    functions.tasks.fail_every(TasksCall::OfGroup, denied);
    functions.wait(62);

    let answer = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    functions.event(EventKind::EvidenceMissing);
}

#[tokio::test]
async fn one_call_stops_three_stale_holders_at_most() {
    let names = ["a", "b", "c", "d", "e"];
    let functions = Functions::running(&names);
    functions.start(&["f"]);
    let of_five = |name| merged(at_work(name), &json!({ "permits": 5 }));
    for name in names {
        functions.granted_with(of_five(name)).await;
        functions.put_task(name, task(name, 1, false));
    }
    functions.silent_for_long(60).await;

    functions.acquire(of_five("f")).await.unwrap();

    assert_eq!(functions.executions.stops().len(), 3);
}
