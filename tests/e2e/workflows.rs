//! The example workflows of statemachines/examples.
//!
//! A workflow of a user's own that calls the functions under default parameters, and dies.

use crate::{ran_alone, stack};
use lockstep_tests::stack::{Event, Stack, Turn, deadline, now, pause, unique};
use serde_json::{Value, json};

#[tokio::test]
async fn the_jsonpath_example_runs_skips_and_fails_with_its_batch() {
    let stack = stack().await;
    let lock = runs_and_skips(&stack, "ReportJsonPathArn").await;
    let records = stack.records(&lock).await;
    assert!(records.iter().any(|record| record.event == Event::End));
    fails(&stack, "FailingReportJsonPathArn").await;
}

#[tokio::test]
async fn the_jsonata_example_runs_skips_and_fails_with_its_batch() {
    let stack = stack().await;
    runs_and_skips(&stack, "ReportJsonataArn").await;
    fails(&stack, "FailingReportJsonataArn").await;
}

#[tokio::test]
async fn of_two_advisory_checks_at_once_at_least_one_proceeds() {
    let stack = stack().await;
    let machine = stack.fixture("CheckOnlyArn");
    let nothing = json!({});
    let (one, two) = tokio::join!(
        stack.start_machine(machine, &nothing),
        stack.start_machine(machine, &nothing)
    );
    let ended = stack.wait_all(&[one, two], 40).await;
    assert!(ended.iter().all(|e| e.status == "SUCCEEDED"), "{ended:?}");
    let ran: Vec<_> = ended.iter().filter(|ended| ended.ran()).collect();
    assert!(!ran.is_empty(), "{ended:?}");
    for run in &ran {
        let task = run.output["TaskArn"].as_str().expect("an ARN");
        let records = stack.records_of_task(task).await;
        assert!(records.iter().any(|record| record.event == Event::End));
    }
    for other in ended.iter().filter(|ended| !ended.ran()) {
        assert_eq!(other.output["proceed"], false, "{other:?}");
        assert_eq!(other.output["advisory"], true, "{other:?}");
    }
    eprintln!("figure: {} of 2 advisory checks went on", ran.len());
}

/// Starts a run, and beside it one that is skipped. Returns the lock.
async fn runs_and_skips(stack: &Stack, workflow: &str) -> String {
    let (machine, lock) = (stack.fixture(workflow), unique("report"));
    let input = json!({ "lock": lock, "month": "2026-03" });
    let first = stack.start_machine(machine, &input).await;
    let deadline = deadline(20);
    while stack.held(&lock).await == 0 {
        assert!(now() < deadline, "{first} takes no lock");
        pause(50).await;
    }
    let second = stack.start_machine(machine, &input).await;
    let (first, second) = (stack.wait(&first, 40).await, stack.wait(&second, 40).await);
    for ended in [&first, &second] {
        assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
        assert_eq!(ended.output["month"], "2026-03", "{ended:?}");
    }
    assert!(output(&first.output)["TaskArn"].is_string(), "{first:?}");
    let skip = output(&second.output);
    assert_eq!(skip["status"], "skipped", "{second:?}");
    assert!(skip["holder"].is_string(), "{second:?}");
    let visited = |name: &str, events: &[aws_sdk_sfn::types::HistoryEvent]| {
        let mut entered = events
            .iter()
            .filter_map(|e| e.state_entered_event_details());
        entered.any(|details| details.name() == name)
    };
    let (ran, skipped) = (
        stack.history(&first.arn).await,
        stack.history(&second.arn).await,
    );
    assert!(visited("Report Done", &ran), "{ran:?}");
    assert!(visited("Nothing To Do", &skipped), "{skipped:?}");
    ran_alone(stack, &lock, 1).await;
    lock
}

/// Returns the output of the child, which the JSONPath example keeps one level deeper.
fn output(parent: &Value) -> &Value {
    let run = &parent["run"];
    run.get("output").unwrap_or(run)
}

async fn fails(stack: &Stack, workflow: &str) {
    let (machine, lock) = (stack.fixture(workflow), unique("report-fails"));
    let started = stack.start_machine(machine, &json!({ "lock": lock })).await;
    let ended = stack.wait(&started, 40).await;
    assert_eq!(ended.status, "FAILED", "{ended:?}");
    assert_eq!(ended.error, "States.TaskFailed", "{ended:?}");
    let cause: Value = serde_json::from_str(&ended.cause).expect("the child as JSON");
    assert_eq!(cause["Status"], "FAILED", "{cause}");
    assert_eq!(cause["Error"], "States.TaskFailed", "{cause}");
    let inner = cause["Cause"].as_str().expect("the task as JSON");
    let task: Value = serde_json::from_str(inner).expect("the task as JSON");
    assert_eq!(task["Containers"][0]["ExitCode"], 1, "{task}");
    assert_eq!(stack.held(&lock).await, 0, "the lock after a failure");
    ran_alone(stack, &lock, 1).await;
}

/// Starts a workflow that holds `lock` and works for long. Returns the ARN of the execution.
async fn holds(stack: &Stack, lock: &str) -> String {
    let machine = stack.long_machine().await;
    let arn = stack.start_machine(&machine, &request(lock)).await;
    let deadline = deadline(20);
    while stack.held(lock).await == 0 {
        assert!(now() < deadline, "{arn} takes no lock");
        pause(50).await;
    }
    arn
}

fn request(lock: &str) -> Value {
    json!({ "lock": lock, "leaseSeconds": 6, "heartbeatSeconds": 2 })
}

#[tokio::test]
async fn the_event_of_an_aborted_workflow_frees_its_lock() {
    let (stack, lock) = (stack().await, unique("own-event"));
    let arn = holds(&stack, &lock).await;
    let killed = now();
    stack.abort(&arn).await;

    let free = stack.wait_free(&lock, 15).await;

    eprintln!("figure: own workflow aborted, events on: free {free} ms later");
    let history = stack.outcomes(&lock).await;
    assert_eq!(history, ["recovered"], "{} ms", now() - killed);
}

#[tokio::test]
async fn without_its_event_the_next_acquire_frees_a_dead_workflows_lock() {
    let (stack, lock) = (stack().await, unique("own-asked"));
    stack.drop_events(&lock).await;
    let arn = holds(&stack, &lock).await;
    let killed = now();
    stack.abort(&arn).await;

    let machine = stack.small_machine(&stack.functions(), Turn::Poll).await;
    let next = stack.start_machine(&machine, &request(&lock)).await;
    let ended = stack.wait(&next, 30).await;

    eprintln!(
        "figure: own workflow aborted, events off: the next has run {} ms later",
        now() - killed
    );
    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    stack.deliver_events(&lock).await;
    assert_eq!(stack.outcomes(&lock).await, ["recovered", "succeeded"]);
}
