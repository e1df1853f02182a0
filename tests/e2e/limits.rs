//! A run over its time or without progress, under each stale policy. The limit of the time is a
//! policy's matter as the limit of silence is: only `terminate` stops work.

use crate::stack;
use crate::support::{at_work, in_queue};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Habit, Stack, now, pause, unique, until};

/// Each makes a run stale after so many seconds.
const LIMITS: [(&str, u32); 2] = [("maxRunSeconds", 8), ("noProgressSeconds", 6)];

/// A batch that is stale after its limit and works for so many seconds.
fn stale(stack: &Stack, lock: &str, (limit, after): (&str, u32), policy: &str) -> BatchInput {
    let input = stack.batch_input(lock).short_lease();
    input.with("stalePolicy", policy).with(limit, after)
}

#[tokio::test]
async fn under_terminate_a_stale_run_fails_and_its_lock_is_free_when_its_task_is_stopped() {
    let stack = stack().await;
    let [time, progress] = LIMITS;
    tokio::join!(terminates(&stack, time), terminates(&stack, progress));
}

async fn terminates(stack: &Stack, limit: (&str, u32)) {
    let lock = unique("terminates");
    // Between the end of its container and STOPPED, the next run must not start.
    stack.switch_on(Habit::StoppedLate(4), &lock).await;
    let input = stale(stack, &lock, limit, "terminate").seconds(60.0);
    let first = at_work(stack, &input).await;
    let next = in_queue(stack, &stack.batch_input(&lock).seconds(0.3), 1).await;
    let ended = stack.wait(&first.arn, 50).await;
    let ends = ["FAILED", "ABORTED"].contains(&ended.status.as_str());
    assert!(ends, "{limit:?}: {ended:?}");
    let next = stack.wait(&next, 60).await;
    assert!(next.ran(), "{limit:?}: {next:?}");
    let expected = Expected::permits(1).stops(&first.arn);
    let containers = stack.judge(&lock, &expected).await;
    assert_eq!(containers.len(), 2, "{limit:?}: {containers:?}");
    let task = stack.task(&first.task).await;
    let stopped = task["stoppedAt"].as_f64().expect("its end") * 1000.0;
    let began = containers[1].started;
    assert!(began as f64 >= stopped, "{limit:?}: {began}, {stopped}");
}

#[tokio::test]
async fn under_yield_a_stale_run_works_to_its_end_and_succeeds_without_its_permit() {
    let stack = stack().await;
    let [time, progress] = LIMITS;
    tokio::join!(yields(&stack, time), yields(&stack, progress));
}

async fn yields(stack: &Stack, limit: (&str, u32)) {
    let lock = unique("yields");
    let input = stale(stack, &lock, limit, "yield").seconds(24.0);
    let first = at_work(stack, &input).await;
    let next = in_queue(stack, &stack.batch_input(&lock).seconds(0.3), 1).await;
    let next = stack.wait(&next, 40).await;
    assert!(next.ran(), "{limit:?}: {next:?}");
    let ended = stack.wait(&first.arn, 40).await;
    assert!(ended.ran(), "{limit:?}: {ended:?}");
    assert!(
        next.stopped < ended.stopped,
        "beside it: {next:?} {ended:?}"
    );
    let expected = Expected::permits(1).runs_beside(&first.arn);
    stack.judge(&lock, &expected).await;
}

#[tokio::test]
async fn under_hold_a_stale_run_works_to_its_end_and_succeeds_with_its_lock_frozen() {
    let stack = stack().await;
    let [time, progress] = LIMITS;
    tokio::join!(holds(&stack, time), holds(&stack, progress));
}

async fn holds(stack: &Stack, limit: (&str, u32)) {
    let lock = unique("holds");
    let input = stale(stack, &lock, limit, "hold").seconds(20.0);
    let first = at_work(stack, &input).await;
    let ask = stack.batch_input(&lock).seconds(0.3);
    frozen(stack, &ask).await;
    let ended = stack.wait(&first.arn, 40).await;
    assert!(ended.ran(), "{limit:?}: {ended:?}");
    let still = stack.run(&ask, 20).await;
    assert_eq!(still.error, "Lockstep.LockFrozen", "{limit:?}: {still:?}");
    stack.resume_lock(&lock, "the run was only slow").await;
    let next = stack.run(&ask, 30).await;
    assert!(next.ran(), "{limit:?}: {next:?}");
    stack.judge(&lock, &Expected::permits(1)).await;
}

#[tokio::test]
async fn a_resumed_run_goes_on_and_is_not_frozen_again_at_its_next_heartbeat() {
    let stack = stack().await;
    let [time, progress] = LIMITS;
    tokio::join!(resumes(&stack, time), resumes(&stack, progress));
}

async fn resumes(stack: &Stack, limit: (&str, u32)) {
    let lock = unique("resumes");
    let input = stale(stack, &lock, limit, "hold").seconds(28.0);
    let first = at_work(stack, &input).await;
    let ask = stack.batch_input(&lock).seconds(0.3);
    frozen(stack, &ask).await;
    stack.resume_lock(&lock, "it may take its time").await;
    // Three heartbeats and more, and less than the limit, which a resumed run may reach again.
    let until = now() + 4_000;
    while now() < until {
        let answer = stack.run(&ask, 20).await;
        assert_eq!(answer.answer(), "skipped", "{limit:?}: {answer:?}");
        pause(500).await;
    }
    let ended = stack.wait(&first.arn, 40).await;
    assert!(ended.ran(), "{limit:?}: {ended:?}");
    let mut next = stack.run(&ask, 30).await;
    if next.error == "Lockstep.LockFrozen" {
        stack.resume_lock(&lock, "it had its time twice").await;
        next = stack.run(&ask, 30).await;
    }
    assert!(next.ran(), "{limit:?}: a free lock: {next:?}");
    stack.judge(&lock, &Expected::permits(1)).await;
}

/// Waits until the lock refuses a run because it is frozen; until then it is held.
async fn frozen(stack: &Stack, ask: &BatchInput) {
    let refuses = async || {
        pause(500).await;
        let answer = stack.run(ask, 30).await;
        assert!(!answer.ran(), "neither held nor frozen: {answer:?}");
        answer.error == "Lockstep.LockFrozen"
    };
    until("freeze", 30, refuses).await;
}
