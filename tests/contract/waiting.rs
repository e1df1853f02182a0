//! The ends of waiting other than a turn: time, a taken key, an operator.

use crate::functions::{Functions, key};
use crate::scene::{ask, ask_with, assert_says, audit_note, execution, merged, waiting};
use lockstep::contract::EventKind;
use lockstep::domain::{Command, Evict, HolderId};
use serde_json::{Value, json};

async fn one_waits(functions: &Functions, more: Value) -> Value {
    functions.start(&["a", "b"]);
    let grant = functions.granted_with(ask("a")).await;
    let request = merged(waiting("b", "token-b"), &more);
    let answer = functions.acquire(request).await.unwrap();
    assert_eq!(answer["status"], "queued");
    functions.wait(5);
    grant
}

#[tokio::test]
async fn a_run_that_comes_too_late_to_wait_at_all_gives_up_and_leaves_no_place() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    let past = functions.time_in(0);
    let more = json!({ "overlap": "queue", "taskToken": "token-b", "waitUntil": past });

    let answer = functions.acquire(ask_with("b", more)).await.unwrap();

    assert_eq!(answer["status"], "gaveUp");
    assert_eq!(functions.output("token-b"), Some(answer));
    assert!(functions.record("nightly").await.unwrap().queue.is_empty());
    let event = functions.event(EventKind::WaitGivenUp);
    assert_says(&event.reason, "gave up waiting");
    assert_says(&event.advice, "waitSeconds");
    assert_eq!(functions.metrics.all().last().unwrap()["GaveUp"], 1.0);
}

#[tokio::test]
async fn a_free_lock_is_granted_however_late_the_caller_is() {
    let functions = Functions::new();
    let past = functions.time_in(0);
    let more = json!({ "overlap": "queue", "taskToken": "token-a", "waitUntil": past });

    let answer = functions.acquire(ask_with("a", more)).await.unwrap();

    assert_eq!(answer["status"], "granted");
}

#[tokio::test]
async fn a_turn_that_comes_after_the_end_of_waiting_is_not_given_and_the_state_ends() {
    let functions = Functions::new();
    let until = functions.time_in(3);
    let grant = one_waits(&functions, json!({ "waitUntil": until })).await;

    functions.succeed(&grant).await;

    assert!(functions.holders("nightly").await.is_empty());
    assert_eq!(functions.output("token-b").unwrap()["status"], "gaveUp");
    let event = functions.event(EventKind::WaitGivenUp);
    assert_eq!(event.holder.unwrap().as_str(), execution("b"));
}

#[tokio::test]
async fn a_waiter_whose_key_succeeded_meanwhile_ends_as_a_duplicate() {
    let functions = Functions::running(&["a", "b"]);
    let keyed = |request| merged(request, &json!({ "runKey": "tick-6" }));
    let grant = functions.granted_with(keyed(ask("a"))).await;
    let waits = keyed(waiting("b", "token-b"));
    let queued = functions.acquire(waits).await.unwrap();

    functions.succeed(&grant).await;

    assert_eq!(queued["status"], "queued");
    let pushed = functions.output("token-b").unwrap();
    assert_eq!(pushed["status"], "duplicate");
    assert_eq!(pushed["holder"], execution("a"));
    assert!(functions.holders("nightly").await.is_empty());
    let event = functions.event(EventKind::RunDuplicate);
    assert_eq!(event.holder.unwrap().as_str(), execution("b"));
}

#[tokio::test]
async fn a_waiter_that_an_operator_sends_away_ends_with_the_reason() {
    let functions = Functions::new();
    one_waits(&functions, json!({})).await;
    let holder = HolderId::new(execution("b")).unwrap();
    let evict = Evict {
        holder,
        audit: audit_note("not today"),
    };

    functions.command("nightly", Command::Evict(evict)).await;

    let pushed = functions.output("token-b").unwrap();
    assert_eq!(pushed["status"], "gaveUp");
    let message = pushed["message"].as_str().unwrap();
    assert_says(message, "an operator");
    let items = functions.store.items(&key("nightly"));
    assert!(items.record.unwrap().queue.is_empty());
    assert!(items.waiters.is_empty());
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}
