//! acquire-lock at a lock whose holder is stale, or about whom no evidence can be read.

use crate::functions::Functions;
use crate::scene::{arn, ask, assert_says, at_work, execution, in_tasks, merged, task};
use lockstep::contract::EventKind;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::json;

#[tokio::test]
async fn an_acquire_stops_a_silent_holder_under_terminate_and_is_granted() {
    let (functions, _) = Functions::held(&["a", "b"]).await;
    functions.silent_for_long(60).await;

    assert_eq!(functions.status(ask("b")).await, "granted");

    let stops = functions.executions.stops();
    assert_eq!(stops.len(), 1);
    assert_eq!(stops[0].error, "Lockstep.LeaseLost");
    assert_says(&stops[0].cause, "has not renewed");
    functions.event(EventKind::RunStopped);
    functions.event(EventKind::RunRecovered);
}

#[tokio::test]
async fn a_stale_holder_keeps_its_permit_until_its_task_has_stopped() {
    let (functions, _) = Functions::at_work(&["a", "b"]).await;
    functions.silent_for_long(60).await;

    let early = functions.status(ask("b")).await;
    functions.put_task("a", task("t", 2, true));
    let late = functions.status(ask("b")).await;

    assert_eq!([early, late], ["skipped", "granted"]);
    let own = task("t", 1, false).arn;
    let stops = functions.tasks.stops();
    assert!(stops.iter().all(|stop| stop.task_arn == own), "{stops:?}");
    assert!(!stops.is_empty());
}

/// Prepares the case of a test.
type Prepare = fn(&Functions);

/// The caller of acquire-lock chooses the name of the holder. Lockstep therefore stops an execution only if
/// the execution itself names the lock.
#[tokio::test]
async fn a_holder_that_was_not_stopped_is_not_reported_as_stopped() {
    let denied: Prepare = |functions| {
        let denied = ExecutionsError::Denied("AccessDeniedException".into());
        let executions = &functions.executions;
        executions.fail_every(ExecutionsCall::Stop, denied);
    };
    let disowned: Prepare = |functions| functions.executions.disown(&arn("a"));
    for (case, prepare, frozen) in [
        ("cannot", denied, None),
        ("may not", disowned, Some("names the lock")),
    ] {
        let (functions, _) = Functions::held(&["a", "b"]).await;
        prepare(&functions);
        functions.silent_for_long(60).await;

        assert_eq!(functions.status(ask("b")).await, "skipped", "{case}");

        assert_eq!(functions.executions.stops(), [], "{case}");
        assert!(!functions.has_published(EventKind::RunStopped), "{case}");
        if let Some(reason) = frozen {
            assert_says(&functions.event(EventKind::LockFrozen).reason, reason);
        }
    }
}

#[tokio::test]
async fn a_holder_without_evidence_keeps_its_permit_and_an_event_reports_it() {
    let hidden: Prepare = |functions| {
        let throttled = ExecutionsError::Unavailable("ThrottlingException".into());
        let executions = &functions.executions;
        executions.fail_every(ExecutionsCall::Describe, throttled);
    };
    let dead_with_hidden_tasks: Prepare = |functions| {
        functions.end("a", ExecutionEnd::Failed);
        let denied = TasksError::Denied("AccessDeniedException".into());
        functions.tasks.fail_every(TasksCall::OfGroup, denied);
    };
    for (prepare, why) in [
        (hidden, "ThrottlingException"),
        (dead_with_hidden_tasks, "AccessDeniedException"),
    ] {
        let (functions, _) = Functions::held_with(&["a"], in_tasks()).await;
        prepare(&functions);
        functions.wait(62);

        assert_eq!(functions.status(ask("b")).await, "skipped", "{why}");

        assert_eq!(functions.holders("nightly").await, [execution("a")]);
        let event = functions.event(EventKind::EvidenceMissing);
        assert_says(&event.reason, why);
        assert_says(&event.advice, "evict");
    }
}

#[tokio::test]
async fn one_acquire_stops_at_most_three_stale_holders() {
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
