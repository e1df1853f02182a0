//! A lock that is restored from a backup, as docs/runbook.md says.

use crate::support::{at_work, in_queue};
use crate::{ran_alone_but_stopped, stack};
use lockstep_tests::stack::{Event, Stack, runs, unique, until};
use serde_json::json;

#[tokio::test]
async fn after_a_restore_of_a_paused_lock_no_run_starts_beside_another() {
    let (stack, lock) = (stack().await, unique("restored"));
    let input = stack.batch_input(&lock).short_lease().seconds(0.5);
    let patient = input.clone().with("waitIntervalSeconds", 5);
    let before = at_work(&stack, &input.clone().seconds(4.0)).await;
    let backup = stack.items(&lock).await;
    assert!(stack.wait(&before.arn, 30).await.ran());
    let slow = stack.batch_input(&lock).with("heartbeatSeconds", 15);
    let unknown = stack.start(&slow.seconds(90.0)).await;
    let records = stack.wait_for(&lock, Event::Start, 2, 30).await;
    let waits = in_queue(&stack, &patient, 1).await;

    stack.restore(&lock, backup).await;
    stack.pause_lock(&lock, "restored from a backup").await;

    // Without the pause, this run would find the revived holder dead, and start beside the run that
    // the table does not know.
    let asks = stack.start(&input.clone().queued()).await;

    // The table does not know the grant of this run: its next heartbeat answers LeaseLost, and its
    // work is stopped.
    let cut = stack.wait(&unknown, 40).await;
    assert_eq!(cut.error, "Lockstep.LeaseLost", "{cut:?}");
    let task = &runs(&records)[1].task;
    stack.wait_task(task, "STOPPED", 60).await;
    // The run of the backup holds the lock again, although it has ended.
    sweep_until_free(&stack, &lock).await;
    let started = stack.records(&lock).await;
    let starts = started.iter().filter(|line| line.event == Event::Start);
    assert_eq!(starts.count(), 2, "none starts before the resume");
    stack.resume_lock(&lock, "runs checked").await;

    for arn in [&asks, &waits] {
        assert!(stack.wait(arn, 60).await.ran(), "{arn}");
    }
    ran_alone_but_stopped(&stack, &lock, 4, &[&unknown]).await;
}

#[tokio::test]
async fn a_lock_record_that_is_restored_alone_is_freed() {
    let (stack, lock) = (stack().await, unique("put-back"));
    let input = stack.batch_input(&lock).short_lease();
    let run = at_work(&stack, &input.clone().seconds(4.0)).await;
    let mut backup = stack.items(&lock).await;
    backup.retain(|item| item["sk"].as_s().is_ok_and(|key| key == "lock"));
    assert!(stack.wait(&run.arn, 30).await.ran());
    let later = stack.items(&lock).await.into_iter();
    let later = later.filter(|item| item["sk"].as_s().is_ok_and(|key| key != "lock"));

    stack.restore(&lock, later.chain(backup).collect()).await;
    stack.pause_lock(&lock, "put back from a backup").await;
    sweep_until_free(&stack, &lock).await;
    stack.resume_lock(&lock, "runs checked").await;

    assert!(stack.run(&input.seconds(0.5), 30).await.ran());
    let mut outcomes = stack.outcomes(&lock).await;
    outcomes.retain(|outcome| !["paused", "resumed"].contains(&&**outcome));
    assert_eq!(outcomes, ["succeeded", "succeeded"]);
}

async fn sweep_until_free(stack: &Stack, lock: &str) {
    let reaper = stack.output("ReaperFunctionArn");
    until("the revived holder is freed", 60, async || {
        let swept = stack.invoke(reaper, &json!({ "sweep": true })).await;
        assert!(swept.is_ok(), "{swept:?}");
        stack.held(lock).await == 0
    })
    .await;
}
