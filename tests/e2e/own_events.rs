//! Lockstep's own events reach a rule on source `lockstep`.

use crate::stack;
use crate::support::{at_work, in_queue, runs_after};
use lockstep_tests::stack::{now, unique, until};

#[tokio::test]
async fn a_rule_gets_what_became_of_runs_with_lock_holder_reason_and_advice() {
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
        let advice = event["advice"].as_str().unwrap_or_default();
        assert!(!advice.is_empty(), "{event}");
    }
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
