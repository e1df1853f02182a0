//! Locks that an operator paused or a stale holder froze.

use crate::functions::{Functions, RETENTION};
use crate::scene::{ask, ask_with, assert_says, execution, waiting};
use lockstep::contract::EventKind;
use lockstep::domain::{Command, FencingToken, Freeze, HolderId, Mode};
use serde_json::{Value, json};

#[tokio::test]
async fn a_paused_lock_lets_runs_wait_and_a_resumed_one_lets_the_first_in() {
    let functions = Functions::running(&["b"]);
    functions.pause("deploy").await;

    let fails = ask_with("a", json!({ "overlap": "fail" }));
    let failed = functions.acquire(fails).await.unwrap_err();
    let queued = functions.acquire(waiting("b", "token-b")).await.unwrap();
    let early = functions.output("token-b");
    functions.resume("done").await;

    assert_eq!(failed.name().as_str(), "Lockstep.LockPaused");
    assert_says(failed.message(), "deploy (by ops@example.com)");
    assert_eq!(queued["status"], "queued");
    assert_eq!(early, None);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

/// The policy, the answer to a first run, and the answer to a second.
const POLICIES: &str = r#"
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
async fn a_paused_lock_answers_a_run_as_its_policy_says() {
    for row in POLICIES.trim().lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let policy: Value = serde_json::from_str(cells[0]).unwrap();
        let functions = Functions::running(&["a", "b"]);
        functions.pause("deploy").await;

        for (name, expected) in ["a", "b"].into_iter().zip(&cells[1..]) {
            let answer = functions.acquire(ask_with(name, policy.clone())).await;

            let (status, paused) = match &answer {
                Ok(answer) => (answer["status"].as_str().unwrap(), &answer["paused"]),
                Err(error) => (error.name().as_str(), &Value::Null),
            };
            assert!(status.ends_with(expected), "{name}: {row}: {answer:?}");
            let is_skipped = (*expected == "skipped").then_some(true);
            assert_eq!(paused.as_bool(), is_skipped, "{name}: {row}");
        }
    }
}

#[tokio::test]
async fn a_skip_at_a_paused_lock_is_counted_and_says_why() {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted("nightly", &execution("b")).await;
    functions.pause("deploy").await;

    let skipped = functions.acquire(ask("a")).await.unwrap();

    let event = functions.event(EventKind::RunSkipped);
    let why = "lock nightly is paused: deploy (by ops@example.com); an operator can resume it";
    assert_eq!(skipped["message"], why);
    assert_eq!(event.reason, why);
    assert_eq!(skipped["holder"], grant["holder"]);
    assert_eq!(skipped["held"], 1);
    assert_eq!(skipped["queueLength"], 0);
    let metrics = functions.metrics.all();
    assert_eq!(metrics.last().unwrap()["Skipped"], 1.0);
}

#[tokio::test]
async fn a_paused_lock_counts_a_skip_where_the_run_ends_with_it_and_nowhere_else() {
    for (policy, counted) in [
        (json!({ "mayWait": true, "onPaused": "skip" }), true),
        (json!({ "onPaused": "fail" }), false),
        (json!({ "mayWait": true }), false),
        (json!({ "onPaused": "wait" }), false),
    ] {
        let functions = Functions::running(&["a"]);
        functions.pause("deploy").await;

        functions.acquire(ask_with("a", policy.clone())).await.ok();

        let is_published = functions.events.kinds() == [EventKind::RunSkipped];
        let metrics = functions.metrics.all();
        let is_counted = metrics.iter().any(|line| line["Skipped"] == 1.0);
        assert_eq!((is_published, is_counted), (counted, counted), "{policy}");
    }
}

#[tokio::test]
async fn a_retry_beside_an_attempt_that_may_hold_a_permit_is_not_skipped_at_a_paused_lock() {
    for more in [
        json!({ "parent": execution("caller") }),
        json!({ "runKey": "tick" }),
    ] {
        let functions = Functions::running(&["a", "b"]);
        functions.granted_with(ask_with("a", more.clone())).await;
        functions.pause("deploy").await;

        let retry = functions.acquire(ask_with("b", more.clone())).await;
        let other = functions.acquire(ask("b")).await.unwrap();

        let refused = retry.unwrap_err().name().as_str();
        assert_eq!(refused, "Lockstep.LockPaused", "{more}");
        assert_eq!(other["status"], "skipped", "{more}");
    }
}

#[tokio::test]
async fn one_run_of_those_that_a_pause_skips_runs_after_the_resume() {
    let functions = Functions::running(&["a", "b", "c"]);
    functions.pause("deploy").await;
    let catch_up = |name: &str| {
        let token = format!("token-{name}");
        ask_with(name, json!({ "catchUp": "once", "taskToken": token }))
    };

    for (name, expected) in [("a", "queued"), ("b", "skipped"), ("c", "skipped")] {
        let answer = functions.acquire(catch_up(name)).await.unwrap();
        assert_eq!(answer["status"], expected, "{name}");
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
    let functions = Functions::running(&["a"]);
    let holds = json!({ "stalePolicy": "hold" });
    let grant = functions.granted_with(ask_with("a", holds)).await;
    functions.silent_for_long(60).await;
    let token = FencingToken::from_number(grant["token"].as_u64().unwrap());
    let holder = HolderId::new(execution("a")).unwrap();
    let note = format!("{holder} stopped renewing");
    let freeze = Freeze {
        holder,
        token,
        note,
        retention: RETENTION,
    };
    functions.command("nightly", Command::Freeze(freeze)).await;

    for overlap in ["skip", "fail", "queue", "replace"] {
        let ask = ask_with("b", json!({ "overlap": overlap }));
        let error = functions.acquire(ask).await.unwrap_err();

        assert_eq!(error.name().as_str(), "Lockstep.LockFrozen", "{overlap}");
        for part in [
            execution("a").as_str(),
            "stopped renewing",
            "stop or evict it",
            "resume",
        ] {
            assert!(
                error.message().contains(part),
                "{overlap}: {part:?} not in {error}"
            );
        }
    }
    let record = functions.record("nightly").await.unwrap();
    assert!(matches!(record.mode, Mode::Frozen { .. }));
    assert!(record.queue.is_empty());
    assert!(functions.executions.ended().is_empty());
}
