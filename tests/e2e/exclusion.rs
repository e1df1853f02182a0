//! At most `permits` runs of a lock work at once.

use crate::{one_that_ran, ran_alone, stack};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Event, unique};

#[tokio::test]
async fn ten_at_once_run_one_batch_and_nine_are_skipped_naming_the_holder() {
    let (stack, lock) = (stack().await, unique("ten"));
    let input = stack.batch_input(&lock).seconds(4.0);
    let arns = stack.start_all(&vec![input; 10]).await;
    let (winner, others) = one_that_ran(stack.wait_all(&arns, 60).await);
    for other in others {
        assert_eq!(other.status, "SUCCEEDED", "{other:?}");
        assert_eq!(other.answer(), "skipped", "{other:?}");
        assert_eq!(other.output["holder"], winner.arn.as_str());
        assert_eq!(other.output["queueLength"], 0, "{other:?}");
        let message = other.output["message"].as_str().unwrap_or_default();
        assert!(message.contains(&winner.arn), "{message}");
    }
    ran_alone(&stack, &lock, 1).await;
    assert_eq!(stack.held(&lock).await, 0);
}

#[tokio::test]
async fn one_tick_delivered_ten_times_at_once_runs_once() {
    let (stack, lock) = (stack().await, unique("tick"));
    let input = stack.batch_input(&lock).seconds(4.0);
    let input = input.with("runKey", "schedule#2026-03-01T06:00:00Z");
    let arns = stack.start_all(&vec![input; 10]).await;
    let (winner, others) = one_that_ran(stack.wait_all(&arns, 60).await);
    for other in others {
        assert_eq!(other.answer(), "duplicate", "{other:?}");
        assert_eq!(other.output["holder"], winner.arn.as_str());
    }
    ran_alone(&stack, &lock, 1).await;
}

#[tokio::test]
async fn a_free_permit_does_not_let_one_tick_run_twice() {
    let (stack, lock) = (stack().await, unique("twice"));
    // The others look at the run for 3 s before they are answered, and once more if it renewed its lease
    // meanwhile. It has to be at work all that time.
    let input = stack.batch_input(&lock).seconds(20.0).with("permits", 2);
    let input = input.with("runKey", "schedule#2026-03-01T06:00:00Z");
    let arns = stack.start_all(&vec![input; 3]).await;
    let (winner, others) = one_that_ran(stack.wait_all(&arns, 60).await);
    for other in others {
        assert_eq!(other.answer(), "duplicate", "{other:?}");
        assert_eq!(other.output["holder"], winner.arn.as_str());
        assert!(other.output["endedAt"].is_null(), "{other:?}");
    }
    ran_alone(&stack, &lock, 1).await;
}

#[tokio::test]
async fn a_skip_fails_the_execution_where_the_caller_asked_for_that() {
    let (stack, lock) = (stack().await, unique("fail"));
    let input = stack.batch_input(&lock).seconds(4.0);
    let first = stack.start(&input).await;
    stack.wait_for(&lock, Event::Start, 1, 30).await;
    for (field, value) in [("onSkip", "fail"), ("overlap", "fail")] {
        let ended = stack.run(&input.clone().with(field, value), 20).await;
        assert_eq!(ended.status, "FAILED", "{field}: {ended:?}");
        assert_eq!(ended.error, "Lockstep.LockHeld", "{field}: {ended:?}");
        assert!(ended.cause.contains(&first), "{field}: {}", ended.cause);
    }
    assert!(stack.wait(&first, 30).await.ran());
    ran_alone(&stack, &lock, 1).await;
}

#[tokio::test]
async fn two_permits_let_two_run_at_once_and_skip_the_third() {
    let (stack, lock) = (stack().await, unique("permits"));
    let input = stack.batch_input(&lock).seconds(5.0).with("permits", 2);
    let arns = stack.start_all(&vec![input.clone(); 3]).await;
    stack.wait_for(&lock, Event::Start, 2, 30).await;
    let other_capacity = stack.run(&input.with("permits", 3), 20).await;
    assert_eq!(other_capacity.status, "FAILED", "{other_capacity:?}");
    assert_eq!(other_capacity.error, "Lockstep.PermitsMismatch");
    let ended = stack.wait_all(&arns, 60).await;
    let ran = ended.iter().filter(|ended| ended.ran()).count();
    let skipped = ended.iter().filter(|ended| ended.answer() == "skipped");
    assert_eq!((ran, skipped.count()), (2, 1), "{ended:?}");
    let containers = stack.judge(&lock, &Expected::permits(2)).await;
    assert_eq!(containers.len(), 2, "{containers:?}");
    // Checks that both ran at once. Otherwise the test would say nothing about two permits.
    let alone = Expected::permits(1).violations(&containers);
    assert!(!alone.is_empty(), "{containers:?}");
}
