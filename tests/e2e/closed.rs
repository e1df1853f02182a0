//! A lock that an operator pauses: holders finish, no new run starts.

use crate::support::{at_work, in_queue, runs_after};
use crate::{ran_alone, stack};
use lockstep_tests::stack::{now, unique};

#[tokio::test]
async fn a_paused_lock_lets_waiters_in_once_it_is_resumed() {
    let (stack, lock) = (stack().await, unique("paused"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(&stack, &input.clone().seconds(3.0)).await;
    stack.pause_lock(&lock, "the database is moved").await;
    let waits = in_queue(&stack, &input, 1).await;
    assert!(stack.wait(&first.arn, 30).await.ran(), "a holder finishes");
    assert_eq!(stack.held(&lock).await, 0, "no run is granted a permit");
    assert_eq!(stack.waiting(&lock).await, 1);

    let skipped = stack.run(&input, 20).await;
    assert_eq!(skipped.answer(), "skipped", "{skipped:?}");
    assert_eq!(skipped.output["paused"], true, "{skipped:?}");
    let refused = stack.run(&input.clone().with("onPaused", "fail"), 20).await;
    assert_eq!(refused.status, "FAILED", "{refused:?}");
    assert_eq!(refused.error, "Lockstep.LockPaused", "{refused:?}");
    let note = "the database is moved (by operator)";
    assert!(refused.cause.contains(note), "{}", refused.cause);

    let resumed = now();
    stack.resume_lock(&lock, "the database is back").await;
    runs_after(&stack, "a resumption", &lock, &waits, resumed).await;
    ran_alone(&stack, &lock, 2).await;
    let outcomes = stack.outcomes(&lock).await;
    for word in ["paused", "resumed"] {
        assert!(
            outcomes.iter().any(|outcome| outcome == word),
            "{word} in {outcomes:?}"
        );
    }
}

#[tokio::test]
async fn with_catch_up_one_of_the_runs_that_a_pause_skipped_runs_later() {
    let (stack, lock) = (stack().await, unique("catch-up"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let input = input.with("catchUp", "once");
    stack.pause_lock(&lock, "the database is moved").await;
    let waits = stack.start(&input).await;
    stack.wait_waiting(&lock, 1, 20).await;
    for _ in 0..3 {
        let skipped = stack.run(&input, 20).await;
        assert_eq!(skipped.answer(), "skipped", "{skipped:?}");
    }
    assert_eq!(stack.waiting(&lock).await, 1);

    let resumed = now();
    stack.resume_lock(&lock, "the database is back").await;
    runs_after(&stack, "a resumption", &lock, &waits, resumed).await;
    ran_alone(&stack, &lock, 1).await;
}

#[tokio::test]
async fn an_evicted_waiter_gives_up_and_the_next_waiter_runs() {
    let (stack, lock) = (stack().await, unique("sent-away"));
    let input = stack.batch_input(&lock).seconds(0.3);
    let first = at_work(&stack, &input.clone().seconds(5.0)).await;
    let away = in_queue(&stack, &input, 1).await;
    let behind = in_queue(&stack, &input, 2).await;
    stack.evict(&lock, &away, "not tonight").await;
    let away = stack.wait(&away, 10).await;
    assert_eq!(away.status, "SUCCEEDED", "{away:?}");
    assert_eq!(away.answer(), "gaveUp", "{away:?}");
    let message = away.output["message"].as_str().unwrap_or_default();
    assert!(message.contains("operator"), "{message}");
    for arn in [&first.arn, &behind] {
        assert!(stack.wait(arn, 30).await.ran());
    }
    ran_alone(&stack, &lock, 2).await;
}
