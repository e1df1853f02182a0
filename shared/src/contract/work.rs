//! The cluster, family and container of a run's ECS tasks.

use super::parse::{InvalidRequest, quoted};
use crate::domain::Work;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run's ECS tasks are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkPlace {
    /// Name or ARN of the cluster.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub cluster: String,
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
}

impl WorkPlace {
    pub(crate) fn check(&self) -> Result<Work, InvalidRequest> {
        plain("work.cluster", &self.cluster, 512)?;
        if let Some(family) = &self.family {
            plain("work.family", family, 255)?;
        }
        if let Some(container) = &self.container {
            plain("work.container", container, 255)?;
        }
        Ok(Work {
            cluster: self.cluster.clone(),
            family: self.family.clone(),
            container: self.container.clone(),
        })
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
