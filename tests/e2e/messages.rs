//! The messages of events that call for action, as the subscribers of the topics receive them.

use crate::stack;
use crate::support::at_work;
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep_tests::stack::{Feed, Stack, now, unique, until};
use lockstep_weave::{Options, weave};
use serde_json::{Value, json};

/// How long to wait for a message, in seconds.
const WAIT: u64 = 15;

/// Returns the schema of custom notifications. Beside version and source, only the description is
/// required. <https://docs.aws.amazon.com/chatbot/latest/adminguide/custom-notifs.html>
fn notification() -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["version", "source", "content"],
        "properties": {
            "version": { "const": "1.0" },
            "source": { "const": "custom" },
            "id": text,
            "content": {
                "type": "object",
                "additionalProperties": false,
                "required": ["description"],
                "properties": {
                    "textType": { "const": "client-markdown" },
                    "title": text,
                    "description": text,
                    "nextSteps": texts,
                    "keywords": texts,
                },
            },
            "metadata": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "threadId": text,
                    "summary": text,
                    "eventType": text,
                    "relatedResources": texts,
                    "additionalContext": { "type": "object", "additionalProperties": text },
                },
            },
        },
    })
}

/// Returns the `count` messages about `lock` that a subscriber receives. Checks that no further one
/// follows.
async fn messages(stack: &Stack, mailbox: &mut Feed, lock: &str, count: usize) -> Vec<Value> {
    let asked = now();
    let messages = mailbox.messages(stack, lock, count, WAIT).await;
    let took = now() - asked;
    eprintln!("figure: {count} messages about {lock} {took} ms after the end of the run");
    assert_eq!(messages.len(), count, "{messages:#?}");
    let later = mailbox.messages(stack, lock, count + 1, 2).await;
    assert_eq!(later.len(), count, "{later:#?}");
    messages
}

/// Checks that each of the `messages` about `lock` is mailed once, as lines of plain text.
async fn mailed(stack: &Stack, mails: &mut Feed, lock: &str, messages: &[Value]) {
    let asked = now();
    let found = mails.mails(stack, lock, messages.len(), WAIT).await;
    let (count, took) = (found.len(), now() - asked);
    eprintln!("figure: {count} mails about {lock} {took} ms after the messages");
    let later = mails.mails(stack, lock, messages.len() + 1, 2).await;
    let mut expected: Vec<_> = messages.iter().map(mail_of).collect();
    let sent = |mail: &Value| {
        let text = |field: &str| mail[field].as_str().unwrap_or_default().to_owned();
        (text("Subject"), text("Message"))
    };
    let mut sent: Vec<_> = later.iter().map(sent).collect();
    expected.sort();
    sent.sort();
    assert_eq!(sent, expected);
}

/// Returns the subject and the text of the mail of a message.
fn mail_of(message: &Value) -> (String, String) {
    let content = &message["content"];
    let title = content["title"].as_str().expect("a title");
    let description = content["description"].as_str().expect("a description");
    let mut text = format!("{title}\n{description}\n\nWhat to do:");
    for step in content["nextSteps"].as_array().into_iter().flatten() {
        text.push('\n');
        text.push_str(step.as_str().expect("a step"));
    }
    (title.chars().take(99).collect(), text)
}

/// Returns title, description and next steps of a message. Checks that it is a custom notification.
fn texts(message: &Value) -> (&str, &str, String) {
    let judged = jsonschema::validate(&notification(), message);
    assert!(judged.is_ok(), "{judged:?}: {message:#}");
    let content = &message["content"];
    let text = |field: &str| content[field].as_str().expect("a text");
    (
        text("title"),
        text("description"),
        content["nextSteps"].to_string(),
    )
}

#[tokio::test]
async fn only_a_failed_run_sends_a_message() {
    let (stack, lock) = (stack().await, unique("told"));
    let (mut mailbox, mut mails) = (stack.mailbox().await, stack.mails().await);
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
        "\nTook: ",
    ] {
        assert!(description.contains(part), "{part}: {description}");
    }
    let task = first.task.rsplit('/').next().unwrap_or_default();
    for part in [
        &first.arn,
        &format!("/tasks/{task}/logs"),
        "docs/runbook.md#run-failed",
        &format!("Runbook: https://wiki.example.com/batches/{lock}"),
    ] {
        assert!(steps.contains(part), "{part}: {steps}");
    }
    mailed(&stack, &mut mails, &lock, std::slice::from_ref(message)).await;
    assert!(!message.to_string().contains("hunter2"), "{message}");

    assert!(stack.run(&input.clone().seconds(0.2), 30).await.ran());
    assert_eq!(stack.run(&input, 20).await.answer(), "duplicate");
    messages(&stack, &mut mailbox, &lock, 1).await;
}

#[tokio::test]
async fn each_failed_attempt_of_a_caller_is_a_message_with_its_number() {
    let (stack, lock) = (stack().await, unique("retried"));
    let (mut mailbox, mut mails) = (stack.mailbox().await, stack.mails().await);
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
        .map(|message| texts(message).1.contains("Attempt: 2;"));
    assert_eq!(attempts.filter(|second| *second).count(), 1, "{told:#?}");
    let first = told
        .iter()
        .filter(|message| !texts(message).1.contains("Attempt"));
    assert_eq!(first.count(), 1, "{told:#?}");
    mailed(&stack, &mut mails, &lock, &told).await;
}

#[tokio::test]
async fn a_failed_run_says_how_long_the_successes_before_it_took() {
    let (stack, lock) = (stack().await, unique("told-usual"));
    let mut mailbox = stack.mailbox().await;
    let input = stack.batch_input(&lock).seconds(0.2);
    for _ in 0..2 {
        assert!(stack.run(&input, 30).await.ran());
    }

    let failed = stack.run(&input.clone().exit(3), 30).await;

    assert_eq!(failed.error, "States.TaskFailed", "{failed:?}");
    let told = messages(&stack, &mut mailbox, &lock, 1).await;
    let (_, description, _) = texts(&told[0]);
    let line = description.lines().find(|line| line.starts_with("Took: "));
    let line = line.unwrap_or_else(|| panic!("no length: {description}"));
    assert!(line.contains(" s; usually "), "{line}");
    assert!(line.ends_with(" s, the median of 2 successes"), "{line}");
}

#[tokio::test]
async fn a_frozen_lock_is_one_message_and_one_mail() {
    let (stack, lock) = (stack().await, unique("told-frozen"));
    let (mut mailbox, mut mails) = (stack.mailbox().await, stack.mails().await);
    let input = stack.batch_input(&lock).short_lease().seconds(8.0);
    let hung = input
        .with("stalePolicy", "hold")
        .with("noProgressSeconds", 2);
    let first = at_work(&stack, &hung).await;

    let told = messages(&stack, &mut mailbox, &lock, 1).await;

    let (title, description, _) = texts(&told[0]);
    assert_eq!(title, format!("Lockstep Lock Frozen: {lock}"));
    assert!(description.contains("Holder: execution "), "{description}");
    mailed(&stack, &mut mails, &lock, &told).await;
    assert!(stack.wait(&first.arn, 30).await.ran());
    stack.resume_lock(&lock, "it was only slow").await;
    until("free lock", 10, async || stack.held(&lock).await == 0).await;
    messages(&stack, &mut mailbox, &lock, 1).await;
}

#[tokio::test]
async fn skips_without_a_success_send_one_run_missing_message() {
    let (stack, lock) = (stack().await, unique("told-missing"));
    let (mut mailbox, mut mails) = (stack.mailbox().await, stack.mails().await);
    let input = stack.batch_input(&lock).with("expectEverySeconds", 3600);
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    for _ in 0..4 {
        let skip = input.clone().with("overlap", "skip");
        assert_eq!(stack.run(&skip, 20).await.answer(), "skipped");
    }
    assert_eq!(
        mailbox.messages(&stack, &lock, 1, 2).await,
        [] as [Value; 0]
    );
    let hours = 2 * 3_600_000;
    let past = AttributeValue::N((now() - hours).to_string());
    let update = stack.dynamodb.update_item();
    update
        .table_name(stack.output("LockTableName"))
        .key("pk", AttributeValue::S(lock.clone()))
        .key("sk", AttributeValue::S("lock".into()))
        .update_expression("SET expectFrom = :past, dueAt = :past")
        .expression_attribute_values(":past", past)
        .send()
        .await
        .expect("an older record");

    stack.fire_schedule(stack.output("ReaperFunctionArn")).await;

    let told = messages(&stack, &mut mailbox, &lock, 1).await;
    let (title, description, _) = texts(&told[0]);
    assert_eq!(title, format!("Lockstep Run Missing: {lock}"));
    assert!(
        description.contains("a success is expected every 3600 s"),
        "{description}"
    );
    mailed(&stack, &mut mails, &lock, &told).await;
    stack.abort(&first.arn).await;
    stack.wait_free(&lock, 60).await;
}

#[tokio::test]
async fn the_event_of_an_older_command_is_a_message_and_a_mail_too() {
    let (stack, lock) = (stack().await, unique("told-older"));
    let (mut mailbox, mut mails) = (stack.mailbox().await, stack.mails().await);
    let detail = json!({
        "lock": lock, "reason": "the \"lease\" ended\nearly", "advice": "check the run", "at": "2026-01-01T00:00:00Z",
    });
    let entry = json!({ "Source": "lockstep", "DetailType": "Lockstep Lease Lost", "Detail": detail.to_string() });

    let put = json!({ "Entries": [entry] });
    stack.call("events", "AWSEvents.PutEvents", put).await;

    let told = messages(&stack, &mut mailbox, &lock, 1).await;
    let (title, description, steps) = texts(&told[0]);
    assert_eq!(title, format!("Lockstep Lease Lost: {lock}"));
    assert_eq!(description, "the \"lease\" ended\nearly");
    assert!(steps.contains("check the run"), "{steps}");
    mailed(&stack, &mut mails, &lock, &told).await;
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
async fn a_run_that_dies_sends_run_recovered_and_no_run_failed() {
    let (stack, lock) = (stack().await, unique("told-dead"));
    let mut mailbox = stack.mailbox().await;
    let first = at_work(&stack, &stack.batch_input(&lock).seconds(60.0)).await;
    stack.abort(&first.arn).await;
    stack.wait_free(&lock, 60).await;

    // A stop of its task is a message of its own.
    let recovered = format!("Lockstep Run Recovered: {lock}");
    let stopped = format!("Lockstep Run Stopped: {lock}");
    let told = mailbox.messages(&stack, &lock, 3, 5).await;
    let kinds: Vec<_> = told.iter().map(|message| texts(message).0).collect();
    let others = kinds.iter().filter(|kind| **kind != stopped);
    assert_eq!(others.collect::<Vec<_>>(), [&recovered], "{kinds:?}");
}
