//! A redriven execution goes on under its old grant, and not beside its old container.

use crate::stack;
use crate::support::at_work;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Habit, Stack, pause, unique};

#[tokio::test]
async fn a_redrive_within_the_stop_timeout_waits_for_the_old_container() {
    let stack = stack().await;
    let degraded = Habit::degraded();
    tokio::join!(
        redriven(&stack, 1_000, &[]),
        redriven(&stack, 6_000, &[]),
        redriven(&stack, 1_000, &degraded),
    );
}

/// The batch ignores SIGTERM, so its container works for ten seconds after the abort.
async fn redriven(stack: &Stack, after: u64, habits: &[Habit]) {
    let lock = unique("redriven");
    for habit in habits {
        stack.switch_on(*habit, &lock).await;
    }
    let input = stack.batch_input(&lock).seconds(14.0);
    let stubborn = input.env("BATCH_IGNORE_SIGTERM", "1");
    let first = at_work(stack, &stubborn).await;
    stack.abort(&first.arn).await;
    pause(after).await;
    stack.redrive(&first.arn).await;
    // A DescribeExecution that lags still shows the abort for a while.
    pause(4_000).await;
    let ended = stack.wait(&first.arn, 120).await;
    assert!(ended.ran(), "redriven after {after} ms: {ended:?}");
    let expected = Expected::permits(1).stops(&first.arn);
    let containers = stack.judge(&lock, &expected).await;
    assert_eq!(containers.len(), 2, "{after} ms: {containers:?}");
    let gap = containers[1].started - containers[0].ended.unwrap_or_default();
    eprintln!(
        "figure: redrive {after} ms after an abort: the second container starts {gap} ms after the first's end"
    );
}
