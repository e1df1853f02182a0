//! check-running-executions: may this execution go on, or do older ones still run?
//!
//! Advisory: the list it reads is eventually consistent, so two executions may both go on. It
//! never stops all of them. Use it where a rare overlap is harmless, or in front of the lock to
//! spare most runs the look at it.

use lockstep::contract::{CheckRunningRequest, CheckRunningResponse};
use lockstep::error::Error;
use lockstep::executions::{Executions, standing};
use serde_json::Value;

/// Answers one request.
///
/// # Errors
/// `Lockstep.InvalidRequest`, `Lockstep.Unavailable`, `Lockstep.Denied`.
pub async fn handle<E: Executions>(
    executions: &E,
    event: Value,
) -> Result<CheckRunningResponse, Error> {
    let request = CheckRunningRequest::read(event)?;
    let caller = request.caller;
    let running = executions.running(&caller.arn.state_machine()).await?;
    let standing = standing(&caller, running, request.max_running);
    tracing::info!(
        execution = %caller.arn,
        proceed = standing.proceed,
        ahead = standing.ahead.len(),
        running = standing.running,
        "checked"
    );
    Ok(standing.into())
}
