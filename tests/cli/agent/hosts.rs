//! Tasks of ECS whose container is a process of the test: the emulator's agent endpoint serves them.

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
    /// A task of a service, or a standalone one.
    pub(crate) async fn start(inside: &Inside, service: Option<&str>) -> Self {
        let body = json!({ "service": service });
        let response = inside
            .stack
            .rest("ecs", "POST", "/_lockstack/agent/task", body)
            .await;
        assert_eq!(response.status, 200, "{response:?}");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let variables = response.body["environment"].as_object().expect("variables");
        Self {
            arn: text(&response.body["taskArn"]),
            cluster: text(&response.body["clusterArn"]),
            environment: variables
                .iter()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect(),
        }
    }

    /// Makes `command` a process of this task.
    pub(crate) fn put(&self, command: &mut Command) {
        command.envs(self.environment.clone());
    }

    /// How long a minute of its protection lasts.
    pub(crate) async fn minute(&self, inside: &Inside, seconds: u64) {
        let body = json!({ "minuteSeconds": seconds, "task": self.arn });
        let response = inside
            .stack
            .rest("ecs", "POST", "/_lockstack/agent", body)
            .await;
        assert_eq!(response.status, 200, "{response:?}");
    }

    /// Orders the next calls of this task to its agent endpoint to go wrong.
    pub(crate) async fn fault(&self, inside: &Inside, kind: &str, times: u32) {
        let body = json!({ "agent": kind, "times": times, "task": self.arn, "method": "PUT" });
        let response = inside
            .stack
            .rest("ecs", "POST", "/_lockstack/faults", body)
            .await;
        assert_eq!(response.status, 200, "{response:?}");
    }

    /// What was asked of its protection so far: on or off.
    pub(crate) async fn asked(&self, inside: &Inside) -> Vec<bool> {
        let path = format!("/_lockstack/agent?task={}", self.arn);
        let response = inside.stack.rest("ecs", "GET", &path, Value::Null).await;
        let calls = response.body["calls"].as_array().expect("a list").iter();
        let puts = calls.filter(|call| call["method"] == "PUT");
        puts.map(|call| call["body"]["ProtectionEnabled"].as_bool().expect("a flag"))
            .collect()
    }

    /// Waits until its protection is on or off.
    pub(crate) async fn until_protected(&self, inside: &Inside, on: bool, seconds: u64) {
        let what = format!("protection {on} of {}", self.arn);
        until(&what, seconds, async || {
            self.is_protected(inside).await == on
        })
        .await;
    }

    /// Whether ECS protects it.
    pub(crate) async fn is_protected(&self, inside: &Inside) -> bool {
        let ask = json!({ "cluster": self.cluster, "tasks": [self.arn] });
        let response = ecs(inside, "GetTaskProtection", ask).await;
        response["protectedTasks"][0]["protectionEnabled"] == true
    }

    /// Stops it.
    pub(crate) async fn stop(&self, inside: &Inside, reason: &str) {
        let ask = json!({ "cluster": self.cluster, "task": self.arn, "reason": reason });
        ecs(inside, "StopTask", ask).await;
        let ask = json!({ "cluster": self.cluster, "tasks": [self.arn] });
        until("end of the task", 20, async || {
            let response = ecs(inside, "DescribeTasks", ask.clone()).await;
            response["tasks"][0]["lastStatus"] == "STOPPED"
        })
        .await;
    }
}

async fn ecs(inside: &Inside, action: &str, body: Value) -> Value {
    let target = format!("AmazonEC2ContainerServiceV20141113.{action}");
    inside.stack.call("ecs", &target, body).await
}
