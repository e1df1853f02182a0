//! A workflow of a user's own that calls the functions, under default parameters, and dies.

use crate::stack;
use lockstep_tests::stack::{Stack, Turn, deadline, now, pause, unique};
use serde_json::{Value, json};

/// An execution of a workflow that holds `lock` and would work for long.
async fn holds(stack: &Stack, lock: &str) -> String {
    let machine = stack.long_machine().await;
    let arn = stack.start_machine(&machine, &request(lock)).await;
    let deadline = deadline(20);
    while stack.held(lock).await == 0 {
        assert!(now() < deadline, "{arn} takes no lock");
        pause(50).await;
    }
    arn
}

fn request(lock: &str) -> Value {
    json!({ "lock": lock, "leaseSeconds": 6, "heartbeatSeconds": 2 })
}

#[tokio::test]
async fn the_event_of_its_end_frees_the_lock() {
    let (stack, lock) = (stack().await, unique("own-event"));
    let arn = holds(&stack, &lock).await;
    let killed = now();
    stack.abort(&arn).await;

    let free = stack.wait_free(&lock, 15).await;

    eprintln!("figure: own workflow aborted, events on: free {free} ms later");
    let history = stack.outcomes(&lock).await;
    assert_eq!(history, ["recovered"], "{} ms", now() - killed);
}

#[tokio::test]
async fn the_next_that_asks_finds_it_dead_when_its_event_is_lost() {
    let (stack, lock) = (stack().await, unique("own-asked"));
    stack.drop_events(&lock).await;
    let arn = holds(&stack, &lock).await;
    let killed = now();
    stack.abort(&arn).await;

    let machine = stack.small_machine(&stack.functions(), Turn::Poll).await;
    let next = stack.start_machine(&machine, &request(&lock)).await;
    let ended = stack.wait(&next, 30).await;

    eprintln!(
        "figure: own workflow aborted, events off: the next has run {} ms later",
        now() - killed
    );
    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    stack.deliver_events(&lock).await;
    assert_eq!(stack.outcomes(&lock).await, ["recovered", "succeeded"]);
}
