//! The work of a run: where its ECS tasks or its execution are found.

use super::parse::{InvalidRequest, quoted, text};
use lockstep_core::domain::{StateMachineArn, TaskSet, Work};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run's work is found. One of three fields is given: `cluster` for ECS tasks, `stateMachineArn` for
/// an execution that the run's workflow starts, or `states` for the states of the workflow itself.
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
    /// The container whose exit code decides how the run ended: with exit code 0 the run has succeeded, even
    /// if its workflow fails afterwards. A task that was stopped from outside is no success, whatever its exit
    /// code is. Leave this field out if the run has more than one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 255)))]
    pub container: Option<String>,
    /// The ARN of the state machine, or of its version or alias, whose execution is the whole work of the
    /// run. The name of that execution follows from `executionArn` in the answer of acquire-lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256)))]
    pub state_machine_arn: Option<String>,
    /// Whether the states of the holder's own execution are the work. An execution that fails, is aborted or
    /// times out without a release then keeps its permit for 31 more seconds, because Step Functions stops
    /// the work of its states only on a best-effort basis. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<bool>,
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
        if self.states == Some(true) {
            return self.check_states(&names);
        }
        match (&self.cluster, &self.state_machine_arn) {
            (Some(cluster), None) => Ok(Work::Tasks(TaskSet {
                cluster: cluster.clone(),
                family: self.family.clone(),
                container: self.container.clone(),
            })),
            (None, Some(machine)) => {
                none_of(&names, "given only with work.cluster")?;
                let machine = text("work.stateMachineArn", machine, StateMachineArn::new)?;
                Ok(Work::Workflow(machine))
            }
            (Some(_), Some(machine)) => {
                let rule = "given only without work.cluster";
                let field = "work.stateMachineArn";
                Err(InvalidRequest::new(field, quoted(machine), rule))
            }
            (None, None) => {
                let rule = "given with cluster, with stateMachineArn, or with states";
                Err(InvalidRequest::new("work", "{}", rule))
            }
        }
    }

    fn check_states(&self, names: &[Name<'_>]) -> Result<Work, InvalidRequest> {
        let rule = "given only without work.states";
        none_of(names, rule)?;
        none_of(
            &[("work.stateMachineArn", &self.state_machine_arn, 0)],
            rule,
        )?;
        Ok(Work::States)
    }
}

/// A field of [`WorkPlace`], its value, and the largest number of characters that it may have.
type Name<'a> = (&'static str, &'a Option<String>, usize);

/// Rejects the first of `names` that is given.
fn none_of(names: &[Name<'_>], rule: &str) -> Result<(), InvalidRequest> {
    let given = names
        .iter()
        .find_map(|(field, value, _)| Some((field, value.as_ref()?)));
    given.map_or(Ok(()), |(field, value)| {
        Err(InvalidRequest::new(field, quoted(value), rule))
    })
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
