//! What people are told: the messages of failed runs, as a subscriber of the topic gets them.

use crate::stack;
use crate::support::at_work;
use lockstep_tests::stack::{Feed, Stack, now, unique};
use lockstep_weave::{Options, weave};
use serde_json::{Value, json};

/// Longest time from the end of a failed run to its message.
const WITHIN_MS: u64 = 5_000;

/// Checks that a subscriber has got `count` messages about `lock`, and no more of them later.
async fn messages(stack: &Stack, mailbox: &mut Feed, lock: &str, count: usize) -> Vec<Value> {
    let asked = now();
    let messages = mailbox.messages(stack, lock, count, 10).await;
    let took = now() - asked;
    eprintln!("figure: {count} messages about {lock} {took} ms after the end of the run");
    assert_eq!(messages.len(), count, "{messages:#?}");
    assert!(took <= WITHIN_MS, "{took} ms");
    let later = mailbox.messages(stack, lock, count + 1, 2).await;
    assert_eq!(later.len(), count, "{later:#?}");
    messages
}

/// The texts of a message, in the form of a custom notification.
fn texts(message: &Value) -> (&str, &str, String) {
    assert_eq!(
        (&message["version"], &message["source"]),
        (&json!("1.0"), &json!("custom"))
    );
    let content = &message["content"];
    assert_eq!(content["textType"], "client-markdown", "{message}");
    let text = |field: &str| content[field].as_str().expect("a text");
    (
        text("title"),
        text("description"),
        content["nextSteps"].to_string(),
    )
}

#[tokio::test]
async fn a_failed_batch_is_a_message_and_no_skip_duplicate_or_success_is() {
    let (stack, lock) = (stack().await, unique("told"));
    let mut mailbox = stack.mailbox().await;
    let input = stack.batch_input(&lock).seconds(2.0).with("runKey", "day");
    let secret = input.clone().env("PASSWORD", "hunter2").exit(3);
    let first = at_work(&stack, &secret).await;
    let skip = input.clone().without("runKey").with("overlap", "skip");
    assert_eq!(stack.run(&skip, 20).await.answer(), "skipped");
    let failed = stack.wait(&first.arn, 30).await;

    let [message] = &messages(&stack, &mut mailbox, &lock, 1).await[..] else {
        panic!("not one message");
    };

    assert_eq!(failed.error, "States.TaskFailed", "{failed:?}");
    eprintln!("message: {message:#}");
    let (title, description, steps) = texts(message);
    assert_eq!(title, format!("Lockstep Run Failed: {lock}"));
    for part in [
        "States.TaskFailed: container batch exited with 3",
        "Run key: day",
        "Holder: execution ",
    ] {
        assert!(description.contains(part), "{part}: {description}");
    }
    let task = first.task.rsplit('/').next().unwrap_or_default();
    for part in [
        &first.arn,
        &format!("/tasks/{task}/logs"),
        "docs/runbook.md#run-failed",
    ] {
        assert!(steps.contains(part), "{part}: {steps}");
    }
    assert!(!message.to_string().contains("hunter2"), "{message}");

    assert!(stack.run(&input.clone().seconds(0.2), 30).await.ran());
    assert_eq!(stack.run(&input, 20).await.answer(), "duplicate");
    messages(&stack, &mut mailbox, &lock, 1).await;
}

#[tokio::test]
async fn each_failed_attempt_of_a_caller_is_a_message_with_its_number() {
    let (stack, lock) = (stack().await, unique("retried"));
    let mut mailbox = stack.mailbox().await;
    let parent = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID";
    let input = stack.batch_input(&lock).seconds(0.5).exit(1);
    let input = input.with(parent, "{% $states.context.Execution.Id %}");
    let retry =
        json!([{ "ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 1, "MaxAttempts": 1 }]);
    let definition = json!({
        "QueryLanguage": "JSONata",
        "StartAt": "Run",
        "States": { "Run": {
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Arguments": {
                "StateMachineArn": stack.output("ExclusiveRunStateMachineArn"),
                "Input": input.json(),
            },
            "Retry": retry,
            "End": true,
        } },
    });
    let machine = stack.guarded(&definition).await;
    let caller = stack.start_machine(&machine, &json!({})).await;
    assert_eq!(stack.wait(&caller, 60).await.status, "FAILED");

    let told = messages(&stack, &mut mailbox, &lock, 2).await;

    let attempts = told
        .iter()
        .map(|message| texts(message).1.contains("Attempt: 2,"));
    assert_eq!(attempts.filter(|second| *second).count(), 1, "{told:#?}");
    let first = told
        .iter()
        .filter(|message| !texts(message).1.contains("Attempt"));
    assert_eq!(first.count(), 1, "{told:#?}");
}

#[tokio::test]
async fn a_failed_workflow_guarded_or_woven_is_a_message_with_its_error() {
    let stack = stack().await;
    let mut mailbox = stack.mailbox().await;
    let fail = json!({ "Type": "Fail", "Error": "Etl.BadRow", "Cause": "row \"7\"\nhas no \\key" });
    let wait = json!({ "Type": "Wait", "Seconds": 1, "Next": "Fail" });
    let definition = json!({ "StartAt": "Wait", "States": { "Wait": wait, "Fail": fail } });
    let (guarded, woven) = (unique("told-flow"), unique("told-woven"));
    let machine = stack.guarded(&definition).await;
    let run = stack.batch_input(&guarded).in_workflow(&machine);
    let ends = [
        "AcquireLockFunctionArn",
        "HeartbeatFunctionArn",
        "ReleaseLockFunctionArn",
    ];
    let set = ends.map(|name| (name.to_owned(), stack.output(name).to_owned()));
    let options = Options {
        lock: woven.clone(),
        set: set.into_iter().collect(),
        ..Options::default()
    };
    let text = weave(&definition.to_string(), &options).expect("woven");
    let text = serde_json::from_str(&text).expect("JSON");
    let own = stack.guarded(&text).await;

    let own = stack.start_machine(&own, &json!({})).await;
    let run = stack.start(&run).await;
    let ended = stack.wait_all(&[own.clone(), run.clone()], 60).await;

    for (lock, arn, end) in [(&woven, own, &ended[0]), (&guarded, run, &ended[1])] {
        assert_eq!(end.error, "Etl.BadRow", "{end:?}");
        let [message] = &messages(&stack, &mut mailbox, lock, 1).await[..] else {
            panic!("not one message");
        };
        let (_, description, steps) = texts(message);
        let cause = "Etl.BadRow: row \"7\" has no \\key";
        assert!(description.starts_with(cause), "{description}");
        assert!(steps.contains(&arn), "{steps}");
        let child = steps.contains(":execution:guarded") && steps.contains("Workflow: ");
        assert_eq!(child, *lock == guarded, "{steps}");
    }
}

#[tokio::test]
async fn a_run_that_dies_is_not_a_failed_run_too() {
    let (stack, lock) = (stack().await, unique("told-dead"));
    let mut mailbox = stack.mailbox().await;
    let first = at_work(&stack, &stack.batch_input(&lock).seconds(60.0)).await;
    stack.abort(&first.arn).await;
    stack.wait_free(&lock, 60).await;

    // Where its task is stopped, that is a message of its own.
    let recovered = format!("Lockstep Run Recovered: {lock}");
    let stopped = format!("Lockstep Run Stopped: {lock}");
    let told = mailbox.messages(&stack, &lock, 3, 5).await;
    let kinds: Vec<_> = told.iter().map(|message| texts(message).0).collect();
    let others = kinds.iter().filter(|kind| **kind != stopped);
    assert_eq!(others.collect::<Vec<_>>(), [&recovered], "{kinds:?}");
}
