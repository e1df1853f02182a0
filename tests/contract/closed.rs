//! Locks that an operator paused or a stale holder froze.

use crate::functions::{Functions, RETENTION};
use crate::scene::{ask, ask_with, audit_note, execution, waiting};
use lockstep::domain::{Command, FencingToken, Freeze, HolderId, Mode};
use serde_json::json;

#[tokio::test]
async fn a_paused_lock_lets_runs_wait_and_a_resumed_one_lets_the_first_in() {
    let functions = Functions::new();
    functions.start(&["b"]);
    functions
        .command("nightly", Command::Pause(audit_note("deploy"), None))
        .await;

    let skip = functions.acquire(ask("a")).await.unwrap_err();
    let queued = functions.acquire(waiting("b", "token-b")).await.unwrap();
    let early = functions.output("token-b");
    functions
        .command("nightly", Command::Resume(audit_note("done")))
        .await;

    assert_eq!(skip.name().as_str(), "Lockstep.LockPaused");
    assert!(
        skip.message().contains("deploy (by ops@example.com)"),
        "{skip}"
    );
    assert_eq!(queued["status"], "queued");
    assert_eq!(early, None);
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

#[tokio::test]
async fn a_frozen_lock_lets_nobody_in_and_says_how_to_clear_it() {
    let functions = Functions::new();
    functions.start(&["a"]);
    let grant = functions
        .granted_with(ask_with("a", json!({ "stalePolicy": "hold" })))
        .await;
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
        let error = functions
            .acquire(ask_with("b", json!({ "overlap": overlap })))
            .await;

        let error = error.unwrap_err();
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
