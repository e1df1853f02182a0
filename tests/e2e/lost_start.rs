//! RunTask fails although ECS has started the task. The next run starts once that task has stopped.

use crate::stack;
use futures_util::future::join_all;
use lockstep_tests::stack::{BatchInput, Ended, Habit, Stack, unique};
use lockstep_tests::yaml::to_json;
use lockstep_weave::{Options, weave};
use serde_json::{Value, json};

/// An error after which the task may have been started.
const ERROR: &str = "ECS.ServerException";

const LOST: Habit = Habit::RunTaskFails("ServerException", true);

/// Returns when each task that mentions `text` was created and when it stopped, as ECS has recorded
/// it, in order. Checks that each task had stopped before the next was created.
async fn one_at_a_time(stack: &Stack, text: &str) -> Vec<(f64, f64)> {
    stack.containers(text, 120).await;
    let tasks = stack.tasks(text).await;
    let time = |task: &Value, name: &str| {
        task[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {task}"))
    };
    let times = tasks
        .iter()
        .map(|task| (time(task, "createdAt"), time(task, "stoppedAt")));
    let mut times: Vec<_> = times.collect();
    times.sort_by(|one, other| one.0.total_cmp(&other.0));
    for pair in times.windows(2) {
        assert!(
            pair[0].1 <= pair[1].0,
            "two tasks at once of {text}: {tasks:#?}"
        );
    }
    times
}

fn failed(ended: &Ended, error: &str) -> bool {
    (ended.status.as_str(), ended.error.as_str()) == ("FAILED", error)
}

/// Loses the answer to the first start of a task, and then starts another run under `overlap`.
async fn another_run(stack: &Stack, overlap: &str, run_key: Option<&str>) {
    let lock = unique("lost-start");
    let input = stack.batch_input(&lock);
    let input = run_key.map_or(input.clone(), |key| input.with("runKey", key));
    stack.switch_on(LOST, &lock).await;

    let first = stack.run(&input.clone().seconds(60.0), 30).await;
    stack.switch_off(LOST, &lock).await;
    let next = stack
        .run(&input.seconds(0.5).with("overlap", overlap), 120)
        .await;

    let case = format!("{overlap}, run key {run_key:?}");
    assert!(failed(&first, ERROR), "{case}: {first:?}");
    // Under `fail` the run does not wait for the task: it is refused while the task still runs.
    let refused = overlap == "fail" && failed(&next, "Lockstep.LockHeld");
    assert!(refused || next.ran(), "{case}: {next:?}");
    let count = if refused { 1 } else { 2 };
    let waited = next.stopped.saturating_sub(first.stopped);
    eprintln!("figure: lost start, {case}: the next run ends {waited} ms after the failure");
    assert_eq!(one_at_a_time(stack, &lock).await.len(), count, "{case}");
}

#[tokio::test]
async fn the_task_of_a_lost_answer_is_stopped_before_another_run_starts() {
    let stack = stack().await;
    let policies = ["skip", "fail", "queue", "replace"];
    let cases = policies.map(|overlap| [(overlap, None), (overlap, Some("tick"))]);

    join_all(
        cases
            .concat()
            .into_iter()
            .map(|(overlap, run_key)| another_run(&stack, overlap, run_key)),
    )
    .await;
}

/// Returns a workflow that starts exclusive-run again when it fails.
async fn retrying(stack: &Stack, input: &BatchInput) -> String {
    let started_by = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID";
    let input = input
        .clone()
        .with(started_by, "{% $states.context.Execution.Id %}");
    let run = json!({
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {
            "StateMachineArn": stack.output("ExclusiveRunStateMachineArn"),
            "Input": input.json(),
        },
        // The interval is longer than it takes to switch the habit off.
        "Retry": [{ "ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 3, "MaxAttempts": 2 }],
        "End": true
    });
    let states = json!({ "QueryLanguage": "JSONata", "StartAt": "Run", "States": { "Run": run } });
    stack.guarded(&states).await
}

#[tokio::test]
async fn a_retry_of_the_caller_waits_for_the_task_of_the_lost_answer() {
    let stack = stack().await;
    let of_caller = async |run_key: Option<&str>| {
        let lock = unique("lost-retry");
        let input = stack.batch_input(&lock).seconds(40.0);
        let input = run_key.map_or(input.clone(), |key| input.with("runKey", key));
        let machine = retrying(&stack, &input).await;
        stack.switch_on(LOST, &lock).await;

        let caller = stack.start_machine(&machine, &json!({})).await;
        stack.wait_fired(&lock, 1, 30).await;
        stack.switch_off(LOST, &lock).await;
        let ended = stack.wait(&caller, 150).await;

        assert_eq!(ended.status, "SUCCEEDED", "{run_key:?}: {ended:?}");
        assert!(ended.output["Output"]["TaskArn"].is_string(), "{ended:?}");
        assert_eq!(one_at_a_time(&stack, &lock).await.len(), 2, "{run_key:?}");
    };
    tokio::join!(of_caller(None), of_caller(Some("tick")));
}

/// Returns a definition whose own state runs the batch for `seconds` of its input, with the lock
/// woven in.
fn woven(stack: &Stack, lock: &str, overlap: &str) -> Value {
    let definition = json!({ "QueryLanguage": "JSONata", "StartAt": "Report", "States": { "Report": {
        "Type": "Task",
        "Resource": "arn:aws:states:::ecs:runTask.sync",
        "Arguments": {
            "LaunchType": "FARGATE",
            "Cluster": stack.fixture("ClusterArn"),
            "TaskDefinition": stack.fixture("BatchTaskDefinitionArn"),
            "NetworkConfiguration": { "AwsvpcConfiguration": { "Subnets": ["subnet-1"] } },
            "Overrides": { "ContainerOverrides": [{ "Name": "batch", "Environment": [
                { "Name": "BATCH_LABEL", "Value": lock },
                { "Name": "BATCH_SECONDS", "Value": "{% $string($states.input.seconds) %}" }
            ] }] }
        },
        "End": true
    } } });
    let overlap = json!({ "overlap": overlap });
    let options = Options {
        lock: lock.to_owned(),
        options: serde_json::from_value(overlap).expect("a policy"),
        ..Options::default()
    };
    let text = weave(&definition.to_string(), &options).expect("woven");
    let functions = [
        "AcquireLockFunctionArn",
        "HeartbeatFunctionArn",
        "ReleaseLockFunctionArn",
    ];
    let filled = functions.into_iter().fold(text, |text, name| {
        text.replace(&format!("${{{name}}}"), stack.output(name))
    });
    to_json(&filled)
}

/// Returns the woven `states` as one state with a retry, as `ExclusiveStates.addRetry` of CDK makes
/// it.
fn retried(states: &Value) -> Value {
    json!({ "QueryLanguage": "JSONata", "StartAt": "Exclusive", "States": { "Exclusive": {
        "Type": "Parallel",
        "Branches": [states],
        "Retry": [{ "ErrorEquals": ["States.ALL"], "IntervalSeconds": 3, "MaxAttempts": 3 }],
        "End": true
    } } })
}

#[tokio::test]
async fn a_woven_workflow_waits_for_the_task_of_a_lost_answer() {
    let stack = stack().await;
    let of_policy = async |overlap: &'static str, seconds: u32| {
        let lock = unique("lost-woven");
        let machine = stack.guarded(&woven(&stack, &lock, overlap)).await;
        stack.switch_on(LOST, &lock).await;

        // The batch outlasts the thirty seconds for which a failed workflow always keeps its
        // permit.
        let first = stack
            .start_machine(&machine, &json!({ "seconds": seconds }))
            .await;
        let first = stack.wait(&first, 30).await;
        stack.switch_off(LOST, &lock).await;
        let next = stack
            .start_machine(&machine, &json!({ "seconds": 1 }))
            .await;
        let next = stack.wait(&next, 180).await;

        assert!(failed(&first, ERROR), "{overlap}: {first:?}");
        assert!(next.ran(), "{overlap}: {next:?}");
        assert_eq!(one_at_a_time(&stack, &lock).await.len(), 2, "{overlap}");
        let waited = next.stopped.saturating_sub(first.stopped);
        eprintln!(
            "figure: lost start, woven, {overlap}: the next run ends {waited} ms after the failure"
        );
    };
    tokio::join!(
        of_policy("skip", 50),
        of_policy("queue", 50),
        of_policy("replace", 50),
    );
}

#[tokio::test]
async fn a_retry_around_woven_states_waits_for_the_task_of_the_lost_answer() {
    let stack = stack().await;
    let lock = unique("lost-inner-retry");
    let machine = stack.guarded(&retried(&woven(&stack, &lock, "skip"))).await;
    stack.switch_on(LOST, &lock).await;

    let execution = stack
        .start_machine(&machine, &json!({ "seconds": 50 }))
        .await;
    stack.wait_fired(&lock, 1, 30).await;
    stack.switch_off(LOST, &lock).await;
    let ended = stack.wait(&execution, 240).await;

    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    assert_eq!(one_at_a_time(&stack, &lock).await.len(), 2);
}

#[tokio::test]
async fn a_run_task_that_starts_nothing_is_called_again_until_one_task_runs() {
    let stack = stack().await;
    let (throttled, full) = (unique("throttled"), unique("no-capacity"));
    tokio::join!(
        starts_later(
            &stack,
            &throttled,
            Habit::RunTaskFails("ThrottlingException", false)
        ),
        starts_later(
            &stack,
            &full,
            Habit::RunTaskPlacesNothing("RESOURCE:MEMORY")
        ),
    );
}

async fn starts_later(stack: &Stack, lock: &str, habit: Habit) {
    stack.switch_on(habit, lock).await;
    let run = stack.start(&stack.batch_input(lock).seconds(1.0)).await;
    stack.wait_fired(lock, 3, 60).await;
    stack.switch_off(habit, lock).await;

    let ended = stack.wait(&run, 90).await;

    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    assert_eq!(one_at_a_time(stack, lock).await.len(), 1);
    assert_eq!(stack.outcomes(lock).await, ["succeeded"]);
}

/// A run that yields goes on without its permit. This run has no task yet that could go on.
#[tokio::test]
async fn a_run_that_yields_before_its_task_is_started_starts_none() {
    let (stack, lock) = (stack().await, unique("yields-early"));
    let throttled = Habit::RunTaskFails("ThrottlingException", false);
    let input = stack.batch_input(&lock).with("stalePolicy", "yield");
    stack.switch_on(throttled, &lock).await;
    let run = stack.start(&input.clone().with("maxRunSeconds", 3)).await;
    stack.wait_fired(&lock, 1, 30).await;
    stack.wait_free(&lock, 60).await;
    stack.switch_off(throttled, &lock).await;
    let next = stack.start(&input.seconds(20.0)).await;

    let ended = stack.wait(&run, 60).await;

    assert!(failed(&ended, "Lockstep.LeaseLost"), "{ended:?}");
    assert!(stack.wait(&next, 60).await.ran());
    assert_eq!(one_at_a_time(&stack, &lock).await.len(), 1);
}

#[tokio::test]
async fn the_lock_is_usable_after_a_run_task_that_started_nothing() {
    let stack = stack().await;
    for error in ["ClientException", "ServerException"] {
        let lock = unique("refused-start");
        let refused = Habit::RunTaskFails(error, false);
        stack.switch_on(refused, &lock).await;

        let first = stack.run(&stack.batch_input(&lock), 30).await;
        let held = stack.wait_free(&lock, 120).await;
        stack.switch_off(refused, &lock).await;

        assert!(failed(&first, &format!("ECS.{error}")), "{first:?}");
        eprintln!("figure: {error} of RunTask: the lock is free {held} ms after the run");
        assert!(
            stack
                .run(&stack.batch_input(&lock).seconds(0.2), 30)
                .await
                .ran()
        );
    }
}
