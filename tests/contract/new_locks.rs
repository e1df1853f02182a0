//! A pause of all locks also holds for locks that do not exist yet.

use crate::closed::POLICIES;
use crate::functions::Functions;
use crate::operate::is_paused;
use crate::scene::{ask, ask_with, assert_fails, status_of, waiting};
use lockstep::store::LockStore;
use serde_json::{Value, json};

/// Returns the functions with the locks `s/a` and `s/b` and a pause of all locks, and the answer to the
/// pause.
async fn all_paused() -> (Functions, Value) {
    let functions = Functions::running(&["a", "b"]);
    for lock in ["s/a", "s/b"] {
        functions.ran(lock, "x").await;
    }
    let paused = functions.order("pause", json!({ "all": true })).await;
    (functions, paused)
}

#[tokio::test]
async fn a_pause_of_all_locks_also_holds_for_a_new_lock() {
    let (functions, paused) = all_paused().await;
    assert_eq!(
        (&paused["done"], &paused["newLocks"]),
        (&json!(2), &json!("paused"))
    );

    let skipped = functions.acquire(ask("a")).await.unwrap();
    let list = functions.view(json!({ "act": "list" })).await.unwrap();
    let resumed = functions.order("resume", json!({ "all": true })).await;
    let granted = functions.acquire(ask("a")).await;

    assert_eq!(
        (&skipped["status"], &skipped["paused"]),
        (&json!("skipped"), &json!(true))
    );
    assert_eq!(
        list["newLocks"],
        json!({ "note": "upgrade (by jo@example.com)" })
    );
    assert_eq!(
        (&resumed["done"], &resumed["newLocks"]),
        (&json!(2), &json!("open"))
    );
    assert_eq!(status_of(&granted), "granted");
    let list = functions.view(json!({ "act": "list" })).await.unwrap();
    assert_eq!(list.get("newLocks"), None);
}

#[tokio::test]
async fn show_says_why_a_lock_that_has_never_run_is_paused() {
    let (functions, _) = all_paused().await;
    let show = json!({ "act": "show", "lock": "nightly" });

    let paused = functions.view(show.clone()).await;
    functions.order("resume", json!({ "all": true })).await;
    let open = functions.view(show).await;

    let says = ["nightly", "have not run yet are paused", "upgrade"];
    assert_fails(paused, "Lockstep.InvalidRequest", &says);
    assert_fails(
        open,
        "Lockstep.InvalidRequest",
        &["acquired or paused before"],
    );
}

/// The answers are those of a lock that was paused by its name.
#[tokio::test]
async fn a_new_lock_under_a_pause_of_all_answers_as_a_paused_lock_does() {
    for row in POLICIES.trim().lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let policy: Value = serde_json::from_str(cells[0]).unwrap();
        let (functions, _) = all_paused().await;

        for (name, expected) in ["a", "b"].into_iter().zip(&cells[1..]) {
            let answer = functions.acquire(ask_with(name, policy.clone())).await;
            assert!(
                status_of(&answer).ends_with(expected),
                "{name}: {row}: {answer:?}"
            );
        }

        // A refused start creates no lock. A start that waits creates a paused one.
        let waits = cells[1] == "queued";
        let record = functions.record("nightly").await;
        assert_eq!(record.is_some(), waits, "{row}");
    }
}

#[tokio::test]
async fn a_resume_of_all_locks_grants_a_run_that_waits_at_a_new_lock() {
    let (functions, _) = all_paused().await;
    let queued = functions.status(waiting("a", "token-a")).await;
    assert_eq!(queued, "queued");
    assert!(is_paused(&functions, "nightly").await);

    let resumed = functions.order("resume", json!({ "all": true })).await;

    assert_eq!(resumed["done"], 3);
    assert_eq!(functions.output("token-a").unwrap()["status"], "granted");
}

#[tokio::test]
async fn a_pause_of_all_with_an_end_is_over_for_new_locks_too() {
    let functions = Functions::running(&["a", "b"]);
    let until = functions.time_in(600);
    functions
        .order("pause", json!({ "all": true, "until": until }))
        .await;
    assert_eq!(functions.status(waiting("a", "token-a")).await, "queued");
    let skipped = json!({ "lock": "other", "holder": "p" });
    assert_eq!(functions.status(skipped.clone()).await, "skipped");

    functions.wait(603);
    functions.sweep().await;

    assert_eq!(functions.output("token-a").unwrap()["status"], "granted");
    assert_eq!(functions.status(skipped).await, "granted");
    let list = functions.view(json!({ "act": "list" })).await.unwrap();
    assert_eq!(list.get("newLocks"), None, "the pause is over");
}

#[tokio::test]
async fn only_an_act_on_all_locks_is_about_new_locks() {
    let functions = Functions::running(&["a"]);
    functions.ran("nightly-1", "x").await;

    let paused = functions.order("pause", json!({ "prefix": "night" })).await;
    let granted = functions.status(ask("a")).await;

    assert_eq!(paused.get("newLocks"), None);
    assert_eq!(granted, "granted");
    functions.order("pause", json!({ "all": true })).await;
    functions
        .order("resume", json!({ "prefix": "night" }))
        .await;
    let other = json!({ "lock": "other", "holder": "p" });
    assert_eq!(functions.status(other).await, "skipped");
}

#[tokio::test]
async fn a_lock_resumed_by_its_name_grants_under_a_pause_of_all() {
    let (functions, _) = all_paused().await;
    functions.order("pause", json!({ "lock": "nightly" })).await;
    functions
        .order("resume", json!({ "lock": "nightly" }))
        .await;

    assert_eq!(functions.status(ask("a")).await, "granted");
}

/// A start that began before the act may have read the old mode of new locks and write its record after the
/// act. The act waits 10 s, until such a start has ended, and then lists the locks.
#[tokio::test]
async fn an_act_on_all_locks_waits_10_s_for_starts_under_way() {
    for act in ["pause", "resume"] {
        let functions = Functions::running(&["a"]);
        if act == "resume" {
            functions.order("pause", json!({ "all": true })).await;
        }
        let before = functions.now();
        functions.order(act, json!({ "all": true })).await;
        let once = functions.now();
        functions.order(act, json!({ "all": true })).await;
        let again = functions.now();

        assert_eq!(once.millis_since(before), 10_000, "{act}");
        assert_eq!(again, once, "{act}: a repeated act does not wait");
    }
}

#[tokio::test]
async fn a_pause_of_all_locks_keeps_its_end() {
    let functions = Functions::running(&["a"]);
    let until = functions.time_in(600);
    functions
        .order("pause", json!({ "all": true, "until": until }))
        .await;

    let mode = functions.store.new_locks().await.unwrap().unwrap();

    assert_eq!(mode.pause_end().map(lockstep::domain::rfc3339), Some(until));
}
