//! Work that is an execution of a workflow.

use crate::functions::Functions;
use crate::scene::{ask_with, execution_event};
use lockstep::domain::{ExecutionArn, ExecutionEnd, ExecutionState, RunOutcome};
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

const MACHINE: &str = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";

fn ask(name: &str, mut more: Value) -> Value {
    more["work"] = json!({ "stateMachineArn": MACHINE });
    ask_with(name, more)
}

/// `a` holds the lock. Its grant, and the ARN that its execution gets in the attempt after
/// `redrives` redrives.
pub(crate) async fn held(functions: &Functions, redrives: u32) -> (Value, ExecutionArn) {
    functions.start(&["a", "b"]);
    let answer = functions.acquire(ask("a", json!({}))).await.unwrap();
    let arn = answer["executionArn"].as_str().unwrap();
    let arn = ExecutionArn::new(format!("{arn}-{redrives}")).unwrap();
    (answer["grant"].clone(), arn)
}

/// The event of the end of `execution`, whose input names no lock.
fn end_of(execution: &ExecutionArn, status: &str) -> Value {
    let mut event = execution_event("x", status, json!("{}"));
    event["detail"]["executionArn"] = json!(execution.as_str());
    event
}

#[tokio::test]
async fn a_grant_says_which_execution_does_the_work() {
    let functions = Functions::new();

    let (grant, work) = held(&functions, 0).await;

    let token = grant["token"].as_i64().unwrap();
    let expected =
        format!("arn:aws:states:eu-west-1:123456789012:execution:etl:lockstep-nightly-{token}-0");
    assert_eq!(work.as_str(), expected);
}

#[tokio::test]
async fn a_run_that_died_after_its_work_had_succeeded_has_succeeded() {
    let functions = Functions::new();
    let (grant, work) = held(&functions, 0).await;
    functions
        .executions
        .set(&work, ExecutionState::Ended(ExecutionEnd::Succeeded));
    functions.end("a", ExecutionEnd::Aborted);

    let report = functions.reap_end("a", "ABORTED").await;

    assert_eq!(report["freed"], 1);
    let outcome = functions.run_of(&grant).unwrap().outcome();
    assert_eq!(outcome, Some(RunOutcome::Succeeded));
}

#[tokio::test]
async fn the_work_of_a_dead_run_is_stopped_and_its_end_frees_the_permit() {
    for stop_succeeds in [true, false] {
        let functions = Functions::new();
        let (grant, work) = held(&functions, 0).await;
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
        let outcome = functions.run_of(&grant).unwrap().outcome();
        assert_eq!(outcome, Some(RunOutcome::Recovered));
    }
}

#[tokio::test]
async fn an_execution_whose_own_states_are_the_work_settles_when_it_ended_without_a_release() {
    for (end, status, settles) in [
        (ExecutionEnd::Aborted, "ABORTED", true),
        (ExecutionEnd::TimedOut, "TIMED_OUT", true),
        (ExecutionEnd::Succeeded, "SUCCEEDED", false),
        (ExecutionEnd::Failed, "FAILED", true),
    ] {
        let functions = Functions::new();
        functions.start(&["a"]);
        let states = json!({ "work": { "states": true } });
        let granted = functions.acquire(ask_with("a", states)).await;
        let grant = granted.unwrap()["grant"].clone();
        functions.end("a", end);
        let died = functions.now();

        let report = functions.reap_end("a", status).await;

        assert_eq!(report["freed"], 1, "{status}: {report}");
        let waited = functions.now().millis_since(died);
        assert_eq!(waited >= 30_000, settles, "{status}: {waited} ms");
        let outcome = functions.run_of(&grant).unwrap().outcome();
        assert_eq!(outcome, Some(RunOutcome::Recovered), "{status}");
    }
}

#[tokio::test]
async fn the_end_of_the_work_leaves_a_run_alone_that_is_alive() {
    let functions = Functions::new();
    let (_, work) = held(&functions, 0).await;
    functions
        .executions
        .end(&work, ExecutionEnd::Failed, functions.now());

    let report = functions.reap(end_of(&work, "FAILED")).await.unwrap();

    assert_eq!(report["freed"], 0);
    assert_eq!(functions.holders("nightly").await.len(), 1);
}

#[tokio::test]
async fn the_end_of_the_work_of_an_earlier_grant_checks_no_holder() {
    let functions = Functions::new();
    let (grant, work) = held(&functions, 0).await;
    functions.succeed(&grant).await;
    functions.acquire(ask("b", json!({}))).await.unwrap();

    let report = functions.reap(end_of(&work, "SUCCEEDED")).await.unwrap();

    assert_eq!(report["holders"], 0);
}

#[tokio::test]
async fn a_redrive_goes_on_once_the_execution_of_its_last_attempt_has_ended() {
    let ended = |end| Some(ExecutionState::Ended(end));
    let cases = [
        (None, Ok("alreadyHeld")),
        (Some(ExecutionState::Running), Err("Lockstep.LockHeld")),
        (ended(ExecutionEnd::Failed), Ok("alreadyHeld")),
        (ended(ExecutionEnd::Succeeded), Ok("finished")),
    ];
    for (state, expected) in cases {
        let functions = Functions::new();
        let (grant, work) = held(&functions, 0).await;
        if let Some(state) = state {
            functions.executions.set(&work, state);
        }

        let redrive = json!({ "redrive": { "grant": grant, "count": 2 } });
        let answer = functions.acquire(ask("a", redrive)).await;

        let status = answer
            .as_ref()
            .map(|answer| answer["status"].as_str().unwrap());
        let status = status.map_err(|error| error.name().as_str());
        assert_eq!(status, expected, "{state:?}");
        let stops = functions.executions.stops().len();
        assert_eq!(
            stops,
            usize::from(state == Some(ExecutionState::Running)),
            "{state:?}"
        );
    }
}

#[tokio::test]
async fn work_that_an_event_reports_as_aborted_settles_although_its_description_lags_behind() {
    let functions = Functions::new();
    let (_, work) = held(&functions, 0).await;
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
    for (started, expected) in [(false, "FAILED"), (true, "RUNNING")] {
        let functions = Functions::new();
        let (grant, first) = held(&functions, 0).await;
        let failed = ExecutionState::Ended(ExecutionEnd::Failed);
        functions.executions.set(&first, failed);
        let redrive = json!({ "redrive": { "grant": grant, "count": 1 } });
        functions.acquire(ask("a", redrive)).await.unwrap();
        if started {
            let stem = first.as_str().trim_end_matches('0');
            let second = ExecutionArn::new(format!("{stem}1")).unwrap();
            functions.executions.set(&second, ExecutionState::Running);
        }

        let show = json!({ "act": "show", "lock": "nightly" });
        let shown = functions.view(show).await.unwrap();

        let status = &shown["holders"][0]["workflow"]["status"];
        assert_eq!(*status, expected, "{shown}");
    }
}
