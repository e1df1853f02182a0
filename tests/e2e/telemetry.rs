//! What the functions log.

use crate::stack;
use lockstep_tests::stack::{Stack, unique};
use serde_json::{Value, json};

/// The lines of a function's log that name `lock`.
async fn lines(stack: &Stack, function: &str, lock: &str) -> Vec<Value> {
    let group = format!("/aws/lambda/lockstep-{function}");
    let ask = json!({ "logGroupName": group, "limit": 10_000 });
    let page = stack
        .call("logs", "Logs_20140328.FilterLogEvents", ask)
        .await;
    let events = page["events"].as_array().cloned().unwrap_or_default();
    let texts = events.iter().filter_map(|event| event["message"].as_str());
    let own = texts.filter(|text| text.contains(lock));
    own.filter_map(|text| serde_json::from_str(text.trim()).ok())
        .collect()
}

#[tokio::test]
async fn functions_log_lock_holder_and_token_and_metrics_but_never_a_task_token() {
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
