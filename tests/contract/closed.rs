//! Locks that are paused by an operator, or frozen because of a stale holder.

use crate::functions::Functions;
use crate::scene::{ask, ask_with, assert_fails, assert_has, execution, status_of};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, Mode};
use serde_json::{Value, json};

/// Columns: the policy, the answer to the first run at a paused lock, and the answer to the second.
pub(crate) const POLICIES: &str = r#"
    {}                                       | skipped    | skipped
    {"overlap": "fail"}                      | LockPaused | LockPaused
    {"overlap": "replace"}                   | LockPaused | LockPaused
    {"overlap": "queue"}                     | queued     | queued
    {"overlap": "queue", "maxQueue": 1}      | queued     | QueueFull
    {"overlap": "queue", "onPaused": "skip"} | skipped    | skipped
    {"overlap": "queue", "onPaused": "fail"} | LockPaused | LockPaused
    {"overlap": "queue", "catchUp": "once"}  | queued     | queued
    {"overlap": "replace", "onPaused": "wait"} | queued   | queued
    {"onPaused": "wait"}                     | queued     | queued
    {"onPaused": "wait", "catchUp": "once"}  | queued     | queued
    {"onPaused": "fail"}                     | LockPaused | LockPaused
    {"catchUp": "once"}                      | queued     | skipped
    {"mayWait": true}                        | LockPaused | LockPaused
    {"mayWait": true, "catchUp": "once"}     | LockPaused | LockPaused
    {"mayWait": true, "onPaused": "skip"}    | skipped    | skipped
"#;

#[tokio::test]
async fn a_paused_lock_answers_by_policy_and_counts_only_skips() {
    for row in POLICIES.trim().lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let policy: Value = serde_json::from_str(cells[0]).unwrap();
        let functions = Functions::running(&["a", "b"]);
        functions.pause("deploy").await;

        let mut skips = 0;
        for (name, expected) in ["a", "b"].into_iter().zip(&cells[1..]) {
            let answer = functions.acquire(ask_with(name, policy.clone())).await;

            let status = status_of(&answer);
            assert!(status.ends_with(expected), "{name}: {row}: {answer:?}");
            let is_skipped = *expected == "skipped";
            let paused = answer.map_or(None, |answer| answer["paused"].as_bool());
            assert_eq!(paused, is_skipped.then_some(true), "{name}: {row}");
            skips += usize::from(is_skipped);
            let kinds = functions.events.kinds().into_iter();
            let published = kinds.filter(|kind| *kind == EventKind::RunSkipped).count();
            let metrics = functions.metrics.all().into_iter();
            let counted = metrics.filter(|line| line["Skipped"] == 1.0).count();
            assert_eq!((published, counted), (skips, skips), "{name}: {row}");
        }
    }
}

#[tokio::test]
async fn a_skip_at_a_paused_lock_is_counted_and_says_why() {
    let (functions, _) = Functions::held(&["b", "a"]).await;
    functions.pause("deploy").await;

    let skipped = functions.acquire(ask("a")).await.unwrap();

    let why =
        "lock nightly is paused: deploy (by ops@example.com); an operator can resume the lock";
    assert_eq!(functions.event(EventKind::RunSkipped).reason, why);
    let shown = json!({ "message": why, "holder": execution("b"), "held": 1, "queueLength": 0 });
    assert_has(&skipped, shown);
    let metrics = functions.metrics.all();
    assert_eq!(metrics.last().unwrap()["Skipped"], 1.0);
}

#[tokio::test]
async fn a_paused_lock_does_not_skip_a_retry_of_a_holder() {
    for (more, expected) in [
        (
            json!({ "parent": execution("caller") }),
            "Lockstep.LockPaused",
        ),
        (json!({ "runKey": "tick" }), "duplicate"),
    ] {
        let (functions, _) = Functions::held_with(&["a", "b"], more.clone()).await;
        functions.pause("deploy").await;

        let retry = functions.status(ask_with("b", more.clone())).await;

        assert_eq!(retry, expected, "{more}");
        assert_eq!(functions.status(ask("b")).await, "skipped", "{more}");
    }
}

#[tokio::test]
async fn with_catch_up_one_of_the_skipped_runs_follows_the_resume() {
    let functions = Functions::running(&["a", "b", "c"]);
    functions.pause("deploy").await;
    let catch_up = |name: &str| {
        let token = format!("token-{name}");
        ask_with(name, json!({ "catchUp": "once", "taskToken": token }))
    };

    for (name, expected) in [("a", "queued"), ("b", "skipped"), ("c", "skipped")] {
        assert_eq!(functions.status(catch_up(name)).await, expected, "{name}");
    }
    let early = functions.output("token-a");
    functions.resume("done").await;

    assert_eq!(early, None);
    assert_eq!(functions.output("token-a").unwrap()["status"], "granted");
    let record = functions.record("nightly").await.unwrap();
    assert_eq!((record.holders.len(), record.queue.len()), (1, 0));
}

#[tokio::test]
async fn a_frozen_lock_grants_nothing_and_says_how_to_clear_it() {
    let holds = json!({ "stalePolicy": "hold" });
    let (functions, _) = Functions::held_with(&["a"], holds).await;
    functions.silent_for_long(60).await;
    functions.sweep().await;

    let a = execution("a");
    for overlap in ["skip", "fail", "queue", "replace"] {
        let refused = functions.acquire(ask_with("b", json!({ "overlap": overlap })));
        let parts = [a.as_str(), "has not renewed", "stop or evict it", "resume"];
        assert_fails(refused.await, "Lockstep.LockFrozen", &parts);
    }
    let record = functions.record("nightly").await.unwrap();
    assert!(matches!(record.gate.mode, Mode::Frozen { .. }));
    assert!(record.queue.is_empty());
    assert!(functions.executions.ended().is_empty());
}

/// The event of the end of the waiting execution was lost.
#[tokio::test]
async fn a_run_takes_the_catch_up_of_a_waiter_that_has_ended() {
    let functions = Functions::running(&["a", "b"]);
    functions.pause("deploy").await;
    let catch_up = |name| {
        ask_with(
            name,
            json!({ "catchUp": "once", "taskToken": format!("token-{name}") }),
        )
    };
    functions.acquire(catch_up("a")).await.unwrap();
    functions.wait(5);
    functions.end("a", ExecutionEnd::Aborted);

    let answer = functions.acquire(catch_up("b")).await;

    assert_eq!(status_of(&answer), "queued");
    assert_eq!(functions.record("nightly").await.unwrap().queue.len(), 1);
}
