//! The responses to runs that may wait, word for word.

use crate::functions::Functions;
use crate::scene::{ask, ask_with, assert_has, execution, merged, waiting};
use serde_json::json;

#[tokio::test]
async fn the_answer_queued_has_position_holder_and_end_of_the_lease() {
    let (functions, _) = Functions::held(&["a"]).await;
    functions.wait(5);
    functions.queue(&["b"]).await;

    let answer = functions.acquire(waiting("c", "token-c")).await.unwrap();

    let a = execution("a");
    let expected = json!({
        "status": "queued", "lock": "nightly", "position": 2, "queueLength": 2,
        "holder": a, "since": "2026-03-01T06:00:00Z", "expiresAt": "2026-03-01T06:01:00Z",
        "message": format!(
            "waits as number 2 of 2 for lock nightly: held by {a} since 2026-03-01T06:00:00Z, \
             lease until 2026-03-01T06:01:00Z"
        )
    });
    assert_eq!(answer, expected);
    assert_eq!(functions.output("token-c"), None, "the state waits on");
    let skip = functions.acquire(ask("d")).await.unwrap();
    assert_has(
        &skip,
        json!({ "status": "skipped", "held": 1, "queueLength": 2 }),
    );
}

#[tokio::test]
async fn the_answer_gave_up_names_the_holder() {
    let (functions, _) = Functions::held(&["a"]).await;
    let until = functions.time_in(10);
    let wait = |token| merged(waiting("b", token), &json!({ "waitUntil": until }));
    assert_eq!(functions.status(wait("token-1")).await, "queued");
    functions.wait(10);

    let answer = functions.acquire(wait("token-2")).await.unwrap();

    let a = execution("a");
    let expected = json!({
        "status": "gaveUp", "lock": "nightly", "queueLength": 0,
        "holder": a, "since": "2026-03-01T06:00:00Z", "expiresAt": "2026-03-01T06:01:00Z",
        "message": format!(
            "gave up waiting for lock nightly: held by {a} since 2026-03-01T06:00:00Z, lease \
             until 2026-03-01T06:01:00Z; waiters left: 0"
        )
    });
    assert_eq!(answer, expected);
    let output = functions.output("token-2");
    assert_eq!(
        output,
        Some(expected),
        "the state ends with the same answer"
    );
    assert!(functions.record("nightly").await.unwrap().queue.is_empty());
}

#[tokio::test]
async fn a_waiting_state_at_a_free_lock_ends_with_the_grant_at_once() {
    let functions = Functions::new();

    let answer = functions.acquire(waiting("a", "token-a")).await.unwrap();

    assert_eq!(answer["status"], "granted");
    assert_eq!(functions.output("token-a"), Some(answer));
}

#[tokio::test]
async fn a_waiting_state_with_a_succeeded_key_ends_as_a_duplicate() {
    let key = json!({ "runKey": "tick-6" });
    let (functions, grant) = Functions::held_with(&["a"], key.clone()).await;
    functions.succeed(&grant).await;

    let waits = merged(waiting("b", "token-b"), &key);
    let answer = functions.acquire(waits).await.unwrap();

    assert_eq!(answer["status"], "duplicate");
    assert_eq!(answer["holder"], execution("a"));
    assert_eq!(answer["endedAt"], "2026-03-01T06:00:00Z");
    assert_eq!(functions.output("token-b"), Some(answer));
}

#[tokio::test]
async fn a_run_that_goes_on_to_wait_is_not_reported_as_skipped() {
    let (functions, _) = Functions::held(&["a"]).await;
    let before = functions.metrics.all().len();

    let answer = functions
        .status(ask_with("b", json!({ "mayWait": true })))
        .await;

    assert_eq!(answer, "skipped");
    assert!(functions.events.published().is_empty());
    assert_eq!(functions.metrics.all().len(), before);
}
