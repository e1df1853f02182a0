//! A lock whose pause is over, beside a holder under `hold` that is stale and for which the lock does not freeze.

use crate::functions::Functions;
use crate::scene::{ask_with, in_tasks, merged, task, waiting};
use lockstep::domain::{ExecutionEnd, Mode};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// Returns the functions with `a` as the holder of one of two permits under `hold`, and pauses the lock for 150 s.
async fn paused(more: &Value) -> Functions {
    let functions = Functions::running(&["a", "b"]);
    let holds = merged(json!({ "permits": 2, "stalePolicy": "hold" }), more);
    functions.granted_with(ask_with("a", holds)).await;
    let until = functions.time_in(150);
    functions
        .order("pause", json!({ "lock": "nightly", "until": until }))
        .await;
    functions
}

fn of_two(request: Value) -> Value {
    merged(request, &json!({ "permits": 2 }))
}

async fn mode(functions: &Functions) -> Mode {
    functions.record("nightly").await.unwrap().gate.mode
}

/// Its execution has ended, so no check freezes the lock for it. Its task cannot be stopped.
#[tokio::test]
async fn a_pause_ends_beside_an_ending_run_under_hold() {
    let limited = merged(in_tasks(), &json!({ "maxRunSeconds": 100 }));
    let functions = paused(&limited).await;
    functions.put_task("a", task("t", 1, false));
    functions.wait(50);
    functions.end("a", ExecutionEnd::Aborted);
    for _ in 0..10 {
        functions.wait(60);
        functions.sweep().await;
    }

    let status = functions.status(of_two(ask_with("b", json!({})))).await;

    let mode = mode(&functions).await;
    assert_eq!(status, "granted", "{mode:?}");
}

/// Its execution cannot be described, so the lock freezes an hour after its lease, and grants nothing until then.
#[tokio::test]
async fn show_promises_no_grant_beside_a_holder_that_is_hidden() {
    let functions = paused(&json!({})).await;
    let waits = of_two(waiting("b", "token-b"));
    assert_eq!(functions.status(waits).await, "queued");
    functions.lose_every(ExecutionsCall::Describe);
    functions.silent_for_long(60).await;
    functions.wait(67);

    let shown = functions.shown().await;
    for _ in 0..4 {
        functions.wait(60);
        functions.sweep().await;
    }

    let frees = shown["frees"].as_str().unwrap();
    let says_so = frees.contains("grants it to the first waiter");
    let is_granted = functions.output("token-b").is_some();
    assert_eq!(says_so, is_granted, "{frees}");
    assert!(!is_granted, "{:?}", mode(&functions).await);
}

#[tokio::test]
async fn show_calls_no_permit_free_that_the_next_run_does_not_get() {
    let functions = paused(&json!({})).await;
    functions.silent_for_long(60).await;
    functions.wait(67);

    let shown = functions.shown().await;
    let status = functions.status(of_two(ask_with("b", json!({})))).await;

    let frees = shown["frees"].as_str().unwrap();
    let says_so = frees == "A permit is free.";
    assert_eq!(says_so, status == "granted", "{status}: {frees}");
}

/// The lock is open, and the next check freezes it. Until then the permit is granted.
#[tokio::test]
async fn show_calls_a_permit_of_an_open_lock_free_beside_a_silent_holder() {
    let functions = Functions::running(&["a", "b"]);
    let holds = json!({ "permits": 2, "stalePolicy": "hold" });
    functions.granted_with(ask_with("a", holds)).await;
    functions.silent_for_long(60).await;

    let shown = functions.shown().await;
    let status = functions.status(of_two(ask_with("b", json!({})))).await;

    assert_eq!(status, "granted");
    assert_eq!(shown["frees"], "A permit is free.");
}
