//! Runs that an operator starts again, on the deployed stack.

use crate::operate::{operate, view};
use crate::stack;
use crate::support::at_work;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Stack, unique};
use serde_json::{Value, json};

/// The execution that `start` has started again, by its ARN.
async fn start_again(stack: &Stack, lock: &str, more: Value) -> String {
    let mut request = more;
    request["lock"] = json!(lock);
    let started = operate(stack, "start", request).await.expect("an answer");
    assert_eq!(started["status"], "started", "{started}");
    started["executionArn"].as_str().expect("an ARN").to_owned()
}

#[tokio::test]
async fn a_run_that_is_started_again_acquires_the_lock_as_any_other() {
    let stack = stack().await;
    for overlap in ["skip", "queue", "fail"] {
        let lock = unique(&format!("start-{overlap}"));
        let input = stack
            .batch_input(&lock)
            .seconds(6.0)
            .with("overlap", overlap);
        let first = at_work(&stack, &input).await.arn;

        let second = start_again(&stack, &lock, json!({})).await;
        let met = stack.wait(&second, 60).await;
        let ended = stack.wait(&first, 60).await;
        let third = start_again(&stack, &lock, json!({})).await;
        let alone = stack.wait(&third, 60).await;

        let as_asked = match overlap {
            "skip" => met.answer() == "skipped",
            "queue" => met.ran(),
            _ => met.error == "Lockstep.LockHeld",
        };
        assert!(as_asked, "{overlap}: {met:?}");
        assert!(ended.ran() && alone.ran(), "{overlap}: {ended:?} {alone:?}");
        let runs = if overlap == "queue" { 3 } else { 2 };
        let containers = stack.containers(&lock, 60).await;
        assert_eq!(containers.len(), runs, "{overlap}: {containers:?}");
        let found = Expected::permits(1).violations(&containers);
        assert!(found.is_empty(), "{overlap}: {found:?}");
    }
}

#[tokio::test]
async fn a_scheduled_time_that_has_succeeded_is_run_again_by_its_run_key_only() {
    let (stack, lock) = (stack().await, unique("start-again"));
    let input = stack
        .batch_input(&lock)
        .seconds(0.3)
        .with("runKey", "tick-1");
    assert!(stack.run(&input, 30).await.ran());

    let refused = operate(&stack, "start", json!({ "lock": lock })).await;
    let again = json!({ "again": "tick-1" });
    let started = start_again(&stack, &lock, again).await;
    let ended = stack.wait(&started, 30).await;

    let refused = refused.expect_err("a refusal");
    assert!(refused.message.contains("tick-1"), "{refused:?}");
    assert!(ended.ran(), "{ended:?}");
    let history = view(&stack, json!({ "act": "history", "lock": lock })).await;
    let entries = history["entries"].as_array().expect("entries").iter();
    let acts = entries.filter(|entry| entry["kind"] == "act");
    let acts: Vec<_> = acts.map(|act| act["outcome"].clone()).collect();
    assert_eq!(acts, ["started", "forgotten"], "{history}");
}
