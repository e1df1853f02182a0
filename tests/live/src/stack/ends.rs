//! ECS tasks, started and described past Lockstep, and the ends of containers that could not report
//! them: killed, out of memory, lost.

use super::{BatchInput, Stack, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Stack {
    /// Returns the task as ECS describes it, by its id or ARN.
    pub async fn task(&self, task: &str) -> Value {
        let ask = json!({ "cluster": self.fixture("ClusterArn"), "tasks": [task] });
        let target = "AmazonEC2ContainerServiceV20141113.DescribeTasks";
        self.call("ecs", target, ask).await["tasks"][0].clone()
    }

    /// Returns when a task became STOPPED (`stoppedAt`), in epoch milliseconds: after the end of
    /// its containers.
    ///
    /// # Panics
    /// If the task is not stopped.
    pub async fn task_stopped_at(&self, task: &str) -> u64 {
        let task = self.task(task).await;
        let seconds = task["stoppedAt"].as_f64().expect("a stopped task");
        (seconds * 1000.0).round() as u64
    }

    /// Stops a task by StopTask, from outside.
    pub async fn stop_task(&self, task: &str) {
        let cluster = self.fixture("ClusterArn");
        let ask = json!({ "cluster": cluster, "task": task, "reason": "scaled in" });
        let target = "AmazonEC2ContainerServiceV20141113.StopTask";
        self.call("ecs", target, ask).await;
    }

    /// Returns when the containers of a stopped task ended, in epoch milliseconds.
    pub async fn stopped_at(&self, task: &str) -> Option<u64> {
        let response = self.task(task).await;
        if response["lastStatus"] != "STOPPED" {
            return None;
        }
        let seconds = response["executionStoppedAt"].as_f64();
        seconds.map(|seconds| (seconds * 1000.0).round() as u64)
    }

    /// Kills the first container of a task from outside, as a lost host would: SIGKILL, no warning.
    pub async fn kill_container(&self, task: &str) {
        let known = async || self.task(task).await["containers"][0]["runtimeId"].is_string();
        until("container of a task", 15, known).await;
        assert!(self.try_kill_container(task).await, "{task} has ended");
    }

    /// Kills the first container of a task that may have ended. Returns whether it was killed.
    pub async fn try_kill_container(&self, task: &str) -> bool {
        let described = self.task(task).await;
        let Some(id) = described["containers"][0]["runtimeId"].as_str() else {
            return false;
        };
        let engine = self.setting("DOCKER_HOST");
        let docker = tokio::process::Command::new("docker")
            .env("DOCKER_HOST", engine)
            .args(["kill", "--signal", "KILL", id])
            .output();
        docker
            .await
            .expect("the docker client runs")
            .status
            .success()
    }
}

impl Stack {
    /// Returns the ECS tasks whose description mentions `text`, also ended ones. A task that ends
    /// between the two lists is in both; the later description counts.
    pub async fn tasks(&self, text: &str) -> Vec<Value> {
        let cluster = self.fixture("ClusterArn");
        let mut found = BTreeMap::new();
        for status in ["RUNNING", "STOPPED"] {
            let mut ask = json!({ "cluster": cluster, "desiredStatus": status });
            loop {
                let page = self.ecs("ListTasks", &ask).await;
                if page["taskArns"]
                    .as_array()
                    .is_some_and(|arns| !arns.is_empty())
                {
                    let some = json!({ "cluster": cluster, "tasks": page["taskArns"] });
                    let response = self.ecs("DescribeTasks", &some).await;
                    let tasks = response["tasks"].as_array().cloned().unwrap_or_default();
                    let tasks = tasks.into_iter().filter(|t| t.to_string().contains(text));
                    found.extend(tasks.map(|task| (task["taskArn"].to_string(), task)));
                }
                match page["nextToken"].as_str() {
                    Some(next) => ask["nextToken"] = next.into(),
                    None => break,
                }
            }
        }
        found.into_values().collect()
    }

    /// Starts one more task in `group` with the variables of the batch of `input`, as a workflow
    /// does whose task no state waits for. Returns its ARN.
    pub async fn start_stray(&self, group: &str, input: &BatchInput) -> String {
        let container = &input.json()["work"]["runTask"]["Overrides"]["ContainerOverrides"][0];
        let variables = container["Environment"].as_array().expect("a list");
        let variables: Vec<_> = variables
            .iter()
            .map(|one| json!({ "name": one["Name"], "value": one["Value"] }))
            .collect();
        let overrides = json!([{ "name": container["Name"], "environment": variables }]);
        let ask = json!({
            "cluster": self.fixture("ClusterArn"),
            "taskDefinition": self.fixture("BatchTaskDefinitionArn"),
            "launchType": "FARGATE",
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
            "group": group,
            "overrides": { "containerOverrides": overrides },
        });
        let response = self.ecs("RunTask", &ask).await;
        let arn = response["tasks"][0]["taskArn"].as_str();
        arn.unwrap_or_else(|| panic!("no task started: {response}"))
            .to_owned()
    }

    /// Waits until a task has this status.
    pub async fn wait_task(&self, task: &str, status: &str, seconds: u64) {
        let what = format!("{status} of {task}");
        let is_reached = async || self.task(task).await["lastStatus"] == status;
        until(&what, seconds, is_reached).await;
    }

    /// Calls the ECS API.
    pub async fn ecs(&self, action: &str, body: &Value) -> Value {
        let target = format!("AmazonEC2ContainerServiceV20141113.{action}");
        self.call("ecs", &target, body.clone()).await
    }
}
