//! The queue: first come, first served; a turn is pushed to the state that waits for it.

use crate::functions::{Functions, key};
use crate::scene::{ask, ask_with, assert_says, execution, waiting, waiting_alone};
use lockstep::contract::EventKind;
use lockstep::domain::RunOutcome;
use serde_json::{Value, json};

/// `a` holds, `b` and `c` wait; all three run.
pub(crate) async fn two_wait() -> (Functions, Value) {
    let functions = Functions::running(&["a", "b", "c"]);
    let grant = functions.granted_with(ask("a")).await;
    functions.acquire(waiting("b", "token-b")).await.unwrap();
    functions.acquire(waiting("c", "token-c")).await.unwrap();
    functions.wait(5);
    (functions, grant)
}

#[tokio::test]
async fn a_release_hands_the_permit_to_the_first_waiter_and_pushes_its_grant() {
    let (functions, grant) = two_wait().await;

    functions.succeed(&grant).await;

    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    let pushed = functions.output("token-b").expect("the state was ended");
    assert_eq!(pushed["status"], "granted");
    assert!(pushed["grant"]["token"].as_u64() > grant["token"].as_u64());
    assert_eq!(functions.output("token-c"), None);
}

#[tokio::test]
async fn what_is_pushed_is_what_acquire_lock_answers() {
    let (functions, grant) = two_wait().await;
    functions.succeed(&grant).await;
    let pushed = functions.output("token-b").unwrap();
    functions.wait(1);

    let mut asked = functions.acquire(ask("b")).await.unwrap();

    assert_eq!(asked["status"], "alreadyHeld");
    asked["status"] = json!("granted");
    assert_eq!(pushed, asked);
}

#[tokio::test]
async fn a_release_and_the_next_grant_are_one_write() {
    let (functions, grant) = two_wait().await;
    let before = functions.record("nightly").await.unwrap().version;

    functions.succeed(&grant).await;

    let record = functions.record("nightly").await.unwrap();
    assert_eq!(record.version, before + 1);
    assert_eq!(record.queue.len(), 1);
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Succeeded);
    let left = functions.store.items(&key("nightly")).waiters;
    assert_eq!(left.len(), 1, "the side item went with the place");
}

#[tokio::test]
async fn a_run_that_does_not_fit_into_the_queue_fails_by_name_and_leaves_nothing() {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    let first = waiting_alone("b", "token-b");
    functions.acquire(first).await.unwrap();

    let second = waiting_alone("c", "token-c");
    let error = functions.acquire(second).await.unwrap_err();

    assert_eq!(error.name().as_str(), "Lockstep.QueueFull");
    assert_says(error.message(), "maxQueue is 1");
    assert_says(error.message(), &execution("a"));
    let event = functions.event(EventKind::QueueFull);
    assert_eq!(event.holder.unwrap().as_str(), execution("c"));
    assert_eq!(functions.metrics.all().last().unwrap()["QueueFull"], 1.0);
    let record = functions.record("nightly").await;
    assert_eq!(record.unwrap().queue.len(), 1);
}

#[tokio::test]
async fn a_run_without_a_waiting_state_asks_again_and_finds_its_turn() {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(ask("a")).await;
    let queue = || ask_with("b", json!({ "overlap": "queue" }));
    let first = functions.acquire(queue()).await.unwrap();

    functions.succeed(&grant).await;
    functions.wait(1);
    let second = functions.acquire(queue()).await.unwrap();

    assert_eq!(first["status"], "queued");
    assert_eq!(second["status"], "alreadyHeld");
}
