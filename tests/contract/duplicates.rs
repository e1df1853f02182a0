//! A run key whose run is in flight: a run that brings it again is a duplicate only of a run that lives.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{LATE, ask_with, execution, merged};
use lockstep::domain::{ExecutionEnd, RunOutcome};
use serde_json::{Value, json};
use std::time::Duration;

/// The message `m`, brought to the execution called `name`, where there is room for many.
fn message(name: &str) -> Value {
    ask_with(name, json!({ "permits": 3, "runKey": "m" }))
}

#[tokio::test]
async fn a_duplicate_of_a_run_that_died_takes_its_place() {
    let functions = Functions::running(&["a", "b"]);
    let dead = functions.granted_with(message("a")).await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(LATE);

    let answer = functions.acquire(message("b")).await.unwrap();

    assert_eq!(answer["status"], "granted", "{answer}");
    assert_eq!(answer["takenFrom"], execution("a"));
    assert_eq!(functions.outcome_of(&dead), RunOutcome::Recovered);
}

#[tokio::test]
async fn a_duplicate_of_a_holder_without_evidence_takes_its_place_once_its_lease_is_dead() {
    let functions = Functions::new();
    let worker = |name: &str| {
        let terms = json!({ "holder": name, "leaseSeconds": 20 });
        merged(message(name), &terms)
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
async fn a_duplicate_of_a_live_run_is_refused_and_the_run_is_left_alone() {
    let functions = Functions::running(&["a", "b"]);
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
async fn a_duplicate_of_a_success_makes_no_describe_call() {
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
