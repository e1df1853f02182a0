//! Runs that replace the holder of a lock.

use crate::support::at_work;
use crate::{ran_alone, ran_alone_but_stopped, stack};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{ending, now, runs, unique};

#[tokio::test]
async fn a_replacing_run_starts_once_the_replaced_task_has_stopped() {
    let (stack, lock) = (stack().await, unique("replace"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let old = at_work(&stack, &input.clone().seconds(60.0)).await;
    let asked = now();
    let new = stack.start(&input.with("overlap", "replace")).await;

    let ended = stack.wait(&old.arn, 30).await;
    assert_eq!(ended.status, "ABORTED", "{ended:?}");
    assert_eq!(ended.error, "Lockstep.Replaced", "{ended:?}");
    assert!(ended.cause.contains(&new), "{}", ended.cause);
    assert!(stack.wait(&new, 40).await.ran());

    let runs = runs(&ran_alone_but_stopped(&stack, &lock, 2, &[&old.arn]).await);
    runs[0].sigterm.expect("a SIGTERM for the old one");
    assert_eq!(runs[1].env["LOCKSTEP_HOLDER"], new);
    let stopped = stack.stopped_at(&old.task).await.expect("its end");
    assert!(
        runs[1].start >= stopped,
        "{} before {stopped}",
        runs[1].start
    );
    let took = runs[1].start - asked;
    eprintln!("figure: replace: the new container starts {took} ms after its execution");

    let entry = stack.whole_entry(&lock, old.token, 10).await;
    let (outcome, evidence) = ending(&entry);
    assert_eq!(outcome, RunOutcome::Replaced, "{entry:?}");
    assert!(evidence.contains(&new), "{evidence}");
    assert_eq!(entry.task.expect("the task").exit_code, Some(143));
}

#[tokio::test]
async fn a_run_that_may_replace_takes_a_free_lock_as_any_other() {
    let (stack, lock) = (stack().await, unique("calm"));
    let input = stack.batch_input(&lock).seconds(0.3);
    assert!(stack.run(&input.with("overlap", "replace"), 30).await.ran());
    ran_alone(&stack, &lock, 1).await;
    assert_eq!(stack.outcomes(&lock).await, ["succeeded"]);
}
