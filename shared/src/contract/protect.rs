//! Scale-in protection of the ECS task that does the work.

use super::parse::{self, InvalidRequest, quoted};
use lockstep_core::domain::TaskArn;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The task of an ECS service that does the work. Scale-in and deployments do not stop the task while it is
/// protected (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection.html>).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServiceTask {
    /// Name or ARN of the cluster that the task runs in.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub cluster: String,
    /// ARN of the task.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub task: String,
}

/// The result of `protect`: of a heartbeat that protects a task, or of a release that ends the protection. No
/// result fails the heartbeat or the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum Protection {
    /// The task is protected.
    Protected {
        /// When the protection ends unless it is renewed.
        until: String,
    },
    /// The task is no longer protected.
    Cleared,
    /// ECS refused the change, or gave no answer.
    Refused {
        /// The reason code of ECS, such as `DEPLOYMENT_BLOCKED`, `TASK_NOT_VALID` or `MISSING`; or `Denied`
        /// or `Unavailable` if the call failed.
        reason: String,
        /// The reason in a sentence.
        detail: String,
    },
}

impl ServiceTask {
    pub(crate) fn check(&self) -> Result<TaskArn, InvalidRequest> {
        let task = parse::text("protect.task", &self.task, TaskArn::new)?;
        // The ARN of a task contains the name of its cluster, so another cluster is a mistake of the caller.
        let is_name = self.cluster == task.cluster();
        if is_name || self.cluster == task.cluster_arn() {
            return Ok(task);
        }
        let (name, arn) = (task.cluster(), task.cluster_arn());
        let rule = format!("the cluster of protect.task, {name} or {arn}");
        let cluster = quoted(&self.cluster);
        Err(InvalidRequest::new("protect.cluster", cluster, rule))
    }
}
