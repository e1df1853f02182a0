//! Scale-in protection of the ECS task that does the work.

use super::parse::{self, InvalidRequest, quoted};
use lockstep_core::domain::TaskArn;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The task of an ECS service that does the work. Scale-in and deployments spare it while it is
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

/// What came of the wish to protect a task, or to protect it no longer. It never fails the request
/// that it came with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum Protection {
    /// The task is protected.
    Protected {
        /// Until when, unless it is renewed.
        until: String,
    },
    /// The task is not protected any more.
    Cleared,
    /// It is as it was.
    Refused {
        /// Why, in one word of ECS such as `DEPLOYMENT_BLOCKED`, `TASK_NOT_VALID` or `MISSING`; or
        /// `Denied` or `Unavailable`.
        reason: String,
        /// Why, in a sentence.
        detail: String,
    },
}

impl ServiceTask {
    pub(crate) fn check(&self) -> Result<TaskArn, InvalidRequest> {
        let task = parse::text("protect.task", &self.task, TaskArn::new)?;
        // The ARN contains the name of the cluster, so a different cluster is a mistake of the caller.
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
