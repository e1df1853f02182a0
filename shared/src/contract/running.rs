//! Request and response of check-running-executions, the advisory check.

use super::parse::{InvalidRequest, parse, parse_time, quoted};
use lockstep_core::domain::{Execution, ExecutionArn, Standing, Timestamp, rfc3339};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Request of check-running-executions: whether older executions of the caller's state machine still run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckRunningRequest {
    /// The caller: `$states.context.Execution.Id`.
    pub execution_arn: String,
    /// When the caller started: `$states.context.Execution.StartTime`. The list of executions is eventually
    /// consistent and may not show the caller yet, so this time decides which executions are older.
    pub started_at: String,
    /// Number of executions that may run at once. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub max_running: Option<i64>,
}

/// A checked [`CheckRunningRequest`].
#[derive(Clone, Debug)]
pub struct CheckedRunning {
    /// The caller.
    pub caller: Execution,
    /// Most executions that may run at once.
    pub max_running: usize,
}

/// Response of check-running-executions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CheckRunningResponse {
    /// Whether fewer than `maxRunning` older executions run.
    pub proceed: bool,
    /// The oldest executions ahead of the caller, at most ten.
    pub ahead: Vec<Ahead>,
    /// Number of executions ahead of the caller.
    pub ahead_count: usize,
    /// Number of running executions, including the caller.
    pub running_count: usize,
    /// Always true: the list of executions is eventually consistent, so two executions may both go on. Only a
    /// lock excludes that.
    pub advisory: bool,
}

/// An execution ahead of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ahead {
    /// The execution.
    pub execution_arn: String,
    /// When it started.
    pub started_at: String,
}

/// Most executions that a response names.
const AHEAD_MAX: usize = 10;

impl CheckRunningRequest {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// [`InvalidRequest`].
    pub fn read(json: serde_json::Value) -> Result<CheckedRunning, InvalidRequest> {
        let request = parse::<Self>(json)?;
        let most = request.max_running.unwrap_or(1);
        let in_range = usize::try_from(most)
            .ok()
            .filter(|most| (1..=1000).contains(most));
        let rule = "a whole number from 1 to 1000";
        let max_running = in_range.ok_or_else(|| InvalidRequest::new("maxRunning", most, rule))?;
        let arn = ExecutionArn::new(request.execution_arn.clone()).map_err(|invalid| {
            InvalidRequest::new("executionArn", quoted(&request.execution_arn), invalid.rule)
        })?;
        let started_at: Timestamp = parse_time("startedAt", &request.started_at)?;
        Ok(CheckedRunning {
            caller: Execution { arn, started_at },
            max_running,
        })
    }
}

impl From<Standing> for CheckRunningResponse {
    fn from(standing: Standing) -> Self {
        let named = standing.ahead.iter().take(AHEAD_MAX);
        Self {
            proceed: standing.proceed,
            ahead_count: standing.ahead.len(),
            running_count: standing.running,
            advisory: true,
            ahead: named
                .map(|execution| Ahead {
                    execution_arn: execution.arn.as_str().into(),
                    started_at: rfc3339(execution.started_at),
                })
                .collect(),
        }
    }
}
