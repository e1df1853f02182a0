//! Heartbeats that fail with names that no list has: the batch works on, and its lock is kept.

use crate::stack;
use crate::support::{at_work, in_queue};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Failure, Stack, unique};

/// Of a deployment, of a key, of a policy that is being changed, and of a bug.
const UNLISTED: [Failure; 4] = [
    Failure::Named("Lambda.ResourceConflictException"),
    Failure::Named("Lambda.KMSAccessDeniedException"),
    Failure::Named("States.Permissions"),
    Failure::Panic,
];

#[tokio::test]
async fn a_heartbeat_that_fails_once_with_any_name_does_not_disturb_the_batch() {
    let stack = stack().await;
    let fails = |index: usize| fails_once(&stack, UNLISTED[index]);
    tokio::join!(fails(0), fails(1), fails(2), fails(3));
}

async fn fails_once(stack: &Stack, failure: Failure) {
    let lock = unique("beat");
    let input = stack.batch_input(&lock);
    let input = input.with("leaseSeconds", 6).with("heartbeatSeconds", 2);
    let first = at_work(stack, &input.clone().seconds(10.0)).await;
    let heartbeat = stack.output("HeartbeatFunctionArn");
    stack.fail_next(heartbeat, 1, failure, &lock).await;
    stack.wait_fired(&lock, 1, 15).await;
    let ended = stack.wait(&first.arn, 40).await;
    assert!(ended.ran(), "{failure:?}: {ended:?}");
    stack.judge(&lock, &Expected::permits(1)).await;
}

#[tokio::test]
async fn no_failure_of_a_heartbeat_frees_a_lock_whose_container_still_works() {
    let stack = stack().await;
    let fails = |index: usize| fails_for_long(&stack, UNLISTED[index]);
    tokio::join!(fails(0), fails(1), fails(2), fails(3));
}

/// Three leases of failing heartbeats, a waiter, and a batch that ignores SIGTERM: it may be stopped
/// for its silence, and then it works for ten more seconds.
async fn fails_for_long(stack: &Stack, failure: Failure) {
    let lock = unique("beats");
    let input = stack.batch_input(&lock).short_lease();
    let long = input.clone().seconds(14.0).env("BATCH_IGNORE_SIGTERM", "1");
    let first = at_work(stack, &long).await;
    let next = in_queue(stack, &input.seconds(0.3), 1).await;
    let heartbeat = stack.output("HeartbeatFunctionArn");
    stack.fail_for(heartbeat, 9, failure, &lock).await;
    let ended = stack.wait(&first.arn, 60).await;
    eprintln!(
        "figure: 9 s of {failure:?}: {} {}",
        ended.status, ended.error
    );
    let next = stack.wait(&next, 60).await;
    assert!(next.ran(), "{failure:?}: {next:?}");
    stack
        .judge(&lock, &Expected::permits(1).stops(&first.arn))
        .await;
}
