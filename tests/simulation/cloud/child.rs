//! `states:startExecution.sync:2`: Step Functions starts an execution under a given name, waits for
//! its end, and stops it if the waiting state ends first.
//!
//! To the witnesses, such a child is work like a task. It counts as ended as soon as it is stopped;
//! what it had started may work on for the time that a task may take to stop.

use super::run_task::{Awaited, Caller};
use super::tasks::{change, exits, ignores, work, work_until};
use super::{Batch, TaskRow, TaskStatus};
use crate::engine::{Slot, locked, race};
use crate::invoke::Failure;
use crate::witness;
use crate::world::World;
use lockstep::domain::{ExecutionArn, ExecutionDescription, ExecutionState, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// How long DescribeExecution may show an old state, in milliseconds.
const LAG: u64 = 5000;

/// The arguments of StartExecution
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>).
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct StartRequest {
    state_machine_arn: String,
    name: String,
    input: Value,
}

/// Runs an execution to its end. An execution that does not succeed fails the state.
pub(crate) async fn start_execution(caller: Caller, arguments: &Value) -> Result<Value, Failure> {
    let (world, execution) = (Arc::clone(&caller.world), &caller.execution);
    let request: StartRequest = serde_json::from_value(arguments.clone())
        .map_err(|error| Failure::new("States.Runtime", &error.to_string()))?;
    world.linger(50..=300).await;
    if world.fault(10) {
        world.count("StartExecution refused");
        let error = "StepFunctions.ThrottlingException";
        return Err(Failure::new(error, "simulated"));
    }
    let machine = request.state_machine_arn;
    let executions = machine.replace(":stateMachine:", ":execution:");
    let arn = format!("{executions}:{}", request.name);
    let mut over = begin(&world, execution, &arn, &request.input)?;
    // The answer is lost, and Step Functions repeats the call.
    if world.fault(50) {
        world.count("answers of StartExecution lost");
        world.linger(500..=60_000).await;
        over = begin(&world, execution, &arn, &request.input)?;
    }
    let child = Awaited {
        caller,
        arn: arn.clone(),
        over,
        finished: false,
    };
    child.end(50..=1000).await;
    let child = describe_now(&world, &arn, world.now()).unwrap_or_default();
    if child["Status"] != "SUCCEEDED" {
        return Err(Failure::new("States.TaskFailed", &child.to_string()));
    }
    let output = child["Output"].as_str().unwrap_or_default();
    let output: Value = serde_json::from_str(output).unwrap_or_default();
    Ok(json!({ "Status": "SUCCEEDED", "Output": output }))
}

/// Starts the execution, or returns the one that runs under this name.
fn begin(
    world: &Arc<World>,
    parent: &ExecutionArn,
    arn: &str,
    input: &Value,
) -> Result<Slot<i64>, Failure> {
    let invalid = |what: &str| Failure::new("StepFunctions.ValidationException", what);
    let mut cloud = locked(&world.cloud);
    if let Some(known) = cloud.tasks.get(arn) {
        if known.now.execution_ended().is_some() {
            let error = "StepFunctions.ExecutionAlreadyExistsException";
            return Err(Failure::new(error, arn));
        }
        return Ok(known.over.clone());
    }
    let batch: Batch = serde_json::from_value(input["batch"].clone())
        .map_err(|error| invalid(&error.to_string()))?;
    let token = input["lockstep"]["token"].as_u64();
    let row = TaskRow::new(world, &cloud, parent, token).ok_or_else(|| invalid("no execution"))?;
    let (signal, over) = (row.signal.clone(), row.over.clone());
    cloud.tasks.insert(arn.to_owned(), row);
    drop(cloud);
    witness::task_begins(world, arn);
    world.count("executions as work");
    world.spawn(live(Arc::clone(world), arn.to_owned(), batch, signal));
    Ok(over)
}

/// Plays the life of an execution that is work.
async fn live(world: Arc<World>, arn: String, batch: Batch, signal: Slot<()>) {
    change(&world, &arn, TaskStatus::Running, None);
    let code = match work_until(&world, &arn, &batch, &signal).await {
        Some(code) => code,
        None => {
            world.count("executions as work aborted");
            if let Some(row) = locked(&world.cloud).tasks.get(&arn) {
                row.over.put(143);
            }
            change(&world, &arn, TaskStatus::Stopping, None);
            ignores(&world, &arn, &batch);
            // What the execution had started works on for as long as it may.
            race(work(&world, &arn, &batch), world.sleep(batch.stopping)).await;
            143
        }
    };
    exits(&world, &arn);
    change(&world, &arn, TaskStatus::Stopped, Some(code));
}

/// Answers `aws-sdk:sfn:describeExecution` of a definition.
pub(crate) async fn describe_child(
    world: &Arc<World>,
    arguments: &Value,
) -> Result<Value, Failure> {
    world.linger(5..=40).await;
    if world.fault(20) {
        return Err(Failure::new("Sfn.ThrottlingException", "simulated"));
    }
    let arn = arguments["ExecutionArn"].as_str().unwrap_or_default();
    describe_now(world, arn, shown(world))
        .ok_or_else(|| Failure::new("Sfn.ExecutionDoesNotExistException", arn))
}

/// Returns what the API of Step Functions shows of an execution that is work. The outer `None` says
/// that `arn` is no such execution.
pub(super) fn describe(world: &World, arn: &str) -> Option<Option<ExecutionDescription>> {
    let time = shown(world);
    let cloud = locked(&world.cloud);
    let row = cloud.tasks.get(arn).filter(|row| row.request.is_none())?;
    Some((row.requested <= time).then(|| {
        let at = row.at(time);
        let state = ExecutionState::of_status(at.execution_status());
        ExecutionDescription {
            stopped_at: at.execution_ended().map(Timestamp::from_millis),
            ..state.expect("a status").into()
        }
    }))
}

fn describe_now(world: &World, arn: &str, time: u64) -> Option<Value> {
    let cloud = locked(&world.cloud);
    let row = cloud.tasks.get(arn).filter(|row| row.requested <= time)?;
    let status = row.at(time).execution_status();
    let mut description = json!({ "ExecutionArn": arn, "Status": status });
    match status {
        "SUCCEEDED" => description["Output"] = "{\"rows\":7}".into(),
        "FAILED" => {
            description["Error"] = "Batch.Failed".into();
            description["Cause"] = "it refused the input".into();
        }
        _ => {}
    }
    Some(description)
}

fn shown(world: &World) -> u64 {
    let now = world.now();
    match world.fault(100) {
        true => now - world.number(0..=LAG),
        false => now,
    }
}
