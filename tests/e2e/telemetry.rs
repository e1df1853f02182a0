//! What the functions log, and which events of Lockstep a rule on source `lockstep` receives.

use crate::operate::{operate, view};
use crate::stack;
use crate::support::{at_work, in_queue, runs_after};
use lockstep_tests::stack::{Stack, now, unique, until};
use serde_json::{Value, json};

/// Returns the lines of a function's log that name `lock`.
pub(crate) async fn lines(stack: &Stack, function: &str, lock: &str) -> Vec<Value> {
    let group = format!("/aws/lambda/lockstep-{function}");
    let ask = json!({ "logGroupName": group, "filterPattern": format!("{lock:?}") });
    let events = stack.log_events(ask).await;
    let texts = events.iter().filter_map(|event| event["message"].as_str());
    texts
        .filter_map(|text| serde_json::from_str(text.trim()).ok())
        .collect()
}

#[tokio::test]
async fn functions_log_holder_token_and_metrics_but_no_task_token() {
    let stack = stack().await;
    let lock = unique("log");
    let ended = stack
        .run(&stack.batch_input(&lock).seconds(2.5).short_lease(), 30)
        .await;
    assert!(ended.ran(), "{ended:?}");

    let acquired = lines(&stack, "acquire-lock", &lock).await;
    let renewed = lines(&stack, "heartbeat", &lock).await;
    let released = lines(&stack, "release-lock", &lock).await;

    let all = [acquired, renewed, released].concat();
    let find = |message: &str| {
        let found = all.iter().find(|line| line["message"] == message);
        found.unwrap_or_else(|| panic!("no line {message:?} in {all:?}"))
    };
    for message in ["granted", "renewed", "released"] {
        assert_eq!(find(message)["holder"], ended.arn.as_str());
        assert!(!find(message)["token"].is_null());
    }
    for metric in ["Acquired", "Renewed", "Released", "HeldSeconds"] {
        let found = all
            .iter()
            .any(|line| line["_aws"].is_object() && !line[metric].is_null());
        assert!(found, "metric {metric} is not in {all:?}");
    }
    let text = serde_json::to_string(&all).unwrap();
    assert!(!text.contains("taskToken"), "{text}");
}

#[tokio::test]
async fn view_and_operate_show_and_log_no_task_token_and_no_environment() {
    let (stack, lock) = (stack().await, unique("shown"));
    let secret = unique("hunter2");
    let input = stack.batch_input(&lock).env("PASSWORD", &secret);
    let first = at_work(&stack, &input.clone().seconds(60.0).short_lease()).await;
    let waits = in_queue(&stack, &input.clone().seconds(0.2), 1).await;
    let items = format!("{:?}", stack.items(&lock).await);
    let one = json!({ "lock": lock, "holder": first.arn });
    let force = json!({ "lock": lock, "holder": first.arn, "force": true });

    let mut shown = Vec::new();
    for act in ["list", "show", "history"] {
        let scope = if act == "list" { "prefix" } else { "lock" };
        shown.push(view(&stack, json!({ "act": act, scope: lock })).await);
    }
    let refused = operate(&stack, "evict", one)
        .await
        .expect_err("it is alive");
    shown.push(json!(refused.message));
    for (act, fields) in [
        ("pause", json!({ "lock": lock })),
        ("evict", force),
        ("drop-waiter", json!({ "lock": lock, "holder": waits })),
        ("resume", json!({ "lock": lock })),
    ] {
        shown.push(operate(&stack, act, fields).await.expect("an answer"));
    }
    shown.push(view(&stack, json!({ "act": "history", "lock": lock })).await);

    // Checks that task tokens and environment exist. Otherwise the checks below could not fail.
    assert_eq!(items.matches("sealed:").count(), 2, "{items}");
    let events = stack.history(&first.arn).await;
    let started = events[0].execution_started_event_details();
    let input = started
        .and_then(|details| details.input())
        .expect("an input");
    assert!(input.contains(&secret), "{input}");
    let log_of = |function: &str| {
        let group = format!("/aws/lambda/lockstep-{function}");
        stack.log_events(json!({ "logGroupName": group }))
    };
    let logs = [log_of("operate").await, log_of("view").await];
    let logs = serde_json::to_string(&logs).unwrap();
    assert!(logs.contains("REPORT"), "{logs}");
    for text in [serde_json::to_string(&shown).unwrap(), logs] {
        for part in ["sealed:", "taskToken", secret.as_str()] {
            assert!(!text.contains(part), "{part} shows: {text}");
        }
    }
}

#[tokio::test]
async fn events_of_runs_name_lock_holder_reason_and_advice() {
    let (stack, lock) = (stack().await, unique("events"));
    let mut feed = stack.feed(&lock).await;
    let input = stack.batch_input(&lock).seconds(0.3).with("maxQueue", 1);
    let first = at_work(&stack, &input.clone().seconds(60.0).queued()).await;

    let skip = stack.batch_input(&lock);
    assert_eq!(stack.run(&skip, 20).await.answer(), "skipped");
    let skipped = feed.wait(&stack, "Lockstep Run Skipped", 15).await;
    let reason = skipped["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&first.arn), "{skipped}");

    let next = in_queue(&stack, &input, 1).await;
    let full = stack.run(&input.clone().queued(), 20).await;
    assert_eq!(full.error, "Lockstep.QueueFull", "{full:?}");
    let queue_full = feed.wait(&stack, "Lockstep Queue Full", 15).await;
    assert_eq!(queue_full["holder"], full.arn, "{queue_full}");

    let killed = now();
    stack.abort(&first.arn).await;
    let recovered = feed.wait(&stack, "Lockstep Run Recovered", 20).await;
    assert_eq!(recovered["holder"], first.arn, "{recovered}");
    assert_eq!(recovered["token"], first.token, "{recovered}");
    runs_after(&stack, "StopExecution", &lock, &next, killed).await;
    for event in [&skipped, &queue_full, &recovered] {
        assert_eq!(event["lock"], lock);
        assert_eq!(event["table"], stack.output("LockTableName"));
        let advice = event["advice"].as_str().unwrap_or_default();
        assert!(!advice.is_empty(), "{event}");
    }
}

/// Where stacks share an event bus, the rules of a stack take the events of its own lock table and
/// those that name no table.
#[tokio::test]
async fn the_events_of_another_stack_reach_neither_the_topic_nor_the_log() {
    let (stack, lock) = (stack().await, unique("neighbour"));
    let mut mailbox = stack.mailbox().await;
    let own = stack.output("LockTableName");
    let reasons = ["of another", "of this one", "of an older command"];
    let entries = reasons.map(|reason| {
        let message = json!({
            "version": "1.0", "source": "custom",
            "content": { "title": lock, "description": reason, "textType": "client-markdown" },
            "metadata": { "threadId": lock, "eventType": "Lockstep Lease Lost" },
        });
        let mut detail = json!({ "lock": lock, "reason": reason, "advice": "a", "message": message });
        match reason {
            "of another" => detail["table"] = json!("another-stack-locks"),
            "of this one" => detail["table"] = json!(own),
            _ => {}
        }
        json!({ "Source": "lockstep", "DetailType": "Lockstep Lease Lost", "Detail": detail.to_string() })
    });

    let put = json!({ "Entries": entries });
    stack.call("events", "AWSEvents.PutEvents", put).await;

    let texts = |found: Vec<String>| {
        let mut known = reasons.to_vec();
        known.retain(|reason| found.iter().any(|text| text.contains(reason)));
        known
    };
    let messages = mailbox.messages(&stack, &lock, 3, 10).await;
    let messages = texts(messages.iter().map(ToString::to_string).collect());
    assert_eq!(messages, reasons[1..]);
    let group = stack.output("EventLogGroupName");
    let ask = json!({ "logGroupName": group, "filterPattern": format!("{lock:?}") });
    let logged = stack.log_events(ask).await;
    let logged = texts(logged.iter().map(ToString::to_string).collect());
    assert_eq!(logged, reasons[1..]);
}

#[tokio::test]
async fn a_rule_gets_the_freeze_of_a_lock() {
    let (stack, lock) = (stack().await, unique("freeze"));
    let mut feed = stack.feed(&lock).await;
    let input = stack.batch_input(&lock).short_lease().seconds(8.0);
    let hung = input
        .with("stalePolicy", "hold")
        .with("noProgressSeconds", 2);
    let first = at_work(&stack, &hung).await;
    let frozen = feed.wait(&stack, "Lockstep Lock Frozen", 20).await;
    assert_eq!(frozen["holder"], first.arn, "{frozen}");
    let advice = frozen["advice"].as_str().unwrap_or_default();
    assert!(advice.contains("resume the lock"), "{frozen}");
    assert!(stack.wait(&first.arn, 30).await.ran());
    stack.resume_lock(&lock, "it was only slow").await;
    until("free lock", 10, async || stack.held(&lock).await == 0).await;
}
