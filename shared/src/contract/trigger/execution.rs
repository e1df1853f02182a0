//! The event *Step Functions Execution Status Change*.

use super::super::parse::{InvalidRequest, parse_in, parse_time, quoted, text};
use super::{DETAIL, Trigger};
use lockstep_core::domain::{
    ExecutionArn, ExecutionDescription, ExecutionState, LockKey, Timestamp, parse_child,
};
use serde::Deserialize;
use serde_json::Value;

/// The detail of the event, as far as it is needed
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html>).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    execution_arn: String,
    status: String,
    /// The input as JSON text. Absent if it is too large for an event.
    input: Option<Value>,
    /// Milliseconds since 1970. `null` while the execution runs.
    stop_date: Option<Value>,
    redrive_count: Option<u32>,
}

pub(super) fn read(detail: Value) -> Result<Trigger, InvalidRequest> {
    let detail: Detail = parse_in(DETAIL, detail)?;
    let execution = text(
        "detail.executionArn",
        &detail.execution_arn,
        ExecutionArn::new,
    )?;
    let state = ExecutionState::of_status(&detail.status).ok_or_else(|| {
        let rule = "a status of an execution, such as FAILED";
        InvalidRequest::new("detail.status", quoted(&detail.status), rule)
    })?;
    Ok(Trigger::ExecutionChanged {
        work_of: parse_child(&execution),
        execution,
        seen: ExecutionDescription {
            state,
            redrives: detail.redrive_count.unwrap_or(0),
            stopped_at: detail.stop_date.as_ref().and_then(time),
        },
        lock: detail.input.as_ref().and_then(lock),
    })
}

/// Reads a time. Returns `None` for another format, so that the event is not lost.
fn time(value: &Value) -> Option<Timestamp> {
    let millis = value.as_u64().map(Timestamp::from_millis);
    millis.or_else(|| parse_time("detail.stopDate", value.as_str()?).ok())
}

/// Returns the lock that the input of an execution names, if it names one. The execution may be of any
/// workflow and have any input.
fn lock(input: &Value) -> Option<LockKey> {
    let input: Value = serde_json::from_str(input.as_str()?).ok()?;
    LockKey::new(input.get("lock")?.as_str()?).ok()
}
