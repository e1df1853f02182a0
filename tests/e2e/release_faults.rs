//! Whatever happens to a release, the next waiter runs.

use crate::support::{at_work, connect, in_queue, runs_after};
use crate::{ran_alone, stack};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{Event, Failure, ending, now, runs, unique};

#[tokio::test]
async fn a_release_killed_before_its_wake_up_still_lets_the_waiter_in() {
    let (stack, lock) = (stack().await, unique("cut"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let release = stack.output("ReleaseLockFunctionArn");
    let write = "TransactWriteItems";
    stack.kill_after(release, write, &lock).await;
    let first = at_work(&stack, &input.clone().seconds(4.0)).await;
    let next = in_queue(&stack, &input, 1).await;
    stack.wait_fired(&lock, 1, 30).await;
    let killed = now();
    let ended = stack.wait(&first.arn, 40).await;
    eprintln!("figure: a killed release: {} {}", ended.status, ended.error);
    assert!(ended.ran(), "the batch has succeeded: {ended:?}");
    runs_after(&stack, "a killed release", &lock, &next, killed).await;
    ran_alone(&stack, &lock, 2).await;
    let entry = stack.whole_entry(&lock, first.token, 10).await;
    assert_eq!(ending(&entry).0, RunOutcome::Succeeded, "{entry:?}");
}

#[tokio::test]
async fn a_release_that_fails_three_times_is_tried_again_until_it_works() {
    let (stack, lock) = (stack().await, unique("thrice"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let release = stack.output("ReleaseLockFunctionArn");
    stack.fail_next(release, 2, Failure::Throttle, &lock).await;
    stack.fail_next(release, 1, Failure::Service, &lock).await;
    let first = at_work(&stack, &input.clone().seconds(3.0)).await;
    let next = in_queue(&stack, &input, 1).await;
    let done = stack.wait_for(&lock, Event::End, 1, 20).await;
    let done = runs(&done)[0].end.expect("an end");
    runs_after(&stack, "a release at the fourth try", &lock, &next, done).await;
    assert_eq!(
        stack
            .fired()
            .await
            .iter()
            .filter(|f| f.mentioning == lock)
            .count(),
        3
    );
    assert!(stack.wait(&first.arn, 10).await.ran());
    ran_alone(&stack, &lock, 2).await;
    let entry = stack.whole_entry(&lock, first.token, 10).await;
    assert_eq!(ending(&entry).0, RunOutcome::Succeeded, "{entry:?}");
}

/// The error is one that no state retries. It stands for an error that outlasts all retries, which
/// would take minutes.
#[tokio::test]
async fn a_release_that_never_works_fails_the_run_and_its_end_frees_the_lock() {
    let (stack, lock) = (connect().await, unique("never"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let release = stack.output("ReleaseLockFunctionArn");
    let denied = Failure::Named("Lockstep.Denied");
    stack.fail_next(release, 1, denied, &lock).await;
    let first = at_work(&stack, &input).await;
    let next = in_queue(&stack, &input, 1).await;
    let ended = stack.wait(&first.arn, 60).await;
    let end = (ended.status.as_str(), ended.error.as_str());
    assert_eq!(end, ("FAILED", "Lockstep.Denied"), "{ended:?}");
    let what = "the end of a run that could not release";
    runs_after(&stack, what, &lock, &next, ended.stopped).await;
    ran_alone(&stack, &lock, 2).await;
    let entry = stack.whole_entry(&lock, first.token, 10).await;
    let (outcome, evidence) = ending(&entry);
    // The container had exited with 0.
    assert_eq!(outcome, RunOutcome::Succeeded, "{entry:?}");
    assert!(evidence.contains(&ended.status), "{evidence}");
}
