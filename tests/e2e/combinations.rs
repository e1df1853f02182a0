//! Pairs of features in one run. Each feature also has tests of its own.

use crate::stack;
use crate::support::{at_work, in_queue};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Stack, pause, unique, until};

const OVERLAPS: [&str; 4] = ["skip", "fail", "queue", "replace"];

#[tokio::test]
async fn a_tick_that_is_delivered_twice_runs_once_under_every_overlap() {
    let stack = stack().await;
    let [one, two, three, four] = OVERLAPS.map(|overlap| delivered_twice(&stack, overlap));
    tokio::join!(one, two, three, four);
}

async fn delivered_twice(stack: &Stack, overlap: &str) {
    let lock = unique("twice");
    let input = stack
        .batch_input(&lock)
        .seconds(6.0)
        .with("overlap", overlap);
    let tick = input.with("runKey", "2026-03-01T06:00:00Z");
    let first = at_work(stack, &tick).await;

    let second = stack.run(&tick, 20).await;

    let answer = (second.status.as_str(), second.answer());
    assert_eq!(answer, ("SUCCEEDED", "duplicate"), "{overlap}: {second:?}");
    let ended = stack.wait(&first.arn, 30).await;
    assert!(ended.ran(), "{overlap}: {ended:?}");
    let containers = stack.judge(&lock, &Expected::permits(1)).await;
    assert_eq!(containers.len(), 1, "{overlap}: {containers:?}");
}

#[tokio::test]
async fn a_child_that_asks_for_its_parents_lock_is_refused_by_name() {
    let (stack, lock) = (stack().await, unique("parent"));
    let parent = at_work(&stack, &stack.batch_input(&lock).seconds(15.0)).await;

    for overlap in OVERLAPS {
        let child = stack.batch_input(&lock).with("overlap", overlap);
        let child = child.with(
            "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID",
            parent.arn.as_str(),
        );

        let refused = stack.run(&child, 20).await;

        assert_eq!(refused.error, "Lockstep.LockHeld", "{overlap}: {refused:?}");
        assert!(
            refused.cause.contains(&parent.arn),
            "{overlap}: {refused:?}"
        );
    }
    let ended = stack.wait(&parent.arn, 40).await;
    assert!(ended.ran(), "{ended:?}");
    stack.judge(&lock, &Expected::permits(1)).await;
}

/// Returns a batch that exceeds `limit` after five seconds, and whose heartbeats are ten minutes
/// apart.
fn seldom(stack: &Stack, lock: &str, limit: &str, policy: &str) -> BatchInput {
    let input = stack.batch_input(lock).with("leaseSeconds", 1_800);
    let input = input
        .with("heartbeatSeconds", 600)
        .with("maxHeartbeatSeconds", 600);
    input.with("stalePolicy", policy).with(limit, 5)
}

/// `maxRunSeconds` under `terminate` is no case here: Step Functions itself times that work out.
#[tokio::test]
async fn a_limit_that_is_exceeded_between_two_heartbeats_is_found_by_the_sweep() {
    let stack = stack().await;
    tokio::join!(
        frees(&stack, "noProgressSeconds", "terminate"),
        frees(&stack, "noProgressSeconds", "yield"),
        frees(&stack, "maxRunSeconds", "yield"),
        freezes(&stack, "maxRunSeconds"),
        freezes(&stack, "noProgressSeconds"),
    );
}

async fn frees(stack: &Stack, limit: &str, policy: &str) {
    let lock = unique("seldom");
    let first = at_work(stack, &seldom(stack, &lock, limit, policy).seconds(240.0)).await;
    let next = in_queue(stack, &stack.batch_input(&lock).seconds(0.3), 1).await;

    let next = stack.wait(&next, 180).await;

    assert!(next.ran(), "{limit}, {policy}: {next:?}");
    let expected = Expected::permits(1);
    let expected = match policy {
        "yield" => expected.runs_beside(&first.arn),
        _ => expected.stops(&first.arn),
    };
    stack.abort(&first.arn).await;
    stack.wait(&first.arn, 30).await;
    stack.wait_task(&first.task, "STOPPED", 60).await;
    stack.judge(&lock, &expected.stops(&first.arn)).await;
}

async fn freezes(stack: &Stack, limit: &str) {
    let lock = unique("seldom-held");
    let first = at_work(stack, &seldom(stack, &lock, limit, "hold").seconds(200.0)).await;
    let ask = stack.batch_input(&lock).seconds(0.3);

    let refuses = async || {
        pause(5_000).await;
        let refused = stack.run(&ask, 30).await;
        assert!(!refused.ran(), "the lock was free: {refused:?}");
        refused.error == "Lockstep.LockFrozen"
    };
    until("freeze", 180, refuses).await;

    let ended = stack.wait(&first.arn, 240).await;
    assert!(ended.ran(), "{limit}: {ended:?}");
    stack.judge(&lock, &Expected::permits(1)).await;
}

#[tokio::test]
async fn a_run_that_queues_with_other_permits_waits_for_the_holder() {
    let stack = stack().await;
    for (held, asked) in [(1, 2), (2, 1)] {
        let lock = unique("capacity");
        let input = stack.batch_input(&lock).seconds(4.0);
        let holder = at_work(&stack, &input.clone().with("permits", held)).await;

        let next = input.clone().queued().with("permits", asked);
        let next = stack.start(&next.seconds(0.5)).await;

        for arn in [&holder.arn, &next] {
            assert!(stack.wait(arn, 60).await.ran(), "{held} and {asked}: {arn}");
        }
        let containers = stack.judge(&lock, &Expected::permits(1)).await;
        assert_eq!(containers.len(), 2, "{containers:?}");
    }
}

/// The second permit is free all the time: only the run key makes the next run wait.
#[tokio::test]
async fn the_next_run_of_a_key_waits_for_the_task_that_is_being_stopped() {
    let stack = stack().await;
    for overlap in ["skip", "queue"] {
        let lock = unique("key-ending");
        let input = stack.batch_input(&lock).with("permits", 2);
        let tick = input.with("runKey", "tick").with("overlap", overlap);
        let stubborn = tick.clone().env("BATCH_IGNORE_SIGTERM", "1");
        let first = at_work(&stack, &stubborn.seconds(60.0)).await;
        stack.abort(&first.arn).await;

        let second = stack.run(&tick.clone().seconds(0.5), 90).await;

        assert!(second.ran(), "{overlap}: {second:?}");
        // The run key lets one run work at a time, although the lock has two permits.
        let expected = Expected::permits(1).stops(&first.arn);
        let containers = stack.judge(&lock, &expected).await;
        assert_eq!(containers.len(), 2, "{overlap}: {containers:?}");
    }
}
