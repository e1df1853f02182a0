//! The event *ECS Task State Change*.
//!
//! The caller of RunTask sets the task group, which names the lock and the hash of the holder. So the event
//! alone shows which run the task belongs to. The fencing token is in the environment of the container
//! overrides.

use super::super::parse::{InvalidRequest, parse_in, parse_time};
use super::{DETAIL, Trigger};
use lockstep_core::domain::{Container, FencingToken, Task, Timestamp, parse_group};
use serde::Deserialize;
use serde_json::Value;

/// The environment variable with the fencing token of a container's run.
const TOKEN: &str = "LOCKSTEP_FENCING_TOKEN";

/// The detail of the event, as far as it is needed
/// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html>).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    task_arn: String,
    last_status: String,
    version: u64,
    #[serde(default)]
    containers: Vec<SeenContainer>,
    stopped_reason: Option<String>,
    stop_code: Option<String>,
    // Read as any JSON: a time in another format does not lose the event.
    created_at: Option<Value>,
    started_at: Option<Value>,
    stopped_at: Option<Value>,
    execution_stopped_at: Option<Value>,
    stopping_at: Option<Value>,
    overrides: Option<Overrides>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeenContainer {
    name: String,
    runtime_id: Option<String>,
    exit_code: Option<i64>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Overrides {
    #[serde(default)]
    container_overrides: Vec<ContainerOverride>,
}

#[derive(Deserialize)]
struct ContainerOverride {
    #[serde(default)]
    environment: Vec<Variable>,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    value: Option<String>,
}

pub(super) fn read(detail: Value) -> Result<Trigger, InvalidRequest> {
    let group = detail.get("group").and_then(Value::as_str);
    let Some((lock, holder_hash)) = group.and_then(parse_group) else {
        let group = group.unwrap_or_default();
        let reason = format!("the task's group \"{group}\" is not one of Lockstep's");
        return Ok(Trigger::Ignored { reason });
    };
    let detail: Detail = parse_in(DETAIL, detail)?;
    Ok(Trigger::TaskChanged {
        lock,
        holder_hash,
        token: detail.token(),
        task: detail.into(),
    })
}

impl Detail {
    fn token(&self) -> Option<FencingToken> {
        let overrides = self.overrides.as_ref()?.container_overrides.iter();
        let variables = overrides.flat_map(|container| &container.environment);
        let mut values = variables
            .filter(|variable| variable.name == TOKEN)
            .filter_map(|variable| variable.value.as_deref()?.parse().ok());
        values.next().map(FencingToken::from_number)
    }
}

impl From<Detail> for Task {
    fn from(detail: Detail) -> Self {
        Self {
            stopped: Self::is_over(&detail.last_status),
            arn: detail.task_arn,
            version: detail.version,
            containers: detail.containers.into_iter().map(Into::into).collect(),
            stopped_reason: detail.stopped_reason,
            ended_by_itself: Self::is_own_end(
                detail.stop_code.as_deref(),
                time(detail.execution_stopped_at.as_ref()),
                time(detail.stopping_at.as_ref()),
            ),
            created_at: time(detail.created_at.as_ref()),
            started_at: time(detail.started_at.as_ref()),
            stopped_at: time(detail.stopped_at.as_ref()),
        }
    }
}

impl From<SeenContainer> for Container {
    fn from(seen: SeenContainer) -> Self {
        Self {
            name: seen.name,
            runtime_id: seen.runtime_id,
            exit_code: seen.exit_code,
            reason: seen.reason,
        }
    }
}

fn time(value: Option<&Value>) -> Option<Timestamp> {
    parse_time("", value?.as_str()?).ok()
}
