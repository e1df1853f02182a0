//! Hundreds of executions at once on one lock. `LOCKSTEP_STORM` sets how many; the default is 500.

use crate::support::{alone, connect};
use lockstep::config::variable;
use lockstep::domain::{HolderId, WaiterId};
use lockstep_tests::stack::{Functions, Stack, Turn, now, unique};
use lockstep_tests::wire::Wire;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn size() -> usize {
    let given = variable("LOCKSTEP_STORM").and_then(|text| text.parse().ok());
    given.unwrap_or(500)
}

/// Returns the stack, functions whose requests to DynamoDB are counted, and the wire that counts
/// them.
async fn counted() -> (Stack, Functions, Wire) {
    let stack = connect().await;
    let wire = Wire::to(stack.setting("AWS_ENDPOINT_URL_DYNAMODB")).await;
    let functions = stack.functions_over(&wire).await;
    (stack, functions, wire)
}

/// Prints the requests since its last report.
fn tell(what: &str, count: usize, began: u64, wire: &Wire) {
    let (counts, took) = (wire.take_counts(), now() - began);
    let each = f64::from(counts.values().sum::<u32>()) / count as f64;
    eprintln!(
        "figure: storm of {count}, {what}: {took} ms; {each:.2} requests to DynamoDB each: {counts:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_queue_at_once_run_in_the_order_of_their_tickets() {
    let (count, lock) = (size(), unique("storm"));
    let _alone = alone().await;
    let (stack, functions, wire) = counted().await;
    let machine = stack.small_machine(&functions, Turn::Queue).await;
    let first = json!({ "lock": lock, "holder": "first", "leaseSeconds": 3600 });
    let acquire = stack.output("AcquireLockFunctionArn");
    let first = stack.invoke(acquire, &first).await.expect("a grant");

    let began = now();
    let input = json!({ "lock": lock, "overlap": "queue", "maxQueue": 500 });
    let arns = stack.start_many(&machine, &input, count).await;
    stack.wait_waiting(&lock, count, 200).await;
    tell("all in the queue", count, began, &wire);
    let tickets = tickets(&stack, &lock).await;

    let released = now();
    let release = json!({ "grant": first["grant"], "outcome": "succeeded" });
    let function = stack.output("ReleaseLockFunctionArn");
    stack.invoke(function, &release).await.expect("a release");
    let ended = stack.wait_all(&arns, 400).await;
    let failed: Vec<_> = ended.iter().filter(|e| e.status != "SUCCEEDED").collect();
    assert!(
        failed.is_empty(),
        "{} failed: {:?}",
        failed.len(),
        failed[0]
    );
    tell(
        "all have run since the first release",
        count,
        released,
        &wire,
    );

    let mut by_token: Vec<_> = ended.iter().map(|e| (token(&e.output), &e.arn)).collect();
    by_token.sort();
    let order: Vec<_> = by_token.iter().map(|(_, arn)| tickets[*arn]).collect();
    assert!(
        order.is_sorted_by(|a, b| a < b),
        "tickets by turn: {order:?}"
    );
    assert_eq!(order.len(), count);
    assert_eq!(stack.held(&lock).await, 0);
    assert_eq!(stack.waiting(&lock).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_starts_at_once_with_one_run_key_one_runs() {
    let (count, lock) = (size(), unique("skips"));
    let _alone = alone().await;
    let (stack, functions, wire) = counted().await;
    let machine = stack.small_machine(&functions, Turn::Skip).await;
    let began = now();
    let input = json!({ "lock": lock, "overlap": "skip", "runKey": "tick" });
    let arns = stack.start_many(&machine, &input, count).await;
    let ended = stack.wait_all(&arns, 300).await;
    tell("skipped", count, began, &wire);
    let mut answers = BTreeMap::new();
    for ended in &ended {
        assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
        *answers.entry(ended.answer()).or_insert(0) += 1;
    }
    eprintln!("figure: {answers:?}");
    assert_eq!(answers["granted"], 1, "{answers:?}");
    let without = ["skipped", "duplicate"].map(|word| answers.get(word).copied().unwrap_or(0));
    assert_eq!(without.iter().sum::<usize>(), count - 1, "{answers:?}");
    assert_eq!(stack.held(&lock).await, 0);
}

fn token(answer: &Value) -> u64 {
    let token = answer["grant"]["token"].as_u64();
    token.unwrap_or_else(|| panic!("no grant in {answer}"))
}

/// Returns the ticket of each waiter by its execution ARN.
pub(crate) async fn tickets(stack: &Stack, lock: &str) -> BTreeMap<String, i64> {
    let item = stack.lock_item(lock).await.expect("a record");
    let queue = item["queue"].as_m().expect("a queue").clone();
    let items = stack.items(lock).await;
    let holders = items
        .iter()
        .filter_map(|item| item.get("holder")?.as_s().ok());
    holders
        .filter_map(|holder| {
            let id = WaiterId::of(&HolderId::new(holder).ok()?);
            let ticket = queue.get(id.as_str())?.as_n().ok()?;
            Some((holder.clone(), ticket.parse().ok()?))
        })
        .collect()
}
