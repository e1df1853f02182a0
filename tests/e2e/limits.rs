//! Runs over `maxRunSeconds`, or without progress for `noProgressSeconds`, under each stale policy.
//! Only `terminate` stops the work, whichever limit is exceeded.

use crate::support::{at_work, in_queue};
use crate::{ran_alone, ran_alone_but_stopped, stack};
use lockstep::domain::RunOutcome;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Habit, Stack, ending, now, pause, runs, unique, until};

/// Fields that limit a run, and their values in seconds.
const LIMITS: [(&str, u32); 2] = [("maxRunSeconds", 8), ("noProgressSeconds", 6)];

/// Returns a batch with this limit and this stale policy.
fn stale(stack: &Stack, lock: &str, (limit, after): (&str, u32), policy: &str) -> BatchInput {
    let input = stack.batch_input(lock).short_lease();
    input.with("stalePolicy", policy).with(limit, after)
}

#[tokio::test]
async fn under_terminate_a_stale_run_keeps_its_lock_until_its_task_stopped() {
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
    let stopped = stack.task_stopped_at(&first.task).await;
    let began = containers[1].started;
    assert!(began >= stopped, "{limit:?}: {began}, {stopped}");
}

#[tokio::test]
async fn under_yield_a_stale_run_succeeds_without_its_permit() {
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
async fn under_hold_a_stale_run_succeeds_and_its_lock_stays_frozen() {
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
    // 4 s: more than three heartbeats, and less than the limit, which a resumed run may exceed
    // again.
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

/// Waits until the lock refuses a run because it is frozen. Until then the lock has to be held.
async fn frozen(stack: &Stack, ask: &BatchInput) {
    let refuses = async || {
        pause(500).await;
        let answer = stack.run(ask, 30).await;
        assert!(!answer.ran(), "the lock was free: {answer:?}");
        answer.error == "Lockstep.LockFrozen"
    };
    until("freeze", 30, refuses).await;
}

/// Returns a batch that counts as hung after three seconds without progress.
fn hangs(stack: &Stack, lock: &str, policy: &str) -> BatchInput {
    let input = stack.batch_input(lock).short_lease();
    let input = input.with("stalePolicy", policy);
    input.with("noProgressSeconds", 3)
}

#[tokio::test]
async fn under_terminate_a_hung_run_is_stopped_and_the_next_starts_after_it() {
    let (stack, lock) = (stack().await, unique("terminate"));
    let hung = hangs(&stack, &lock, "terminate").seconds(60.0);
    // The batch ignores SIGTERM and works until SIGKILL.
    let stubborn = hung.env("BATCH_IGNORE_SIGTERM", "1");
    let first = at_work(&stack, &stubborn).await;
    let next = in_queue(&stack, &stack.batch_input(&lock).seconds(0.3), 1).await;
    let ended = stack.wait(&first.arn, 30).await;
    assert_eq!(ended.error, "Lockstep.LeaseLost", "{ended:?}");
    assert!(ended.cause.contains("noProgressSeconds"), "{ended:?}");
    assert!(stack.wait(&next, 30).await.ran());
    let runs = runs(&ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await);
    let worked = runs[0].sigterm.expect("a SIGTERM") - runs[0].start;
    eprintln!("figure: noProgressSeconds 3: stopped after {worked} ms");
    let entry = stack.whole_entry(&lock, first.token, 10).await;
    assert_eq!(ending(&entry).0, RunOutcome::Recovered, "{entry:?}");
    assert_eq!(entry.task.expect("the task").exit_code, Some(137));
}

#[tokio::test]
async fn a_run_over_its_time_is_stopped_and_the_next_starts_after_it() {
    let (stack, lock) = (stack().await, unique("overran"));
    let input = stack.batch_input(&lock).short_lease();
    let long = input.clone().seconds(60.0).with("maxRunSeconds", 4);
    let stubborn = long.env("BATCH_IGNORE_SIGTERM", "1");
    let first = at_work(&stack, &stubborn).await;
    let next = in_queue(&stack, &input.seconds(0.3), 1).await;
    let ended = stack.wait(&first.arn, 30).await;
    assert_eq!(ended.status, "FAILED", "{ended:?}");
    let expected = ["States.Timeout", "Lockstep.LeaseLost"];
    assert!(expected.contains(&ended.error.as_str()), "{ended:?}");
    assert!(stack.wait(&next, 30).await.ran());
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn under_yield_a_hung_run_goes_on_without_its_permit() {
    let (stack, lock) = (stack().await, unique("yield"));
    let first = at_work(&stack, &hangs(&stack, &lock, "yield").seconds(12.0)).await;
    let next = in_queue(&stack, &stack.batch_input(&lock).seconds(0.3), 1).await;
    assert!(stack.wait(&next, 30).await.ran());
    assert!(stack.wait(&first.arn, 30).await.ran(), "it runs on");
    let expected = Expected::permits(1).runs_beside(&first.arn);
    let containers = stack.judge(&lock, &expected).await;
    let price = Expected::permits(1).violations(&containers);
    assert_eq!(price.len(), 1, "`yield` allows one overlap: {price:?}");
    let entry = stack.whole_entry(&lock, first.token, 10).await;
    // The run lost its permit. Its own end is recorded all the same.
    assert_eq!(entry.outcome(), Some(RunOutcome::Succeeded), "{entry:?}");
}

#[tokio::test]
async fn under_hold_a_hung_run_freezes_the_lock_until_an_operator_resumes_it() {
    let (stack, lock) = (stack().await, unique("hold"));
    let first = at_work(&stack, &hangs(&stack, &lock, "hold").seconds(10.0)).await;
    let input = stack.batch_input(&lock).seconds(0.3);
    let frozen = async || {
        let item = stack.lock_item(&lock).await.expect("a record");
        item["mode"].as_s().is_ok_and(|mode| mode == "frozen")
    };
    until("freeze", 15, frozen).await;
    for overlap in ["skip", "queue", "replace"] {
        let refused = stack.run(&input.clone().with("overlap", overlap), 20).await;
        assert_eq!(refused.status, "FAILED", "{overlap}: {refused:?}");
        assert_eq!(refused.error, "Lockstep.LockFrozen", "{refused:?}");
        for part in [&first.arn, "noProgressSeconds", "resume the lock"] {
            assert!(refused.cause.contains(part), "{part}: {}", refused.cause);
        }
    }
    assert!(stack.wait(&first.arn, 30).await.ran(), "the run goes on");
    let still = stack.run(&input, 20).await;
    assert_eq!(still.error, "Lockstep.LockFrozen", "{still:?}");
    stack.resume_lock(&lock, "checked: only slow").await;
    assert!(stack.run(&input, 30).await.ran());
    ran_alone(&stack, &lock, 2).await;
    let outcomes = stack.outcomes(&lock).await;
    for word in ["frozen", "resumed", "succeeded"] {
        assert!(
            outcomes.iter().any(|outcome| outcome == word),
            "{word} in {outcomes:?}"
        );
    }
}
