//! The ends of a wait without a grant: its time is over, its run key has succeeded, or an operator drops it.

use crate::functions::{Functions, key};
use crate::scene::{assert_has, assert_says, audit_note, execution, merged, waiting};
use lockstep::contract::EventKind;
use lockstep::domain::{Command, DropWaiter, HolderId};
use serde_json::{Value, json};

/// Returns the functions with `a` as the holder and `b` in the queue, and the grant of `a`. Both have the
/// terms of `more`, and `b` those of `of_waiter` too.
async fn one_waits(more: Value, of_waiter: Value) -> (Functions, Value) {
    let (functions, grant) = Functions::held_with(&["a", "b"], more.clone()).await;
    let request = merged(merged(waiting("b", "token-b"), &more), &of_waiter);
    assert_eq!(functions.status(request).await, "queued");
    functions.wait(5);
    (functions, grant)
}

#[tokio::test]
async fn an_acquire_after_wait_until_gives_up_and_enters_no_queue() {
    let (functions, grant) = Functions::held(&["a"]).await;
    let past = json!({ "waitUntil": functions.time_in(0) });
    let late = || merged(waiting("b", "token-b"), &past);

    let answer = functions.acquire(late()).await.unwrap();

    assert_eq!(answer["status"], "gaveUp");
    assert_eq!(functions.output("token-b"), Some(answer));
    assert!(functions.record("nightly").await.unwrap().queue.is_empty());
    let event = functions.event(EventKind::WaitGivenUp);
    assert_says(&event.reason, "gave up waiting");
    assert_says(&event.advice, "waitSeconds");
    assert_eq!(functions.metrics.all().last().unwrap()["GaveUp"], 1.0);
    functions.succeed(&grant).await;
    // A free permit is granted although `waitUntil` is over.
    assert_eq!(functions.status(late()).await, "granted");
}

#[tokio::test]
async fn a_waiter_past_wait_until_gets_no_permit_and_gives_up() {
    let until = json!({ "waitUntil": "2026-03-01T06:00:03Z" });
    let (functions, grant) = one_waits(json!({}), until).await;

    functions.succeed(&grant).await;

    assert!(functions.holders("nightly").await.is_empty());
    assert_eq!(functions.output("token-b").unwrap()["status"], "gaveUp");
    let event = functions.event(EventKind::WaitGivenUp);
    assert_eq!(event.holder.unwrap().as_str(), execution("b"));
}

#[tokio::test]
async fn a_waiter_whose_run_key_has_succeeded_ends_as_a_duplicate() {
    let key = json!({ "runKey": "tick-6" });
    let (functions, before) = Functions::held(&["z", "a", "b"]).await;
    let [a, b] = ["a", "b"].map(|name| merged(waiting(name, &format!("token-{name}")), &key));
    for ask in [&a, &b] {
        assert_eq!(functions.status(ask.clone()).await, "queued");
    }
    functions.succeed(&before).await;
    let grant = functions.acquire(a).await.unwrap()["grant"].clone();

    functions.succeed(&grant).await;

    let pushed = functions.output("token-b").unwrap();
    assert_has(
        &pushed,
        json!({ "status": "duplicate", "holder": execution("a") }),
    );
    assert!(functions.holders("nightly").await.is_empty());
    let event = functions.event(EventKind::RunDuplicate);
    assert_eq!(event.holder.unwrap().as_str(), execution("b"));
}

#[tokio::test]
async fn a_waiter_that_an_operator_drops_ends_as_given_up_with_the_reason() {
    let (functions, _) = one_waits(json!({}), json!({})).await;
    let holder = HolderId::new(execution("b")).unwrap();
    let drop = DropWaiter::of(holder, audit_note("not today"));

    functions
        .command("nightly", Command::DropWaiter(drop))
        .await;

    let pushed = functions.output("token-b").unwrap();
    assert_eq!(pushed["status"], "gaveUp");
    assert_says(pushed["message"].as_str().unwrap(), "an operator");
    let items = functions.store.items(&key("nightly"));
    assert!(items.record.unwrap().queue.is_empty());
    assert!(items.waiters.is_empty());
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}
