//! Tasks of ECS whose container is a process of the test. The emulator serves their agent endpoint.

use crate::support::Inside;
use lockstep_tests::stack::until;
use serde_json::{Value, json};
use tokio::process::Command;

/// A running task without a container of its own.
#[derive(Clone, Debug)]
pub(crate) struct HostTask {
    /// Its ARN.
    pub(crate) arn: String,
    cluster: String,
    environment: Vec<(String, String)>,
}

impl HostTask {
    /// Starts a task of `service`, or a standalone one.
    pub(crate) async fn start(inside: &Inside, service: Option<&str>) -> Self {
        let order = json!({ "service": service });
        let made = inside.order("agent/task", order).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let variables = made["environment"].as_object().expect("variables");
        let variables = variables.iter();
        Self {
            arn: text(&made["taskArn"]),
            cluster: text(&made["clusterArn"]),
            environment: variables
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
        }
    }

    /// Makes `command` a process of this task.
    pub(crate) fn put(&self, command: &mut Command) {
        command.envs(self.environment.clone());
    }

    /// Returns what was asked of its protection so far: on or off.
    pub(crate) async fn asked(&self, inside: &Inside) -> Vec<bool> {
        let calls = inside.agent_calls(&self.arn).await.into_iter();
        calls
            .map(|call| call["body"]["ProtectionEnabled"] == true)
            .collect()
    }

    /// Waits until its protection is on or off.
    pub(crate) async fn until_protected(&self, inside: &Inside, on: bool, seconds: u64) {
        let what = format!("protection {on} of {}", self.arn);
        let is_reached = async || self.is_protected(inside).await == on;
        until(&what, seconds, is_reached).await;
    }

    /// Returns whether ECS protects the task.
    pub(crate) async fn is_protected(&self, inside: &Inside) -> bool {
        inside.is_protected(&self.cluster, &self.arn).await
    }
}
