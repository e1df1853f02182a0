//! The input of an execution of exclusive-run.
//!
//! The state machine reads the input. Its state *Check Input* checks the fields that only the workflow knows
//! or computes with, and acquire-lock checks the others. Tests compare both with this type.

use super::options::{LockOptions, Range, given, given_word};
use super::parse::{InvalidRequest, YEAR, parse_both};
use super::policy::OnSkip;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Input of an execution of exclusive-run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(transform = without_null))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExclusiveRunInput {
    /// Name of the lock: characters of `A-Z a-z 0-9 . _ - / :`. `prod` and `Prod` are two locks.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The work to run under the lock.
    pub work: WorkInput,
    /// The options of the lock, which [`Self::read`] reads.
    #[serde(flatten, skip_deserializing)]
    #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
    pub options: LockOptions,
    /// How an execution that was skipped or gave up ends. Default `succeed`.
    #[serde(
        default,
        deserialize_with = "given_word",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "OnSkip", extend("default" = OnSkip::default())))]
    pub on_skip: Option<OnSkip>,
    /// Longest wait for a permit, after which the run gives up. Given only with `overlap` `queue` or
    /// `replace`, `onPaused` `wait` or `catchUp` `once`. Without it, a run waits for 17 days at most, or
    /// longer with a longer `waitIntervalSeconds`.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "i64", range(min = Self::WAIT.least, max = Self::WAIT.most)))]
    pub wait_seconds: Option<i64>,
    /// Time after which a waiting run registers again. Given only where `waitSeconds` may be given. Default
    /// 300.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "i64", range(min = Self::WAIT_INTERVAL.least, max = Self::WAIT_INTERVAL.most))
    )]
    pub wait_interval_seconds: Option<i64>,
    /// The run asks for its lock a second after this time at the earliest: a time as in
    /// 2026-03-01T06:00:00Z (RFC 3339), at most a year from now.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub not_before: Option<String>,
    /// The execution that started this one. Runs with the same value are attempts of one caller: while the task
    /// of an earlier attempt is being stopped, a run that the caller's Retry starts waits for the end of that
    /// attempt.
    #[serde(
        default,
        rename = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub started_by: Option<String>,
}

/// The member of an input that names the execution which started the run. A workflow puts it there from its context
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html>).
pub const STARTED_BY: &str = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID";

/// The work of exclusive-run: either `runTask` or `startExecution`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WorkInput {
    /// Arguments of `ecs:runTask`, with keys in PascalCase. They have `TaskDefinition`, and no `Group`:
    /// Lockstep sets it, and finds the tasks of a run by it. `Count` is 1 or left out. No key
    /// ends in `.$`: the caller's state machine computes such a value before it starts exclusive-run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_task: Option<Map<String, Value>>,
    /// The container that gets the variables of the grant. Given only with `runTask`. Default the
    /// container that `runTask` overrides, or the only one of the task definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255)))]
    pub container: Option<String>,
    /// Arguments of `states:startExecution`: `StateMachineArn` and `Input`. The name of the execution
    /// follows from the grant. The state machine is a Standard one, among the stack's
    /// `GuardedWorkflowArns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_execution: Option<StartExecution>,
    /// The field of `startExecution.Input`, an object, that gets the grant: `lock`, `holder`, `token`,
    /// and `runKey` if the run has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_field: Option<String>,
}

/// Arguments of `states:startExecution`, without `Name`, which follows from the grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "PascalCase")]
pub struct StartExecution {
    /// The ARN of a Standard state machine.
    pub state_machine_arn: String,
    /// The input of its execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// Removes `null` from the schema of the numbers that the workflow computes with.
#[cfg(feature = "schema")]
fn without_null(schema: &mut schemars::Schema) {
    for name in ExclusiveRunInput::COMPUTED {
        if let Some(kind) = schema.pointer_mut(&format!("/properties/{name}/type")) {
            *kind = Value::from("integer");
        }
    }
}

impl ExclusiveRunInput {
    /// Options that the workflow computes with. *Check Input* refuses `null` for them.
    pub const COMPUTED: [&str; 3] = ["maxHeartbeatSeconds", "maxQueue", "maxRunSeconds"];
    /// Range of `waitSeconds`.
    pub const WAIT: Range = Range::new(1, YEAR);
    /// Range of `waitIntervalSeconds`.
    pub const WAIT_INTERVAL: Range = Range::new(5, 3_600);

    /// Reads an input.
    ///
    /// # Errors
    /// [`InvalidRequest`] for a missing, unknown or wrongly typed field.
    pub fn read(json: Value) -> Result<Self, InvalidRequest> {
        let (input, options) = parse_both::<Self, LockOptions>(json)?;
        Ok(Self { options, ..input })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn started_by_is_the_member_that_a_workflow_writes() {
        let input = serde_json::json!({ "lock": "a", "work": {}, STARTED_BY: "caller" });
        let input: ExclusiveRunInput = serde_json::from_value(input).unwrap();
        assert_eq!(input.started_by.as_deref(), Some("caller"));
    }
}
