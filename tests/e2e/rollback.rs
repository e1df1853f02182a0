//! Functions that are older than the definition that calls them: the stack was rolled back, or a
//! long run was started by the next version.

use crate::stack;
use crate::support::in_queue;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Event, Stack, unique};
use serde_json::{Value, json};

/// Adds a field that no function knows to each request to `functions` in a definition. Returns the
/// number of these requests.
fn extend(definition: &mut Value, functions: &[&str]) -> usize {
    let mut count = 0;
    let is_theirs = |value: &Value| {
        let name = value["FunctionName"].as_str();
        name.is_some_and(|name| functions.contains(&name))
    };
    if is_theirs(definition) {
        match &mut definition["Payload"] {
            Value::Object(payload) => {
                payload.insert("ofTheNextVersion".into(), json!({ "since": 2 }));
            }
            Value::String(payload) => {
                let inner = payload.trim_start_matches("{%").trim_end_matches("%}");
                let field = "{'ofTheNextVersion': {'since': 2}}";
                *payload = format!("{{% $merge([{inner}, {field}]) %}}");
            }
            other => panic!("a payload {other}"),
        }
        count += 1;
    }
    let inner: Vec<_> = match definition {
        Value::Object(members) => members.values_mut().collect(),
        Value::Array(members) => members.iter_mut().collect(),
        _ => Vec::new(),
    };
    count
        + inner
            .into_iter()
            .map(|value| extend(value, functions))
            .sum::<usize>()
}

/// Creates exclusive-run as the next version has it, whose heartbeats and releases have one field more.
async fn of_the_next_version(stack: &Stack) -> String {
    let functions =
        ["HeartbeatFunctionArn", "ReleaseLockFunctionArn"].map(|name| stack.output(name));
    stack
        .changed_machine(|definition| {
            let changed = extend(definition, &functions);
            assert!(changed >= 4, "{changed} requests of heartbeat and release");
        })
        .await
}

#[tokio::test]
async fn a_batch_outlives_a_rollback_of_the_heartbeat_and_the_release_function() {
    let (stack, lock) = (stack().await, unique("rollback"));
    let machine = of_the_next_version(&stack).await;
    let input = stack.batch_input(&lock).short_lease();

    let first = stack
        .start_machine(&machine, input.clone().seconds(10.0).json())
        .await;
    stack.wait_for(&lock, Event::Start, 1, 60).await;
    let next = in_queue(&stack, &input.seconds(0.2), 1).await;
    let ended = stack.wait(&first, 60).await;

    assert!(ended.ran(), "three leases long: {ended:?}");
    assert!(stack.wait(&next, 60).await.ran(), "the release lets it in");
    assert_eq!(stack.outcomes(&lock).await, ["succeeded", "succeeded"]);
    stack.judge(&lock, &Expected::permits(1)).await;
}

#[tokio::test]
async fn a_run_that_waits_under_a_later_definition_keeps_its_place() {
    let (stack, lock) = (stack().await, unique("rollback-waits"));
    let machine = of_the_next_version(&stack).await;
    let input = stack.batch_input(&lock).short_lease();
    let first = stack.start(&input.clone().seconds(6.0)).await;
    stack.wait_for(&lock, Event::Start, 1, 60).await;

    let later = stack
        .start_machine(&machine, input.clone().queued().seconds(1.0).json())
        .await;
    stack.wait_waiting(&lock, 1, 20).await;
    let last = in_queue(&stack, &input.seconds(0.2), 2).await;

    for arn in [&first, &later, &last] {
        assert!(stack.wait(arn, 60).await.ran(), "{arn}");
    }
    let containers = stack.judge(&lock, &Expected::permits(1)).await;
    let holders: Vec<_> = containers.iter().map(|one| &one.holder).collect();
    assert_eq!(holders, [&first, &later, &last]);
}

#[tokio::test]
async fn a_waiting_run_whose_request_is_refused_fails_before_its_work() {
    let (stack, lock) = (stack().await, unique("rollback-refused"));
    let acquire = stack.output("AcquireLockFunctionArn");
    let machine = stack.changed_machine(|definition| {
        let changed = extend(&mut definition["States"]["Wait For Turn"], &[acquire]);
        assert_eq!(changed, 1, "one request that waits");
    });
    let machine = machine.await;
    let input = stack.batch_input(&lock).queued();
    let first = stack.start(&input.clone().seconds(5.0)).await;
    stack.wait_for(&lock, Event::Start, 1, 60).await;

    let refused = stack
        .start_machine(&machine, input.clone().seconds(0.2).json())
        .await;
    let refused = stack.wait(&refused, 60).await;

    assert_eq!(refused.status, "FAILED", "{refused:?}");
    assert_eq!(refused.error, "Lockstep.InvalidRequest", "{refused:?}");
    assert!(refused.cause.contains("ofTheNextVersion"), "{refused:?}");
    assert_eq!(stack.waiting(&lock).await, 0);
    assert!(stack.wait(&first, 60).await.ran());
    let containers = stack.judge(&lock, &Expected::permits(1)).await;
    assert_eq!(containers.len(), 1, "{containers:?}");
}
