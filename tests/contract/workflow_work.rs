//! Runs whose work is an execution of a workflow.

use crate::functions::Functions;
use crate::scene::{ask_with, execution_event, task, work as tasks};
use lockstep::domain::{ExecutionArn, ExecutionEnd, ExecutionState, FailedStart, RunOutcome, Task};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

const MACHINE: &str = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";

fn ask(name: &str, mut more: Value) -> Value {
    more["work"] = json!({ "stateMachineArn": MACHINE });
    ask_with(name, more)
}

/// Returns the functions with `a` as the holder, its grant, and the ARN of the execution that does its work
/// in the first attempt.
async fn held() -> (Functions, Value, ExecutionArn) {
    let functions = Functions::running(&["a", "b"]);
    let answer = functions.acquire(ask("a", json!({}))).await.unwrap();
    let arn = answer["executionArn"].as_str().unwrap();
    let arn = ExecutionArn::new(format!("{arn}-0")).unwrap();
    (functions, answer["grant"].clone(), arn)
}

/// Returns the event of the end of `execution`, whose input names no lock.
fn end_of(execution: &ExecutionArn, status: &str) -> Value {
    let mut event = execution_event("x", status, json!("{}"));
    event["detail"]["executionArn"] = json!(execution.as_str());
    event
}

#[tokio::test]
async fn a_grant_says_which_execution_does_the_work() {
    let (_, grant, work) = held().await;

    let token = grant["token"].as_i64().unwrap();
    let expected =
        format!("arn:aws:states:eu-west-1:123456789012:execution:etl:lockstep-nightly-{token}-0");
    assert_eq!(work.as_str(), expected);
}

#[tokio::test]
async fn a_run_that_died_after_its_work_had_succeeded_has_succeeded() {
    let (functions, grant, work) = held().await;
    let succeeded = ExecutionState::Ended(ExecutionEnd::Succeeded);
    functions.executions.set(&work, succeeded);
    functions.end("a", ExecutionEnd::Aborted);

    let report = functions.reap_end("a", "ABORTED").await;

    assert_eq!(report["freed"], 1);
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Succeeded);
}

#[tokio::test]
async fn the_work_of_a_dead_run_is_stopped_and_its_end_frees_the_permit() {
    for stop_succeeds in [true, false] {
        let (functions, grant, work) = held().await;
        functions.executions.set(&work, ExecutionState::Running);
        functions.end("a", ExecutionEnd::Aborted);
        if !stop_succeeds {
            functions.lose_next(ExecutionsCall::Stop);
        }

        let first = functions.reap_end("a", "ABORTED").await;

        assert_eq!(first["freed"], usize::from(stop_succeeds));
        if !stop_succeeds {
            assert_eq!(functions.holders("nightly").await.len(), 1);
            let now = functions.now();
            functions.executions.end(&work, ExecutionEnd::Aborted, now);
            let second = functions.reap(end_of(&work, "ABORTED")).await.unwrap();
            assert_eq!(second["freed"], 1);
        }
        assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
    }
}

#[tokio::test]
async fn a_dead_run_of_own_states_is_freed_30_s_after_its_end() {
    for (end, status, settles) in [
        (ExecutionEnd::Aborted, "ABORTED", true),
        (ExecutionEnd::TimedOut, "TIMED_OUT", true),
        (ExecutionEnd::Succeeded, "SUCCEEDED", false),
        (ExecutionEnd::Failed, "FAILED", true),
    ] {
        let states = json!({ "work": { "states": true } });
        let (functions, grant) = Functions::held_with(&["a"], states).await;
        functions.end("a", end);
        let died = functions.now();

        let report = functions.reap_end("a", status).await;

        assert_eq!(report["freed"], 1, "{status}: {report}");
        let waited = functions.now().millis_since(died);
        assert_eq!(waited >= 30_000, settles, "{status}: {waited} ms");
        let outcome = functions.outcome_of(&grant);
        assert_eq!(outcome, RunOutcome::Recovered, "{status}");
    }
}

#[tokio::test]
async fn the_end_of_the_work_frees_no_live_run_and_no_later_grant() {
    for (is_later, checked) in [(false, 1), (true, 0)] {
        let (functions, grant, work) = held().await;
        let now = functions.now();
        functions.executions.end(&work, ExecutionEnd::Failed, now);
        if is_later {
            functions.succeed(&grant).await;
            functions.acquire(ask("b", json!({}))).await.unwrap();
        }

        let report = functions.reap(end_of(&work, "FAILED")).await.unwrap();

        let counted = json!([report["holders"], report["freed"]]);
        assert_eq!(counted, json!([checked, 0]), "later: {is_later}");
        assert_eq!(functions.holders("nightly").await.len(), 1);
    }
}

#[tokio::test]
async fn a_redriven_run_resumes_once_its_last_child_has_ended() {
    let ended = |end| Some(ExecutionState::Ended(end));
    let cases = [
        (None, "alreadyHeld"),
        (Some(ExecutionState::Running), "Lockstep.LockHeld"),
        (ended(ExecutionEnd::Failed), "alreadyHeld"),
        (ended(ExecutionEnd::Succeeded), "finished"),
    ];
    for (state, expected) in cases {
        let (functions, grant, work) = held().await;
        if let Some(state) = state {
            functions.executions.set(&work, state);
        }

        let redrive = json!({ "redrive": { "grant": grant, "count": 2 } });
        let answer = functions.status(ask("a", redrive)).await;

        assert_eq!(answer, expected, "{state:?}");
        let stops = functions.executions.stops().len();
        let is_running = state == Some(ExecutionState::Running);
        assert_eq!(stops, usize::from(is_running), "{state:?}");
    }
}

#[tokio::test]
async fn aborted_work_frees_no_permit_within_30_s_of_its_event() {
    let (functions, _, work) = held().await;
    functions.executions.set(&work, ExecutionState::Running);
    functions.end("a", ExecutionEnd::Failed);
    functions.wait(5);
    let ended = functions.now();
    let mut event = end_of(&work, "ABORTED");
    event["detail"]["stopDate"] = json!(ended.millis());

    let report = functions.reap(event).await.unwrap();

    let waited = functions.now().millis_since(ended);
    let freed = report["freed"].as_u64() > Some(0);
    assert!(!freed || waited >= 30_000, "{waited} ms: {report}");
}

#[tokio::test]
async fn a_lock_shows_the_execution_of_the_latest_attempt_that_was_started() {
    let (running, failed) = (
        ExecutionState::Running,
        ExecutionState::Ended(ExecutionEnd::Failed),
    );
    // Columns: the execution of the first attempt, that of the attempt after a redrive, whether there was a
    // redrive, and the status that is shown.
    for (first, second, is_redriven, expected) in [
        (None, None, false, "UNKNOWN"),
        (Some(running), None, false, "RUNNING"),
        (Some(failed), None, false, "FAILED"),
        (Some(failed), None, true, "FAILED"),
        (Some(failed), Some(running), true, "RUNNING"),
    ] {
        let (functions, grant, work) = held().await;
        let next = format!("{}1", work.as_str().trim_end_matches('0'));
        let next = ExecutionArn::new(next).unwrap();
        for (arn, state) in [(work, first), (next, second)] {
            if let Some(state) = state {
                functions.executions.set(&arn, state);
            }
        }
        if is_redriven {
            let redrive = json!({ "redrive": { "grant": grant, "count": 1 } });
            functions.acquire(ask("a", redrive)).await.unwrap();
        }

        let shown = functions.shown().await;

        let status = &shown["holders"][0]["workflow"]["status"];
        assert_eq!(*status, expected, "{shown}");
    }
}

/// A state of the work has timed out, and its task still runs.
#[tokio::test]
async fn a_task_left_by_a_failed_child_keeps_the_permit_until_it_stops() {
    let (functions, grant, work) = held().await;
    let called_at = functions.now();
    let start = FailedStart {
        tasks: tasks(),
        group: "family:report".into(),
        called_at,
        failed_at: called_at,
    };
    functions.executions.fail_start(&work, start);
    let left = |stopped| Task {
        created_at: Some(called_at),
        ..task("t", 1, stopped)
    };
    functions.tasks.put(&tasks(), "family:report", left(false));
    let now = functions.now();
    functions.executions.end(&work, ExecutionEnd::Failed, now);
    functions.finish(&grant, "stopping").await;
    functions.end("a", ExecutionEnd::Failed);
    let mut held = Vec::new();
    for is_stopped in [false, true] {
        functions
            .tasks
            .put(&tasks(), "family:report", left(is_stopped));
        functions.wait(300);
        functions.sweep().await;
        held.push(functions.holders("nightly").await.len());
    }

    assert_eq!(held, [1, 0]);
    assert!(
        functions.tasks.stops().is_empty(),
        "the task may belong to another run"
    );
    assert_eq!(functions.outcome_of(&grant), RunOutcome::Recovered);
}
