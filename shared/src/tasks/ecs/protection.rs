//! Scale-in protection by ECS's API.

use super::error;
use super::read;
use crate::domain::TaskArn;
use crate::tasks::{ProtectionAnswer, TasksError};
use aws_sdk_ecs::Client;
use aws_sdk_ecs::config::timeout::TimeoutConfig;
use aws_sdk_ecs::operation::update_task_protection::UpdateTaskProtectionOutput;
use std::time::Duration;

/// How long the wish may take, with its retries. It is made in functions of ten seconds whose own
/// work goes first.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) async fn update(
    client: &Client,
    task: &TaskArn,
    minutes: Option<u16>,
) -> Result<ProtectionAnswer, TasksError> {
    let patience = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(500))
        .operation_attempt_timeout(Duration::from_secs(2))
        .operation_timeout(PATIENCE);
    let impatient = aws_sdk_ecs::Config::builder().timeout_config(patience.build());
    let call = client.update_task_protection();
    let call = call
        .cluster(task.cluster())
        .tasks(task.as_str())
        .protection_enabled(minutes.is_some())
        .set_expires_in_minutes(minutes.map(i32::from));
    let sent = call.customize().config_override(impatient).send().await;
    let answer = sent.map_err(|failure| error::translate(task.cluster(), &failure))?;
    told(&answer, task, minutes.is_some())
}

/// A call that succeeds may tell of a failure. Only what is said of this task counts, and only
/// if it is what was wished.
fn told(
    answer: &UpdateTaskProtectionOutput,
    task: &TaskArn,
    wanted: bool,
) -> Result<ProtectionAnswer, TasksError> {
    let mut done = answer.protected_tasks().iter();
    let done = done.find(|told| told.task_arn() == Some(task.as_str()));
    if let Some(done) = done.filter(|told| told.protection_enabled() == wanted) {
        let until = done.expiration_date().and_then(read::time);
        let on = wanted.then_some(ProtectionAnswer::On(until));
        return Ok(on.unwrap_or(ProtectionAnswer::Off));
    }
    // There was one task in the call, so a failure is its failure however it is named.
    let Some(failure) = answer.failures().first() else {
        let text = format!("ECS says neither that {task} is protected nor why not");
        return Err(TasksError::Unavailable(text));
    };
    let reason = failure.reason().unwrap_or("UNKNOWN").to_owned();
    let detail = failure.detail().unwrap_or("ECS gives no detail").to_owned();
    Ok(ProtectionAnswer::Refused { reason, detail })
}
