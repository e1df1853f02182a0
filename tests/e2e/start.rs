//! Runs that an operator starts again, on the deployed stack.

use crate::operate::{operate, view};
use crate::stack;
use crate::support::at_work;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Stack, unique};
use serde_json::{Value, json};

/// Starts a run of `lock` again with the act `start`. Returns the ARN of the new execution.
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
async fn a_run_that_is_started_again_replaces_the_holder() {
    let (stack, lock) = (stack().await, unique("start-replace"));
    let input = stack.batch_input(&lock).seconds(10.0);
    let first = at_work(&stack, &input.with("overlap", "replace")).await.arn;

    let second = start_again(&stack, &lock, json!({})).await;
    let replaced = stack.wait(&first, 60).await;
    let ended = stack.wait(&second, 60).await;

    assert!(!replaced.ran() && ended.ran(), "{replaced:?} {ended:?}");
    let containers = stack.containers(&lock, 60).await;
    assert_eq!(containers.len(), 2, "{containers:?}");
    let found = Expected::permits(1).stops(&first).violations(&containers);
    assert!(found.is_empty(), "{found:?}");
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

/// Returns the input of an execution.
async fn input_of(stack: &Stack, execution: &str) -> Value {
    let call = stack.sfn.describe_execution().execution_arn(execution);
    let seen = call.send().await.expect("an execution");
    serde_json::from_str(seen.input().expect("an input")).expect("JSON")
}

/// Creates a schedule of exclusive-run that does not fire here, or changes it with the method
/// `PUT`.
async fn put_schedule(stack: &Stack, method: &str, name: &str, input: &BatchInput) {
    let key = "<aws.scheduler.schedule-arn>#<aws.scheduler.scheduled-time>";
    let input = input.clone().with("runKey", key);
    let body = json!({
        "ScheduleExpression": "cron(0 3 1 1 ? 2031)", "FlexibleTimeWindow": { "Mode": "OFF" },
        "Target": {
            "Arn": stack.output("ExclusiveRunStateMachineArn"), "RoleArn": stack.fixture("WorkflowRoleArn"),
            "Input": input.json().to_string(),
        },
    });
    let path = format!("/schedules/{name}");
    let reply = stack.rest("scheduler", method, &path, body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn a_lock_that_has_never_run_is_started_as_by_a_tick_of_its_schedule() {
    let (stack, lock) = (stack().await, unique("start-tick"));
    let input = stack.batch_input(&lock).seconds(0.3);
    put_schedule(
        &stack,
        "POST",
        &lock,
        &input.clone().with("maxRunSeconds", 600),
    )
    .await;
    let tick = json!({ "schedule": lock, "scheduledTime": "2026-03-01T02:00:00Z" });

    let first = start_again(&stack, &lock, tick.clone()).await;
    let ran = stack.wait(&first, 60).await;
    let mut same = tick;
    same["lock"] = json!(lock);
    let refused = operate(&stack, "start", same).await;
    put_schedule(&stack, "PUT", &lock, &input.with("maxRunSeconds", 900)).await;
    let second = start_again(&stack, &lock, json!({ "schedule": lock })).await;
    let ran_changed = stack.wait(&second, 60).await;

    let (first, second) = (
        input_of(&stack, &first).await,
        input_of(&stack, &second).await,
    );
    let key = first["runKey"].as_str().expect("a run key");
    assert!(key.starts_with("arn:aws:scheduler:us-east-1:"), "{key}");
    assert!(key.ends_with("#2026-03-01T02:00:00Z"), "{key}");
    let limits = (&first["maxRunSeconds"], &second["maxRunSeconds"]);
    assert_eq!(limits, (&json!(600), &json!(900)));
    assert!(ran.ran() && ran_changed.ran(), "{ran:?} {ran_changed:?}");
    let refused = refused.expect_err("a refusal");
    assert!(refused.message.contains("duplicate"), "{refused:?}");
    assert_eq!(stack.containers(&lock, 60).await.len(), 2);
}

#[tokio::test]
async fn a_run_is_started_as_by_a_tick_of_a_rule() {
    let (stack, lock) = (stack().await, unique("start-rule"));
    let input = stack.batch_input(&lock).seconds(0.3);
    let input = input.with("runKey", "<aws.events.rule-arn>#<time>");
    let rule = json!({ "Name": lock, "ScheduleExpression": "rate(7 days)", "State": "DISABLED" });
    let made = stack.call("events", "AWSEvents.PutRule", rule).await;
    let transformer =
        json!({ "InputPathsMap": { "time": "$.time" }, "InputTemplate": input.json().to_string() });
    let target = json!({
        "Id": "1", "Arn": stack.output("ExclusiveRunStateMachineArn"),
        "RoleArn": stack.fixture("WorkflowRoleArn"), "InputTransformer": transformer,
    });
    let targets = json!({ "Rule": lock, "Targets": [target] });
    stack.call("events", "AWSEvents.PutTargets", targets).await;

    let time = "2026-03-01T02:00:00Z";
    let tick = json!({ "schedule": lock, "scheduledTime": time });
    let started = start_again(&stack, &lock, tick).await;

    assert!(stack.wait(&started, 60).await.ran());
    let input = input_of(&stack, &started).await;
    let rule = made["RuleArn"].as_str().expect("an ARN");
    assert_eq!(input["runKey"], format!("{rule}#{time}"));
}
