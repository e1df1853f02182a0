//! Callers that lie: what a forged holder can do. No item of a lock shows a task token.

use crate::stack;
use crate::support::{at_work, in_queue};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep_tests::stack::{Stack, deadline, now, pause, unique};
use serde_json::{Value, json};

/// Acquires the unused `lock` in the name of `holder`, with a lease of three seconds.
async fn forge(stack: &Stack, lock: &str, holder: &str) {
    let request =
        json!({ "lock": lock, "holder": holder, "leaseSeconds": 3, "heartbeatSeconds": 1 });
    let acquire = stack.output("AcquireLockFunctionArn");
    let answer = stack.invoke(acquire, &request).await.expect("an answer");
    assert_eq!(answer["status"], "granted", "{answer}");
}

/// Asks for `lock` twice a second until it is free or frozen. Returns the last status or error
/// name.
async fn ask_until_over(stack: &Stack, lock: &str) -> Value {
    let acquire = stack.output("AcquireLockFunctionArn");
    let deadline = deadline(60);
    loop {
        let ask = json!({ "lock": lock, "holder": "somebody", "leaseSeconds": 3 });
        match stack.invoke(acquire, &ask).await {
            Ok(answer) if answer["status"] == "skipped" => {}
            Ok(answer) => return answer["status"].clone(),
            Err(error) => return json!(error.error_type),
        }
        assert!(now() < deadline, "{lock} stays held");
        pause(500).await;
    }
}

#[tokio::test]
async fn a_forged_holder_is_not_stopped_and_freezes_only_its_own_lock() {
    let (stack, lock) = (stack().await, unique("victim"));
    let input = stack.batch_input(&lock).short_lease();
    let victim = at_work(&stack, &input.clone().seconds(40.0)).await;
    let unused = unique("forged");
    let began = now();

    forge(&stack, &unused, &victim.arn).await;
    let end = ask_until_over(&stack, &unused).await;

    eprintln!("figure: a forged holder: {end} after {} ms", now() - began);
    assert_eq!(end, "Lockstep.LockFrozen");
    assert!(
        stack.wait(&victim.arn, 60).await.ran(),
        "the victim goes on"
    );
    assert_eq!(stack.outcomes(&lock).await, ["succeeded"]);
}

#[tokio::test]
async fn a_forged_task_as_holder_is_not_stopped() {
    let (stack, lock) = (stack().await, unique("victim-task"));
    let input = stack.batch_input(&lock).short_lease();
    let victim = at_work(&stack, &input.clone().seconds(25.0)).await;
    let unused = unique("forged-task");
    let task = victim.task.as_str();

    forge(&stack, &unused, &format!("{task}#main/forged")).await;
    let end = ask_until_over(&stack, &unused).await;

    assert_eq!(
        end, "granted",
        "the forged lease expires, and no task is stopped"
    );
    assert!(
        stack.wait(&victim.arn, 60).await.ran(),
        "the victim goes on"
    );
}

#[tokio::test]
async fn no_item_of_a_lock_shows_a_task_token() {
    let (stack, lock) = (stack().await, unique("sealed"));
    let input = stack.batch_input(&lock).short_lease();
    let first = at_work(&stack, &input.clone().seconds(8.0)).await;
    let next = in_queue(&stack, &input.seconds(0.2), 1).await;

    let items = stack.items(&lock).await;
    let mut tokens = Vec::new();
    for item in &items {
        collect(&AttributeValue::M(item.clone()), &mut tokens);
    }

    assert_eq!(tokens.len(), 2, "one heartbeat and one waiter: {items:?}");
    for token in tokens {
        assert!(token.starts_with("sealed:"), "{token}");
    }
    assert!(stack.wait(&first.arn, 30).await.ran());
    assert!(
        stack.wait(&next, 30).await.ran(),
        "the sealed token wakes it"
    );
}

fn collect(value: &AttributeValue, tokens: &mut Vec<String>) {
    let AttributeValue::M(members) = value else {
        return;
    };
    for (name, value) in members {
        match value {
            AttributeValue::S(token) if name == "taskToken" => tokens.push(token.clone()),
            value => collect(value, tokens),
        }
    }
}
