//! Waiters whose side item was removed by its TTL, a day after their last registration.

use crate::functions::{Functions, key};
use crate::scene::{ask_with, execution};
use lockstep::domain::{Change, ExecutionEnd, Guard, HolderId, Update, WaiterDrop, WaiterId};
use lockstep::store::LockStore;
use serde_json::json;

/// Deletes the side item of the waiter `holder`, as DynamoDB does after its TTL.
async fn expire(functions: &Functions, holder: &str) {
    let id = WaiterId::of(&HolderId::new(holder).unwrap());
    let task_token = None;
    let change = Change {
        guard: Guard(Vec::new()),
        update: Update::Keep,
        runs: Vec::new(),
        act: None,
        waiter: Some(WaiterDrop { id, task_token }),
        read_back: false,
    };
    functions
        .store
        .commit(&key("nightly"), &change)
        .await
        .unwrap();
}

/// The event of the end of `b` was lost. On its first day, a run that asks removes it from the queue.
#[tokio::test]
async fn a_run_takes_the_place_of_a_waiter_that_died_days_ago() {
    let functions = Functions::running(&["b", "c"]);
    functions.ran("nightly", "x").await;
    functions.pause("upgrade").await;
    let catch_up = |name: &str| {
        let token = format!("token-{name}");
        ask_with(name, json!({ "catchUp": "once", "taskToken": token }))
    };
    assert_eq!(functions.status(catch_up("b")).await, "queued");
    functions.wait(5);
    functions.end("b", ExecutionEnd::Aborted);
    functions.wait(100_000);
    expire(&functions, &execution("b")).await;

    assert_eq!(functions.status(catch_up("c")).await, "queued");
}
