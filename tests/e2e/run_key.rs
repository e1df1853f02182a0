//! One success per run key.

use crate::{ran_alone, stack};
use lockstep_tests::stack::unique;

#[tokio::test]
async fn a_tick_delivered_again_after_its_success_is_a_duplicate() {
    let (stack, lock) = (stack().await, unique("again"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let tick = input.clone().with("runKey", "2026-03-01T06:00:00Z");
    let first = stack.run(&tick, 30).await;
    assert!(first.ran(), "{first:?}");
    let second = stack.run(&tick, 20).await;
    assert_eq!(second.status, "SUCCEEDED", "{second:?}");
    assert_eq!(second.answer(), "duplicate", "{second:?}");
    assert_eq!(second.output["holder"], first.arn.as_str());
    assert!(second.output["endedAt"].is_string(), "{second:?}");
    ran_alone(&stack, &lock, 1).await;
    let next = input.with("runKey", "2026-03-01T07:00:00Z");
    assert!(stack.run(&next, 30).await.ran(), "the next tick");
    ran_alone(&stack, &lock, 2).await;
}

#[tokio::test]
async fn a_tick_whose_run_failed_runs_again() {
    let (stack, lock) = (stack().await, unique("retry"));
    let tick = stack.batch_input(&lock).seconds(0.5);
    let tick = tick.with("runKey", "2026-03-01T06:00:00Z");
    let first = stack.run(&tick.clone().exit(3), 30).await;
    assert_eq!(first.status, "FAILED", "{first:?}");
    assert!(stack.run(&tick, 30).await.ran(), "the second delivery");
    assert_eq!(stack.run(&tick, 20).await.answer(), "duplicate");
    ran_alone(&stack, &lock, 2).await;
}
