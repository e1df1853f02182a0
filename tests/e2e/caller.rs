//! A workflow that starts exclusive-run in one state, and again when that state fails.
//!
//! By then the first run is ending: its execution is over and its task is still being stopped. The
//! second run has to wait for that task. If it were skipped, the workflow would succeed without any
//! work.

use crate::stack;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Event, Habit, Stack, runs, unique};
use serde_json::{Value, json};

/// Field of the input that names the parent execution. The console links parent and child by it.
const STARTED_BY: &str = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID";

/// What makes the state fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    /// The state times out.
    TimeOut,
    /// The execution that the state waits for is stopped.
    Abort,
}

/// How a workflow starts exclusive-run again.
#[derive(Clone, Copy, Debug)]
struct Case {
    fails: Fails,
    /// Whether the inputs name the execution that starts them, as in the examples. Without the
    /// name, the first run counts as ending only when its end has been reported, some seconds
    /// later.
    names_itself: bool,
    run_key: Option<&'static str>,
}

const CASES: [Case; 4] = [
    Case {
        fails: Fails::TimeOut,
        names_itself: true,
        run_key: None,
    },
    Case {
        fails: Fails::Abort,
        names_itself: true,
        run_key: None,
    },
    Case {
        fails: Fails::TimeOut,
        names_itself: false,
        run_key: Some("2026-03-01"),
    },
    Case {
        fails: Fails::Abort,
        names_itself: false,
        run_key: None,
    },
];

#[tokio::test]
async fn a_retry_waits_for_the_run_that_is_ending_and_then_runs() {
    let stack = stack().await;
    let retries = |index: usize| retries(&stack, CASES[index]);
    tokio::join!(retries(0), retries(1), retries(2), retries(3));
}

async fn retries(stack: &Stack, case: Case) {
    let lock = unique("caller");
    stack.switch_on(Habit::StoppedLate(30), &lock).await;
    let input = stack.batch_input(&lock);
    let input = match case.run_key {
        Some(run_key) => input.with("runKey", run_key),
        None => input,
    };
    let input = match case.names_itself {
        true => input.with(STARTED_BY, "{% $states.context.Execution.Id %}"),
        false => input,
    };
    let machine = caller(stack, &input, case).await;
    let parent = stack.start_machine(&machine, &json!({})).await;
    let records = stack.wait_for(&lock, Event::Start, 1, 60).await;
    let first = runs(&records)[0].env["LOCKSTEP_HOLDER"].clone();
    if case.fails == Fails::Abort {
        stack.abort(&first).await;
    }
    let ended = stack.wait(&parent, 150).await;
    assert_eq!(ended.status, "SUCCEEDED", "{case:?}: {ended:?}");
    let output = &ended.output["Output"];
    assert!(output["TaskArn"].is_string(), "{case:?}: no run: {output}");
    let containers = stack
        .judge(&lock, &Expected::permits(1).stops(&first))
        .await;
    assert_eq!(containers.len(), 2, "{case:?}: {containers:?}");
    assert!(containers[1].succeeded(), "{case:?}: {containers:?}");
    let stopped = stack.task_stopped_at(&containers[0].task).await;
    let began = containers[1].started;
    assert!(began >= stopped, "{case:?}: {began}, {stopped}");
    let waited = began - containers[0].ended.unwrap_or_default();
    eprintln!(
        "figure: caller, {case:?}: the retry's container starts {waited} ms after the first's end"
    );
}

/// Returns a workflow whose first attempt starts a batch that works for a minute and ignores
/// SIGTERM, and whose second attempt starts a short batch.
async fn caller(stack: &Stack, input: &BatchInput, case: Case) -> String {
    let long = input.clone().seconds(60.0).env("BATCH_IGNORE_SIGTERM", "1");
    let again = input.clone().seconds(0.5);
    let caught = match case.fails {
        Fails::TimeOut => "States.Timeout",
        Fails::Abort => "States.TaskFailed",
    };
    let mut first = state(stack, &long);
    first["TimeoutSeconds"] = if case.fails == Fails::TimeOut {
        15
    } else {
        120
    }
    .into();
    first["Catch"] = json!([{ "ErrorEquals": [caught], "Next": "Pause" }]);
    first["Next"] = "Pause".into();
    // 15 s: longer than the report of an end takes on a busy machine, shorter than the task takes
    // to stop.
    let pause = if case.names_itself { 0 } else { 15 };
    let mut second = state(stack, &again);
    second["TimeoutSeconds"] = 200.into();
    second["End"] = true.into();
    let definition = json!({
        "QueryLanguage": "JSONata",
        "StartAt": "Run",
        "States": {
            "Run": first,
            "Pause": { "Type": "Wait", "Seconds": pause, "Next": "Again" },
            "Again": second
        }
    });
    stack.guarded(&definition).await
}

fn state(stack: &Stack, input: &BatchInput) -> Value {
    json!({
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {
            "StateMachineArn": stack.output("ExclusiveRunStateMachineArn"),
            "Input": input.json(),
        }
    })
}
