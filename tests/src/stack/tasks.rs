//! ECS tasks, started and seen beside Lockstep.

use super::{BatchInput, Stack, until};
use serde_json::{Value, json};

impl Stack {
    /// The ECS tasks whose description mentions `text`, ended ones too.
    pub async fn tasks(&self, text: &str) -> Vec<Value> {
        let cluster = self.fixture("ClusterArn");
        let mut found = Vec::new();
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
                    found.extend(tasks.into_iter().filter(|t| t.to_string().contains(text)));
                }
                match page["nextToken"].as_str() {
                    Some(next) => ask["nextToken"] = next.into(),
                    None => break,
                }
            }
        }
        found
    }

    /// Starts one more task in `group`, with the variables of the batch of `input`: as a workflow
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

    /// Waits until a task runs or has stopped.
    pub async fn wait_task(&self, task: &str, status: &str, seconds: u64) {
        let what = format!("{status} of {task}");
        let is_reached = async || self.task(task).await["lastStatus"] == status;
        until(&what, seconds, is_reached).await;
    }

    async fn ecs(&self, action: &str, body: &Value) -> Value {
        let target = format!("AmazonEC2ContainerServiceV20141113.{action}");
        self.call("ecs", &target, body.clone()).await
    }
}
