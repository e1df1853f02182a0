//! What the caller passes reaches the batch, and what the batch returns reaches the caller.

use crate::support::at_work;
use crate::{ran_alone, ran_alone_but_stopped, stack};
use lockstep_tests::stack::{Event, Stack, runs, unique};
use serde_json::{Value, json};

#[tokio::test]
async fn a_failing_batch_fails_its_execution_with_its_own_error() {
    let (stack, lock) = (stack().await, unique("exit"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let failed = stack.run(&input.clone().exit(1), 30).await;
    assert_eq!(failed.status, "FAILED", "{failed:?}");
    assert_eq!(failed.error, "States.TaskFailed");
    let cause: Value = serde_json::from_str(&failed.cause).expect("the task as JSON");
    assert_eq!(cause["Containers"][0]["ExitCode"], 1, "{cause}");
    assert_eq!(stack.held(&lock).await, 0, "the lock after a failure");
    assert!(stack.run(&input, 30).await.ran());
    ran_alone(&stack, &lock, 2).await;
}

/// runTask.sync succeeds if the containers of a task exited with 0, whatever stopped the task.
#[tokio::test]
async fn a_batch_that_is_stopped_and_exits_with_zero_has_not_succeeded() {
    let (stack, lock) = (stack().await, unique("scaled-in"));
    let input = stack.batch_input(&lock).with("runKey", "once");
    let first = at_work(
        &stack,
        &input.clone().seconds(60.0).env("BATCH_SIGTERM_EXIT", "0"),
    )
    .await;
    stack.wait_task(&first.task, "RUNNING", 15).await;

    stack.stop_task(&first.task).await;

    let stopped = stack.wait(&first.arn, 60).await;
    assert_eq!(stopped.status, "FAILED", "{stopped:?}");
    assert_eq!(stopped.error, "Lockstep.WorkStopped");
    assert!(stopped.cause.contains("scaled in"), "{}", stopped.cause);
    let again = stack.run(&input.seconds(0.5), 30).await;
    assert!(again.ran(), "its run key is free: {again:?}");
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn the_overrides_reach_the_task_and_its_output_returns_unchanged() {
    let (stack, lock) = (stack().await, unique("pass"));
    let mut input = stack
        .batch_input(&lock)
        // Long enough for the side container to end first, even if it starts late.
        .seconds(4.0)
        .env("REPORT_FORMAT", "csv")
        // The caller may not choose these two: the values of Lockstep win.
        .env("LOCKSTEP_FENCING_TOKEN", "1")
        .env("BATCH_ECHO", "[A-Z]");
    let task = input.run_task();
    task["TaskDefinition"] = stack.fixture("PairTaskDefinitionArn").into();
    let side = json!({
        "Name": "side",
        "Environment": [{ "Name": "BATCH_SECONDS", "Value": "0.2" }, { "Name": "SIDE", "Value": "kept" }]
    });
    let overrides = task["Overrides"]["ContainerOverrides"].as_array_mut();
    overrides.expect("a list").push(side.clone());
    let asked = input.json()["work"]["runTask"].clone();

    let ended = stack.run(&input, 30).await;
    assert!(ended.ran(), "{ended:?}");
    let response = &ended.output;
    let overrides = response["Overrides"]["ContainerOverrides"].as_array();
    assert!(overrides.expect("a list").contains(&side), "{response}");
    let group = response["Group"].as_str().unwrap_or_default();
    assert!(group.starts_with("lockstep:"), "group {group}");

    let records = stack.records(&lock).await;
    let own = records.iter().find(|record| record.event == Event::Start);
    let env = &own.expect("the container's start").env;
    assert_eq!(env["REPORT_FORMAT"], "csv");
    assert_eq!(env["BATCH_LABEL"], lock);
    assert_eq!(env["LOCKSTEP_LOCK"], lock);
    assert_eq!(env["LOCKSTEP_HOLDER"], ended.arn);
    assert_eq!(env["LOCKSTEP_TABLE"], stack.output("LockTableName"));
    let token = last_token(&stack, &lock).await;
    assert_eq!(env["LOCKSTEP_FENCING_TOKEN"], token.to_string());

    let bare = bare_run(&stack, &asked).await;
    let names = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect());
    let names: [Option<Vec<String>>; 2] = [names(response), names(&bare)];
    assert_eq!(names[0], names[1], "fields with Lockstep and without");
}

#[tokio::test]
async fn the_container_gets_the_growing_fencing_token_of_its_grant() {
    let (stack, lock) = (stack().await, unique("token"));
    let input = stack.batch_input(&lock).seconds(1.5);
    for run in 1..=3 {
        let arn = stack.start(&input).await;
        let records = stack.wait_for(&lock, Event::Start, run, 30).await;
        let item = stack.lock_item(&lock).await.expect("a record");
        let lease = item["holders"].as_m().expect("a map")[&arn].as_m();
        let granted = lease.expect("a lease")["token"].as_n().expect("a number");
        let seen = runs(&records).pop().expect("a run").token();
        assert_eq!(&seen.to_string(), granted);
        assert!(stack.wait(&arn, 30).await.ran());
    }
    let tokens: Vec<_> = runs(&stack.records(&lock).await)
        .iter()
        .map(|run| run.token())
        .collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    ran_alone(&stack, &lock, 3).await;
}

#[tokio::test]
async fn a_short_batch_does_not_wait_for_the_next_heartbeat() {
    let (stack, lock) = (stack().await, unique("short"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let ended = stack.run(&input.with("heartbeatSeconds", 20), 30).await;
    assert!(ended.ran(), "{ended:?}");
    eprintln!("figure: a batch of 500 ms took {} ms", ended.millis());
    assert!(ended.millis() < 10_000, "{} ms", ended.millis());
}

async fn last_token(stack: &Stack, lock: &str) -> u64 {
    let item = stack.lock_item(lock).await.expect("a record");
    let token = item["lastToken"].as_n().expect("a number");
    token.parse().expect("a whole number")
}

/// Runs the same task without Lockstep, and returns its output.
async fn bare_run(stack: &Stack, run_task: &Value) -> Value {
    let mut arguments = run_task.clone();
    arguments["Group"] = "bare".into();
    let definition = json!({
        "QueryLanguage": "JSONata",
        "StartAt": "Run",
        "States": { "Run": {
            "Type": "Task",
            "Resource": "arn:aws:states:::ecs:runTask.sync",
            "Arguments": arguments,
            "End": true
        } }
    });
    let arn = stack.guarded(&definition).await;
    let ended = stack.start_machine(&arn, &json!({})).await;
    stack.wait(&ended, 30).await.output
}
