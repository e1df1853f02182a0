//! `ecs:runTask.sync`: Step Functions starts a task, waits for its end, and stops it if the waiting
//! state ends first.

use super::{TaskRow, stop_task, tasks};
use crate::cloud::Batch;
use crate::engine::{Slot, locked};
use crate::invoke::Failure;
use crate::world::World;
use crate::{bill, witness};
use lockstep::domain::ExecutionArn;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The arguments of RunTask that the workflows here use
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html>).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct TaskRequest {
    #[serde(default = "default_cluster")]
    pub(crate) cluster: String,
    pub(crate) task_definition: String,
    #[serde(default)]
    pub(crate) launch_type: Option<String>,
    #[serde(default)]
    pub(crate) group: Option<String>,
    #[serde(default)]
    pub(crate) overrides: Overrides,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Overrides {
    #[serde(default)]
    pub(crate) container_overrides: Vec<ContainerOverride>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct ContainerOverride {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) command: Vec<String>,
    #[serde(default)]
    pub(crate) environment: Vec<Variable>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: String,
}

fn default_cluster() -> String {
    "default".into()
}

impl TaskRequest {
    /// Returns the group. Without one, ECS takes the family.
    pub(crate) fn group(&self) -> String {
        let family = || format!("family:{}", self.family());
        self.group.clone().unwrap_or_else(family)
    }

    pub(crate) fn family(&self) -> &str {
        let definition = self.task_definition.rsplit('/').next().unwrap_or_default();
        definition.split(':').next().unwrap_or_default()
    }

    fn container(&self) -> Option<&ContainerOverride> {
        let mut containers = self.overrides.container_overrides.iter();
        containers.find(|container| container.name == "job")
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let variables = &self.container()?.environment;
        let found = variables.iter().find(|variable| variable.name == name);
        Some(found?.value.as_str())
    }

    /// Returns what the container does, as its command says.
    fn batch(&self) -> Option<Batch> {
        serde_json::from_str(self.container()?.command.first()?).ok()
    }
}

/// A state that starts work and waits for it.
pub(crate) struct Caller {
    pub(crate) world: Arc<World>,
    pub(crate) execution: ExecutionArn,
    pub(crate) timed_out: Arc<AtomicBool>,
}

/// Work that a state waits for: a task or an execution.
pub(super) struct Awaited {
    pub(super) caller: Caller,
    pub(super) arn: String,
    pub(super) over: Slot<i64>,
    pub(super) finished: bool,
}

impl Awaited {
    /// Waits for the end of the work and for the `delay` until the state learns of it. Returns the
    /// exit code.
    pub(super) async fn end(mut self, delay: RangeInclusive<u64>) -> i64 {
        bill::event(&self.caller.world);
        let code = self.over.wait().await;
        self.caller.world.linger(delay).await;
        self.finished = true;
        code
    }
}

/// Runs a task to its end. A container that does not exit with 0 fails the state.
pub(crate) async fn run_task(caller: Caller, arguments: &Value) -> Result<Value, Failure> {
    let world = Arc::clone(&caller.world);
    let request: TaskRequest = serde_json::from_value(arguments.clone())
        .map_err(|error| Failure::new("States.Runtime", &error.to_string()))?;
    world.linger(100..=500).await;
    if world.fault(10) {
        world.count("RunTask refused");
        return Err(Failure::new("ECS.ThrottlingException", "simulated"));
    }
    let (arn, over) = begin_task(&world, &caller.execution, request)?;
    // The task starts, and its state gets an error: nothing waits for the task, and nothing stops
    // it.
    if world.fault(20) {
        world.count("answers of RunTask lost");
        return Err(Failure::new("ECS.ServerException", "simulated"));
    }
    let task = Awaited {
        caller,
        arn: arn.clone(),
        over,
        finished: false,
    };
    let code = task.end(100..=2000).await;
    let task = description(&world, &arn, code);
    if code == 0 {
        return Ok(task);
    }
    Err(Failure::new("States.TaskFailed", &task.to_string()))
}

fn description(world: &World, arn: &str, code: i64) -> Value {
    let cloud = locked(&world.cloud);
    let row = cloud.tasks.get(arn);
    let request = row.and_then(|row| row.request.as_ref());
    let stopping = row.and_then(|row| row.now.stopping);
    json!({
        "TaskArn": arn,
        "Group": request.map(TaskRequest::group),
        "LastStatus": "STOPPED",
        "DesiredStatus": "STOPPED",
        "StopCode": stopping.map(|(_, code)| code),
        "StoppingAt": stopping.map(|(at, _)| at),
        "ExecutionStoppedAt": row.and_then(|row| row.now.exited),
        "StoppedReason": "Essential container in task exited",
        "Containers": [{ "Name": "job", "ExitCode": code, "LastStatus": "STOPPED" }],
        "Overrides": request.map(|request| &request.overrides),
    })
}

/// Stops the task, as well as Step Functions can, if the state has ended before its work.
impl Drop for Awaited {
    fn drop(&mut self) {
        let Caller {
            world,
            execution,
            timed_out,
        } = &self.caller;
        if self.finished || world.is_over() {
            return;
        }
        let cloud = locked(&world.cloud);
        let row = cloud.executions.get(execution);
        let execution_ended = row.is_some_and(|row| row.ended.is_some());
        drop(cloud);
        if !execution_ended {
            witness::workflow_stops_task(world, execution);
        }
        let timed_out = timed_out.load(Ordering::Relaxed);
        let left = match (execution_ended, world.is_calm()) {
            _ if timed_out => !world.timeouts_stop,
            (true, false) => world.chance(400),
            (true, true) => world.chance(100),
            // The branch of the state was ended.
            (false, _) => world.fault(250),
        };
        if left {
            world.count(if timed_out {
                "tasks left behind by a time-out"
            } else {
                "tasks left behind"
            });
            return;
        }
        let (later, task) = (Arc::clone(world), self.arn.clone());
        world.spawn(async move {
            later.linger(100..=3000).await;
            stop_task(&later, &task, "its state has ended");
        });
    }
}

/// Begins a task, which lists show after a while.
pub(crate) fn begin_task(
    world: &Arc<World>,
    execution: &ExecutionArn,
    request: TaskRequest,
) -> Result<(String, Slot<i64>), Failure> {
    let invalid = |what: &str| Failure::new("ECS.InvalidParameterException", what);
    let batch = request.batch().ok_or_else(|| invalid("no command"))?;
    let token = request.variable("LOCKSTEP_FENCING_TOKEN");
    let token = token.and_then(|token| token.parse().ok());
    let lag = if world.fault(100) { 1500 } else { 0 };
    let mut cloud = locked(&world.cloud);
    let row =
        TaskRow::new(world, &cloud, execution, token).ok_or_else(|| invalid("no execution"))?;
    let number = cloud.tasks.len();
    let arn = format!(
        "arn:aws:ecs:eu-west-1:1:task/{}/{number:04}",
        request.cluster
    );
    let row = TaskRow {
        request: Some(request),
        listed: world.now() + lag,
        ..row
    };
    let (signal, over) = (row.signal.clone(), row.over.clone());
    cloud.tasks.insert(arn.clone(), row);
    drop(cloud);
    witness::task_begins(world, &arn);
    world.spawn(tasks::live(Arc::clone(world), arn.clone(), batch, signal));
    Ok((arn, over))
}
