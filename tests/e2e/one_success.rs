//! One success per run key, whatever ends the execution around the work.

use crate::support::at_work;
use crate::{ran_alone, stack};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Event, Habit, Stack, TableAnswer, unique};

const POLICIES: [&str; 3] = ["terminate", "yield", "hold"];

fn keyed(stack: &Stack, lock: &str, policy: &str) -> BatchInput {
    let input = stack.batch_input(lock).short_lease();
    let input = input.with("runKey", "2026-03-01T06:00:00Z");
    input.with("stalePolicy", policy)
}

#[tokio::test]
async fn work_that_succeeded_before_an_abort_is_not_repeated() {
    let stack = stack().await;
    let [one, two, three] = POLICIES;
    tokio::join!(
        aborted(&stack, one),
        aborted(&stack, two),
        aborted(&stack, three)
    );
}

async fn aborted(stack: &Stack, policy: &str) {
    let lock = unique("done-aborted");
    // The execution is aborted when the container has ended with 0 and the execution waits for
    // STOPPED.
    stack.switch_on(Habit::StoppedLate(4), &lock).await;
    let input = keyed(stack, &lock, policy).seconds(1.0);
    let first = at_work(stack, &input).await;
    stack.wait_for(&lock, Event::End, 1, 20).await;
    // Before DEPROVISIONING, ECS does not know that the work is done, and records the abort as its
    // end.
    stack.wait_task(&first.task, "DEPROVISIONING", 10).await;
    stack.abort(&first.arn).await;
    assert_eq!(stack.wait(&first.arn, 10).await.status, "ABORTED");
    stack.wait_free(&lock, 60).await;
    is_duplicate(stack, &input, policy).await;
    let containers = stack.judge(&lock, &Expected::permits(1)).await;
    assert!(containers[0].succeeded(), "{policy}: {containers:?}");
}

#[tokio::test]
async fn work_that_succeeds_while_the_table_is_away_is_a_success() {
    let stack = stack().await;
    let [one, two, three] = POLICIES;
    let ends = |policy| ends_in_outage(&stack, policy, TableAnswer::Fail, 20);
    tokio::join!(ends(one), ends(two), ends(three));
}

/// The outage is longer than all retries of one release, whose pauses are half a minute at most.
#[tokio::test]
#[ignore = "takes four minutes: make storm"]
async fn work_that_succeeds_in_a_long_outage_is_a_success() {
    let stack = stack().await;
    let answers = [TableAnswer::Fail, TableAnswer::Hang, TableAnswer::Throttle];
    let ends = |index: usize| ends_in_outage(&stack, POLICIES[index], answers[index], 150);
    tokio::join!(ends(0), ends(1), ends(2));
}

async fn ends_in_outage(stack: &Stack, policy: &str, answer: TableAnswer, seconds: u32) {
    let lock = unique("done-away");
    let input = keyed(stack, &lock, policy).seconds(2.0);
    let first = at_work(stack, &input).await;
    stack
        .switch_on(Habit::TableAway(answer, seconds), &lock)
        .await;
    let ended = stack.wait(&first.arn, u64::from(seconds) + 120).await;
    let away = stack
        .fired()
        .await
        .iter()
        .any(|fired| fired.mentioning == lock);
    assert!(away, "{policy}: no call met the outage");
    assert!(ended.ran(), "{policy}: {ended:?}");
    is_duplicate(stack, &input, policy).await;
    stack.judge(&lock, &Expected::permits(1)).await;
}

#[tokio::test]
async fn a_run_that_yielded_keeps_its_run_key_until_its_end_is_known() {
    let stack = stack().await;
    let limits = [("maxRunSeconds", 8), ("noProgressSeconds", 6)];
    tokio::join!(yielded(&stack, limits[0]), yielded(&stack, limits[1]));
}

async fn yielded(stack: &Stack, (limit, after): (&str, u32)) {
    let lock = unique("done-yielded");
    let input = keyed(stack, &lock, "yield");
    let slow = input.clone().with(limit, after).seconds(26.0);
    let first = at_work(stack, &slow).await;
    stack.wait_free(&lock, 25).await;
    let again = input.clone().seconds(0.3);
    is_duplicate(stack, &again, limit).await;
    let ended = stack.wait(&first.arn, 40).await;
    assert!(ended.ran(), "{limit}: {ended:?}");
    is_duplicate(stack, &again, limit).await;
    let expected = Expected::permits(1).runs_beside(&first.arn);
    let containers = stack.judge(&lock, &expected).await;
    assert_eq!(containers.len(), 1, "{limit}: {containers:?}");
}

/// Checks that another run under the same run key is a duplicate.
async fn is_duplicate(stack: &Stack, input: &BatchInput, case: &str) {
    let again = stack.run(input, 60).await;
    assert_eq!(again.status, "SUCCEEDED", "{case}: {again:?}");
    assert_eq!(again.answer(), "duplicate", "{case}: {again:?}");
}

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
