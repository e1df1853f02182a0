//! The work of a run: where its ECS tasks or its execution are found.

use super::parse::{InvalidRequest, quoted, text};
use crate::domain::{StateMachineArn, TaskSet, Work};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run's work is found: its ECS tasks, by `cluster`, or an execution that its workflow
/// starts, by `stateMachineArn`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkPlace {
    /// Name or ARN of the cluster of the run's ECS tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub cluster: Option<String>,
    /// Family of the task definition, to narrow the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255)))]
    pub family: Option<String>,
    /// The container whose exit code is the end of the whole run. With it, a run whose container
    /// exited with 0 has succeeded, whatever became of its workflow. Leave it out where the run is
    /// more than one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255)))]
    pub container: Option<String>,
    /// The state machine, or its version or alias, whose execution is the whole work of the run. Its
    /// execution has the name that the grant's `executionArn` ends with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256)))]
    pub state_machine_arn: Option<String>,
}

impl WorkPlace {
    pub(crate) fn check(&self) -> Result<Work, InvalidRequest> {
        let names = [
            ("work.cluster", &self.cluster, 512),
            ("work.family", &self.family, 255),
            ("work.container", &self.container, 255),
        ];
        for (field, value, most) in names {
            if let Some(value) = value {
                plain(field, value, most)?;
            }
        }
        match (&self.cluster, &self.state_machine_arn) {
            (Some(cluster), None) => Ok(Work::Tasks(TaskSet {
                cluster: cluster.clone(),
                family: self.family.clone(),
                container: self.container.clone(),
            })),
            (None, Some(machine)) => {
                let rule = "given only with work.cluster";
                for (field, value, _) in names {
                    if let Some(value) = value {
                        return Err(InvalidRequest::new(field, quoted(value), rule));
                    }
                }
                let machine = text("work.stateMachineArn", machine, StateMachineArn::new)?;
                Ok(Work::Workflow(machine))
            }
            (Some(_), Some(machine)) => {
                let rule = "given only without work.cluster";
                let field = "work.stateMachineArn";
                Err(InvalidRequest::new(field, quoted(machine), rule))
            }
            (None, None) => {
                let rule = "given with cluster or with stateMachineArn";
                Err(InvalidRequest::new("work", "{}", rule))
            }
        }
    }
}

/// Checks the characters of an ECS name
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html>),
/// or of its ARN.
fn plain(field: &str, value: &str, most: usize) -> Result<(), InvalidRequest> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_:/".contains(&b);
    if (1..=most).contains(&value.len()) && value.bytes().all(allowed) {
        return Ok(());
    }
    let rule = format!("1 to {most} characters out of A-Z a-z 0-9 and - _ : /");
    Err(InvalidRequest::new(field, quoted(value), rule))
}
