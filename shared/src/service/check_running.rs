//! check-running-executions: whether older executions of the same state machine still run.
//!
//! The check is advisory: ListExecutions is eventually consistent, so two executions may both go on. At least
//! one always does. Use the check where a rare overlap is harmless, or in front of a lock to save requests.

use crate::contract::{CheckRunningRequest, CheckRunningResponse, CheckedRunning};
use crate::error::Error;
use crate::executions::Executions;
use lockstep_core::domain::standing;
use serde_json::Value;

/// Checks the JSON `event` and handles it.
///
/// # Errors
/// As [`run`], and `Lockstep.InvalidRequest`.
pub async fn handle<E: Executions>(
    executions: &E,
    event: Value,
) -> Result<CheckRunningResponse, Error> {
    run(executions, CheckRunningRequest::read(event)?).await
}

/// Handles one request.
///
/// # Errors
/// `Lockstep.Unavailable`, `Lockstep.Denied`.
pub async fn run<E: Executions>(
    executions: &E,
    request: CheckedRunning,
) -> Result<CheckRunningResponse, Error> {
    let caller = request.caller;
    let running = executions.running(&caller.arn.state_machine()).await?;
    let standing = standing(&caller, running, request.max_running);
    tracing::info!(
        event = "executions_checked",
        execution = %caller.arn,
        proceed = standing.proceed,
        ahead = standing.ahead.len(),
        running = standing.running,
        "checked"
    );
    Ok(standing.into())
}
