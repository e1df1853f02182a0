//! Services, their tasks, and the calls to the container agent.

use super::{Fleet, Task, Work};
use crate::support::{Inside, found};
use lockstep_tests::stack::unique;
use serde_json::{Value, json};

/// A service of the fixture's cluster.
#[derive(Clone, Debug)]
pub(super) struct Service {
    /// Its name.
    pub(super) name: String,
}

/// A call to the container agent.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// When, in epoch milliseconds.
    pub(super) at: u64,
    /// `ProtectionEnabled` of its body.
    pub(super) enable: bool,
    /// `ExpiresInMinutes` of its body.
    pub(super) minutes: Option<u64>,
    /// The answer.
    pub(super) answer: Value,
}

impl Fleet {
    /// Creates a service of `count` tasks.
    pub(super) async fn serve(&self, work: &Work, count: u32) -> Service {
        let name = unique("inside");
        let ask = json!({
            "serviceName": name,
            "taskDefinition": self.define(work).await,
            "desiredCount": count,
            "launchType": "FARGATE",
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
        });
        self.ecs("CreateService", ask).await;
        Service { name }
    }

    /// Starts a task that holds `lock` until it is stopped, and a service whose one task waits for
    /// the lock. So a test can prepare the task before it asks for protection.
    pub(super) async fn waiting_service(&self, lock: &str, work: &Work) -> (Task, Service, Task) {
        let first = self.holder(lock).await;
        let (service, task) = self.serve_one(work).await;
        self.until_waiting(lock, 1, 30).await;
        (first, service, task)
    }

    /// Changes a service by UpdateService.
    pub(super) async fn update(&self, service: &Service, mut change: Value) {
        change["service"] = service.name.as_str().into();
        self.ecs("UpdateService", change).await;
    }

    /// Removes a service and its tasks.
    pub(super) async fn remove(&self, service: &Service) {
        let ask = json!({ "service": service.name, "force": true });
        self.ecs("DeleteService", ask).await;
        for task in self.tasks_of(service).await {
            self.stop(&task).await;
        }
    }

    /// Returns the tasks of a service that were not asked to stop.
    pub(super) async fn tasks_of(&self, service: &Service) -> Vec<Task> {
        let ask = json!({ "serviceName": service.name, "desiredStatus": "RUNNING" });
        let response = self.ecs("ListTasks", ask).await;
        let arns = response["taskArns"].as_array().into_iter().flatten();
        arns.filter_map(Value::as_str).map(Task::of).collect()
    }

    /// Waits until a service has a task that is none of `known`.
    pub(super) async fn another_task(&self, service: &Service, known: &[&Task]) -> Task {
        let what = format!("task of {service:?} but {known:?}");
        let find = async || {
            let mut tasks = self.tasks_of(service).await.into_iter();
            tasks.find(|task| !known.contains(&task))
        };
        found(&what, 30, find).await
    }

    /// Creates a service of one task, and waits for that task.
    pub(super) async fn serve_one(&self, work: &Work) -> (Service, Task) {
        let service = self.serve(work, 1).await;
        let task = self.another_task(&service, &[]).await;
        (service, task)
    }

    /// Returns whether ECS protects a task now.
    pub(super) async fn is_protected(&self, task: &Task) -> bool {
        let cluster = self.stack.fixture("ClusterArn");
        Inside::is_protected(self, cluster, &task.arn).await
    }

    /// Returns what a task asked the agent to set, in the order of time.
    pub(super) async fn asked(&self, task: &Task) -> Vec<Call> {
        let calls = self.agent_calls(&task.arn).await.into_iter();
        calls
            .map(|call| Call {
                at: call["time"].as_f64().unwrap_or_default() as u64,
                enable: call["body"]["ProtectionEnabled"] == true,
                minutes: call["body"]["ExpiresInMinutes"].as_u64(),
                answer: call["answer"].clone(),
            })
            .collect()
    }
}
