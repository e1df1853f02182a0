//! Scale-in protection by UpdateTaskProtection.
//!
//! The answer of UpdateTaskProtection may have HTTP status 200 and a failure in its body. So the status of
//! the task in the answer decides, and not the success of the call.

use super::error;
use super::read;
use crate::tasks::{ProtectionAnswer, TasksError};
use aws_sdk_ecs::Client;
use aws_sdk_ecs::config::timeout::TimeoutConfig;
use aws_sdk_ecs::operation::update_task_protection::UpdateTaskProtectionOutput;
use lockstep_core::domain::TaskArn;
use std::time::Duration;

/// Longest time for the call with its retries. Functions with a timeout of ten seconds make the call after
/// their own work.
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
    result_of(&answer, task, minutes.is_some())
}

/// Converts a response, which may contain failures. Only the entry of this task counts, and only if it
/// has the requested protection.
fn result_of(
    answer: &UpdateTaskProtectionOutput,
    task: &TaskArn,
    wanted: bool,
) -> Result<ProtectionAnswer, TasksError> {
    let mut done = answer.protected_tasks().iter();
    let done = done.find(|task_status| task_status.task_arn() == Some(task.as_str()));
    if let Some(done) = done.filter(|task_status| task_status.protection_enabled() == wanted) {
        let until = done.expiration_date().and_then(read::time);
        let on = wanted.then_some(ProtectionAnswer::On(until));
        return Ok(on.unwrap_or(ProtectionAnswer::Off));
    }
    // The request has one task, so a failure is about it, whatever ARN the failure has.
    let Some(failure) = answer.failures().first() else {
        let text = format!(
            "UpdateTaskProtection returned neither the requested protection of {task} nor a failure"
        );
        return Err(TasksError::Unavailable(text));
    };
    let reason = failure.reason().unwrap_or("UNKNOWN").to_owned();
    let detail = failure.detail().unwrap_or("ECS gives no detail").to_owned();
    Ok(ProtectionAnswer::Refused { reason, detail })
}
