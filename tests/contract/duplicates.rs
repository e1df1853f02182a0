//! A run key whose run is in flight: a run that brings it again is a duplicate only of a run that lives.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{ask_with, execution};
use lockstep::domain::{ExecutionEnd, RunOutcome};
use serde_json::{Value, json};
use std::time::Duration;

/// Seconds after which the first heartbeat of a lease of a minute is late, and the lease is not
/// over.
const LATE: u64 = 30;

/// The message `m`, brought to the execution called `name`, where there is room for many.
fn message(name: &str) -> Value {
    ask_with(name, json!({ "permits": 3, "runKey": "m" }))
}

#[tokio::test]
async fn a_duplicate_of_a_run_that_died_takes_its_place() {
    let functions = Functions::new();
    functions.start(&["a", "b"]);
    let dead = functions.granted_with(message("a")).await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(LATE);

    let answer = functions.acquire(message("b")).await.unwrap();

    assert_eq!(answer["status"], "granted", "{answer}");
    assert_eq!(answer["takenFrom"], execution("a"));
    let outcome = functions.run_of(&dead).unwrap().outcome();
    assert_eq!(outcome, Some(RunOutcome::Recovered));
}

#[tokio::test]
async fn a_duplicate_of_a_holder_that_nobody_can_ask_takes_its_place_once_its_lease_is_dead() {
    let functions = Functions::new();
    let worker = |name| {
        let mut message = message(name);
        message["holder"] = json!(name);
        message["leaseSeconds"] = json!(20);
        message
    };
    functions.granted_with(worker("worker-1")).await;

    functions.wait(21);
    let early = functions.acquire(worker("worker-2")).await.unwrap();
    functions.wait(1);
    let late = functions.acquire(worker("worker-2")).await.unwrap();

    assert_eq!(early["status"], "duplicate");
    assert_eq!(late["status"], "granted");
    assert_eq!(late["takenFrom"], "worker-1");
}

#[tokio::test]
async fn a_duplicate_of_a_run_that_lives_is_told_so_and_the_run_is_left_alone() {
    let functions = Functions::new();
    functions.start(&["a", "b"]);
    functions.granted_with(message("a")).await;
    functions.wait(LATE);
    let before = functions.record("nightly").await;

    let answer = functions.acquire(message("b")).await.unwrap();

    assert_eq!(answer["status"], "duplicate");
    assert_eq!(answer["holder"], execution("a"));
    assert_eq!(functions.record("nightly").await, before);
    assert!(functions.executions.stops().is_empty());
}

#[tokio::test]
async fn a_run_of_the_same_key_is_checked_although_its_heartbeat_is_in_time() {
    let functions = Functions::new();
    functions.granted_with(message("a")).await;
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(20);

    let answer = functions.acquire(message("b")).await.unwrap();

    assert_eq!(answer["status"], "granted");
    assert_eq!(answer["takenFrom"], execution("a"));
}

#[tokio::test]
async fn a_duplicate_of_a_success_asks_about_nobody() {
    let functions = Functions::new();
    let grant = functions.granted_with(message("a")).await;
    functions.succeed(&grant).await;
    functions.wait(120);
    let before = functions.record("nightly").await;

    let answer = functions.acquire(message("b")).await.unwrap();

    assert_eq!(answer["status"], "duplicate");
    assert_eq!(functions.record("nightly").await, before);
}

/// The failed guard of the run key brings the run that has succeeded.
#[tokio::test]
async fn a_duplicate_of_a_success_is_answered_without_a_read() {
    let functions = Functions::new();
    let grant = functions.granted_with(message("a")).await;
    functions.succeed(&grant).await;
    let table = Faulty::slow(&functions, Duration::from_secs(1));
    let before = functions.now();

    let answer = functions.acquire_on(table, message("b")).await.unwrap();

    assert_eq!(answer["status"], "duplicate");
    assert_eq!(functions.now(), before);
}
