//! A woven workflow whose call of RunTask failed. ECS may have started the task all the same.

use crate::functions::Functions;
use crate::scene::{arn, ask_with, task, work};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, FailedStart, RunOutcome, Task, Timestamp};
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

/// Returns the functions with the woven workflow `a` as the holder, and its grant.
async fn woven() -> (Functions, Value) {
    let functions = Functions::running(&["a", "b"]);
    let own = json!({ "work": { "states": true } });
    let grant = functions.granted_with(ask_with("a", own)).await;
    (functions, grant)
}

/// Records that a state of `a` called RunTask at `called_at`, and has failed now without the end of a task.
fn leave_start(functions: &Functions, called_at: Timestamp) {
    leave_start_of(functions, "family:report", called_at);
}

fn leave_start_of(functions: &Functions, group: &str, called_at: Timestamp) {
    let start = FailedStart {
        tasks: work(),
        group: group.into(),
        called_at,
        failed_at: functions.now(),
    };
    functions.executions.fail_start(&arn("a"), start);
}

/// Returns the functions after the woven states of `a` failed with an error of RunTask and released with
/// `stopping`, and the grant of `a`. The execution still runs.
async fn failed_states() -> (Functions, Value) {
    let (functions, grant) = woven().await;
    let called_at = functions.now();
    functions.wait(2);
    leave_start(&functions, called_at);
    let answer = functions.finish(&grant, "stopping").await;
    assert_eq!(answer["status"], "ending", "{answer}");
    (functions, grant)
}

/// Returns the functions after the execution `a` failed with an error of RunTask, and the grant of `a`.
async fn failed_start() -> (Functions, Value) {
    let (functions, grant) = failed_states().await;
    functions.end("a", ExecutionEnd::Failed);
    (functions, grant)
}

/// Puts the task `name` into the group of the call that failed.
fn put(functions: &Functions, name: &str, created_at: Timestamp, stopped: bool) {
    let task = Task {
        created_at: Some(created_at),
        ..task(name, 1, stopped)
    };
    functions.tasks.put(&work(), "family:report", task);
}

#[tokio::test]
async fn a_woven_run_keeps_its_permit_while_a_task_of_its_failed_start_runs() {
    let (functions, grant) = failed_start().await;
    let before = Timestamp::from_millis(1);
    put(&functions, "of-another-run", before, false);
    let created = functions.now();
    put(&functions, "t", created, false);
    let mut held = Vec::new();
    for seconds in [29, 1, 600] {
        functions.wait(seconds);
        functions.sweep().await;
        held.push(functions.holders("nightly").await.len());
    }
    put(&functions, "t", created, true);

    functions.wait(60);
    functions.sweep().await;

    assert_eq!(held, [1, 1, 1]);
    assert!(functions.holders("nightly").await.is_empty());
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
    assert!(
        functions.tasks.stops().is_empty(),
        "the task may belong to another run"
    );
    assert!(!functions.has_published(EventKind::EvidenceMissing));
}

#[tokio::test]
async fn a_task_is_one_of_a_failed_start_of_its_own_group_only() {
    for (group, held) in [("family:report", 1), ("family:other", 0)] {
        let (functions, grant) = woven().await;
        leave_start(&functions, functions.now());
        functions.wait(600);
        leave_start_of(&functions, group, functions.now());
        put(&functions, "t", functions.now(), false);
        functions.finish(&grant, "stopping").await;
        functions.end("a", ExecutionEnd::Failed);

        functions.wait(60);
        functions.sweep().await;

        assert_eq!(functions.holders("nightly").await.len(), held, "{group}");
    }
}

/// A Retry that the author wrote around the woven states acquires again, in the same execution.
#[tokio::test]
async fn a_retry_in_its_own_execution_waits_for_the_task_of_the_failed_start() {
    let (functions, grant) = failed_states().await;
    let created = functions.now();
    put(&functions, "t", created, false);
    let own = json!({ "work": { "states": true }, "waitForEnding": true });
    let again = ask_with("a", own);
    let mut answers = Vec::new();
    for seconds in [0, 31] {
        functions.wait(seconds);
        let answer = functions.acquire(again.clone()).await.unwrap();
        assert_eq!(answer["ending"], true, "{answer}");
        answers.push(answer["status"].clone());
    }
    put(&functions, "t", created, true);

    let next = functions.granted_with(again).await;

    assert_eq!(answers, ["skipped", "skipped"]);
    assert!(next["token"].as_u64() > grant["token"].as_u64(), "{next}");
}

/// A workflow may catch the failure of its guarded states, and run a task after them.
#[tokio::test]
async fn a_task_that_starts_after_the_guarded_states_keeps_no_permit() {
    for (since, held) in [(0, 1), (5, 0)] {
        let (functions, grant) = woven().await;
        functions.finish(&grant, "stopping").await;
        functions.wait(since);
        leave_start(&functions, functions.now());
        put(&functions, "t", functions.now(), false);

        functions.wait(60);
        functions.sweep().await;

        let holders = functions.holders("nightly").await;
        assert_eq!(holders.len(), held, "called {since} s after the end");
    }
}

#[tokio::test]
async fn an_execution_history_that_is_denied_keeps_no_permit() {
    let denied = || ExecutionsError::Denied("no key".into());
    let unavailable = || ExecutionsError::Unavailable("throttled".into());
    for (error, held) in [(denied(), 0), (unavailable(), 1)] {
        let (functions, _) = failed_start().await;
        let call = ExecutionsCall::FailedStarts;
        functions.executions.fail_next(call, error.clone());

        functions.wait(31);
        functions.sweep().await;

        assert_eq!(functions.holders("nightly").await.len(), held, "{error}");
    }
}
