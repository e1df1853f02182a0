//! A user's workflow as the work of a run: its output, its failures, the exclusion, and every way
//! to die.

use crate::storm::tickets;
use crate::support::{alone, at_work, connect, in_queue, one_that_ran, runs_after};
use crate::{ran_alone, ran_alone_but_stopped, stack};
use lockstep::domain::RunOutcome;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{
    BatchInput, Ended, Event, Habit, Stack, ending, now, pause, runs, unique,
};
use serde_json::{Value, json};

/// Returns the input of a run whose workflow runs the batch.
async fn input(stack: &Stack, lock: &str) -> BatchInput {
    let machine = stack.guarded_machine().await;
    in_workflow(stack, lock, &machine, 0.5)
}

fn in_workflow(stack: &Stack, lock: &str, machine: &str, seconds: f64) -> BatchInput {
    let batch = stack.batch_input(lock).seconds(seconds);
    batch.in_workflow(machine)
}

/// Returns the ARN of the execution that does the work of the run with `token`.
fn child(input: &BatchInput, lock: &str, token: u64) -> String {
    let machine = input.json()["work"]["startExecution"]["StateMachineArn"].as_str();
    let execution = machine
        .expect("an ARN")
        .replace(":stateMachine:", ":execution:");
    let lock = lock.replace('_', "_5F");
    format!("{execution}:lockstep-{lock}-{token}-0")
}

/// Starts a run that works for a minute. Returns the input of a short run on its lock, and the run
/// at work.
async fn long(stack: &Stack, lock: &str) -> (BatchInput, lockstep_tests::stack::AtWork) {
    let machine = stack.guarded_machine().await;
    let first = in_workflow(stack, lock, &machine, 60.0);
    let first = at_work(stack, &first).await;
    stack.wait_task(&first.task, "RUNNING", 15).await;
    (in_workflow(stack, lock, &machine, 0.5), first)
}

#[tokio::test]
async fn a_run_returns_its_workflows_output_and_frees_the_lock() {
    let (stack, lock) = (stack().await, unique("flow"));
    let input = input(&stack, &lock).await;

    let ended = stack.run(&input, 40).await;

    assert!(ended.ran(), "{ended:?}");
    let [rows, code] = ["rows", "exitCode"].map(|field| ended.output[field].clone());
    assert_eq!((rows, code), (json!(7), json!(0)));
    assert_eq!(stack.held(&lock).await, 0);
    ran_alone(&stack, &lock, 1).await;
}

#[tokio::test]
async fn of_five_at_once_one_works_and_those_in_the_queue_follow_in_turn() {
    let (stack, lock) = (stack().await, unique("flows"));
    let input = input(&stack, &lock).await;
    let skips: Vec<_> = std::iter::repeat_n(input.clone(), 5).collect();
    let (_, others) = one_that_ran(stack.wait_all(&stack.start_all(&skips).await, 60).await);
    assert!(
        others.iter().all(|other| other.answer() == "skipped"),
        "{others:?}"
    );

    let queued: Vec<_> = std::iter::repeat_n(input.queued(), 4).collect();
    let ended = stack.wait_all(&stack.start_all(&queued).await, 120).await;

    assert!(ended.iter().all(|run| run.ran()), "{ended:?}");
    ran_alone(&stack, &lock, 5).await;
}

#[tokio::test]
async fn a_failing_workflow_fails_the_execution_with_its_own_error_and_cause() {
    let (stack, lock) = (stack().await, unique("flow-fails"));
    let fails = json!({
        "StartAt": "Fail",
        "States": { "Fail": { "Type": "Fail", "Error": "Etl.BadRow", "Cause": "row 7 has no key" } }
    });
    let machine = stack.guarded(&fails).await;
    let failed = stack
        .run(&in_workflow(&stack, &lock, &machine, 0.1), 60)
        .await;

    assert_eq!(failed.status, "FAILED", "{failed:?}");
    assert_eq!(
        (&*failed.error, &*failed.cause),
        ("Etl.BadRow", "row 7 has no key")
    );
    assert_eq!(stack.held(&lock).await, 0);
}

#[tokio::test]
async fn a_workflow_that_exclusive_run_may_not_start_fails_and_frees_the_lock() {
    let (stack, lock) = (stack().await, unique("flow-denied"));
    let other = stack.long_machine().await;

    let failed = stack
        .run(&in_workflow(&stack, &lock, &other, 0.1), 30)
        .await;

    assert_eq!(failed.status, "FAILED", "{failed:?}");
    assert!(failed.error.starts_with("StepFunctions."), "{failed:?}");
    stack.wait_free(&lock, 30).await;
}

/// The result of the waiting state contains the input and the output of the child. The error of a
/// result that is too large has a catcher of its own.
#[tokio::test]
async fn an_output_that_is_too_large_fails_the_run_but_not_the_work() {
    let (stack, lock) = (stack().await, unique("flow-large"));
    let text = "{% $join($map([1..26200], function($n) { '0123456789' })) %}";
    let large = json!({
        "QueryLanguage": "JSONata",
        "StartAt": "Large",
        "States": { "Large": { "Type": "Pass", "Output": text, "End": true } }
    });
    let machine = stack.guarded(&large).await;

    let failed = stack
        .run(&in_workflow(&stack, &lock, &machine, 0.1), 30)
        .await;

    let end = (&*failed.status, &*failed.error);
    assert_eq!(end, ("FAILED", "States.DataLimitExceeded"), "{failed:?}");
    let free = stack.wait_free(&lock, 30).await;
    eprintln!("figure: an output too large for a result: free {free} ms later");
    assert_eq!(stack.outcomes(&lock).await, ["succeeded"]);
}

#[tokio::test]
async fn a_run_that_dies_takes_its_workflow_with_it_before_the_next_one_starts() {
    let (stack, lock) = (stack().await, unique("flow-parent"));
    let (input, first) = long(&stack, &lock).await;
    let next = in_queue(&stack, &input, 1).await;
    let killed = now();

    stack.abort(&first.arn).await;

    let work = stack.wait(&child(&input, &lock, first.token), 20).await;
    assert_eq!(work.status, "ABORTED", "{work:?}");
    runs_after(
        &stack,
        "StopExecution of a guarded workflow's run",
        &lock,
        &next,
        killed,
    )
    .await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
    let entry = stack.entry(&lock, first.token).await.expect("an entry");
    let (outcome, evidence) = ending(&entry);
    assert_eq!(outcome, RunOutcome::Recovered, "{entry:?}");
    assert!(evidence.contains("its work is ABORTED"), "{evidence}");
    assert!(stack.run(&input, 60).await.ran(), "the lock is usable");
    let expected = Expected::permits(1).stops(&first.arn);
    stack.judge(&lock, &expected).await;
}

/// Stopping a nested execution is best effort in Step Functions.
#[tokio::test]
async fn a_workflow_that_outlives_its_run_is_stopped_by_lockstep() {
    let (stack, lock) = (stack().await, unique("flow-outlives"));
    // The run is stopped before Step Functions receives the answer to its start of the child.
    stack.switch_on(Habit::StartAnswerLost(60), &lock).await;
    let machine = stack.guarded_machine().await;
    let first = at_work(&stack, &in_workflow(&stack, &lock, &machine, 60.0)).await;
    let input = in_workflow(&stack, &lock, &machine, 0.5);
    let next = in_queue(&stack, &input, 1).await;
    stack.switch_off(Habit::StartAnswerLost(60), &lock).await;
    let killed = now();

    stack.abort(&first.arn).await;

    let work = stack.wait(&child(&input, &lock, first.token), 30).await;
    assert_eq!(work.status, "ABORTED", "{work:?}");
    assert!(work.cause.contains(&lock), "stopped by Lockstep: {work:?}");
    runs_after(&stack, "a workflow left behind", &lock, &next, killed).await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn a_start_whose_answer_is_lost_starts_no_second_workflow() {
    let (stack, lock) = (stack().await, unique("flow-answer"));
    // The child is found running after 1 s, and ended after 8 s.
    for seconds in [1, 8] {
        let input = input(&stack, &lock).await;
        stack
            .switch_on(Habit::StartAnswerLost(seconds), &lock)
            .await;

        let ended = stack.run(&input, 60).await;

        assert!(ended.ran(), "{ended:?}");
        assert_eq!(ended.output["rows"], 7, "{ended:?}");
        stack
            .switch_off(Habit::StartAnswerLost(seconds), &lock)
            .await;
    }
    ran_alone(&stack, &lock, 2).await;
}

#[tokio::test]
async fn a_workflow_that_is_stopped_from_outside_fails_its_run() {
    let (stack, lock) = (stack().await, unique("flow-child"));
    let (input, first) = long(&stack, &lock).await;
    let next = in_queue(&stack, &input, 1).await;
    let killed = now();

    stack.abort(&child(&input, &lock, first.token)).await;

    let ended = stack.wait(&first.arn, 20).await;
    assert_eq!(ended.error, "Lockstep.WorkStopped", "{ended:?}");
    runs_after(
        &stack,
        "StopExecution of a guarded workflow",
        &lock,
        &next,
        killed,
    )
    .await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn when_a_run_and_its_workflow_die_the_next_run_starts() {
    let (stack, lock) = (stack().await, unique("flow-both"));
    let (input, first) = long(&stack, &lock).await;
    let next = in_queue(&stack, &input, 1).await;
    let killed = now();

    let work = child(&input, &lock, first.token);
    tokio::join!(stack.abort(&first.arn), stack.abort_if_running(&work));

    runs_after(&stack, "StopExecution of both", &lock, &next, killed).await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn a_workflow_over_its_time_is_stopped_before_the_next_one_starts() {
    let (stack, lock) = (stack().await, unique("flow-late"));
    let machine = stack.guarded_machine().await;
    stack.switch_on(Habit::SyncTimeoutStopsNothing, &lock).await;
    let input = in_workflow(&stack, &lock, &machine, 60.0);
    let first = at_work(&stack, &input.with("maxRunSeconds", 6)).await;
    let input = in_workflow(&stack, &lock, &machine, 0.5);
    let next = in_queue(&stack, &input, 1).await;

    let ended = stack.wait(&first.arn, 30).await;

    assert_eq!(ended.error, "States.Timeout", "{ended:?}");
    runs_after(
        &stack,
        "maxRunSeconds of a guarded workflow",
        &lock,
        &next,
        now(),
    )
    .await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn a_replaced_run_and_its_workflow_are_stopped_and_the_newcomer_runs() {
    let (stack, lock) = (stack().await, unique("flow-replaced"));
    let (input, first) = long(&stack, &lock).await;
    let asked = now();

    let next = stack.start(&input.with("overlap", "replace")).await;

    runs_after(&stack, "replace of a guarded workflow", &lock, &next, asked).await;
    let ended = stack.wait(&first.arn, 10).await;
    assert_eq!(ended.status, "ABORTED", "{ended:?}");
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test]
async fn a_redriven_run_starts_its_workflow_anew_under_the_same_grant() {
    let (stack, lock) = (stack().await, unique("flow-redriven"));
    let (_, first) = long(&stack, &lock).await;
    stack.abort(&first.arn).await;
    pause(1000).await;

    stack.redrive(&first.arn).await;

    let records = stack.wait_for(&lock, Event::Start, 2, 120).await;
    let all = runs(&records);
    assert_eq!(all[1].token(), first.token, "{all:?}");
    assert_ne!(all[1].task, first.task);
    stack.abort(&first.arn).await;
    stack.wait_free(&lock, 90).await;
    ran_alone_but_stopped(&stack, &lock, 2, &[&first.arn]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make storm"]
async fn five_hundred_that_queue_run_in_the_order_of_their_tickets() {
    let (count, lock) = (500, unique("flow-storm"));
    let _alone = alone().await;
    let stack = connect().await;
    let pass = json!({ "StartAt": "Only", "States": { "Only": { "Type": "Pass", "End": true } } });
    let machine = stack.guarded(&pass).await;
    let first = json!({ "lock": lock, "holder": "first", "leaseSeconds": 3600 });
    let first = stack
        .invoke(stack.output("AcquireLockFunctionArn"), &first)
        .await;
    let input = json!({
        "lock": lock, "overlap": "queue", "maxQueue": 500, "leaseSeconds": 300,
        "work": { "startExecution": { "StateMachineArn": machine }, "grantField": "grant" }
    });
    let exclusive_run = stack.output("ExclusiveRunStateMachineArn");
    let arns = stack.start_many(exclusive_run, &input, count).await;
    stack.wait_waiting(&lock, count, 300).await;
    let tickets = tickets(&stack, &lock).await;

    let began = now();
    let release = json!({ "grant": first.expect("a grant")["grant"], "outcome": "succeeded" });
    let released = stack
        .invoke(stack.output("ReleaseLockFunctionArn"), &release)
        .await;
    released.expect("a release");
    let ended = stack.wait_all(&arns, 900).await;

    eprintln!("figure: {count} workflows in turn: {} ms", now() - began);
    let failed: Vec<_> = ended.iter().filter(|end| !end.worked()).collect();
    assert!(
        failed.is_empty(),
        "{} failed: {:?}",
        failed.len(),
        failed.first()
    );
    let token = |end: &Ended| end.output["grant"]["token"].as_u64().expect("a token");
    let mut by_token: Vec<_> = ended.iter().map(|end| (token(end), &end.arn)).collect();
    by_token.sort();
    let order: Vec<_> = by_token.iter().map(|(_, arn)| tickets[*arn]).collect();
    assert!(
        order.is_sorted_by(|a, b| a < b),
        "tickets by turn: {order:?}"
    );
    assert_eq!(
        (stack.held(&lock).await, stack.waiting(&lock).await),
        (0, 0)
    );
}

#[tokio::test]
async fn a_workflow_succeeds_once_per_run_key() {
    let (stack, lock) = (stack().await, unique("flow-key"));
    let input = input(&stack, &lock).await.with("runKey", "tick-6");

    let first = stack.run(&input, 40).await;
    let second = stack.run(&input, 40).await;

    assert!(first.ran(), "{first:?}");
    let answer: &Value = &second.output["status"];
    assert_eq!(answer, "duplicate", "{second:?}");
    ran_alone(&stack, &lock, 1).await;
}
