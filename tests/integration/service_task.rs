//! The task of an ECS service, described and protected over the API of ECS: on the emulator, with a
//! real container.

use lockstep::aws::sdk_config;
use lockstep::clock::{Clock, SystemClock};
use lockstep::config::variable;
use lockstep::domain::TaskArn;
use lockstep::tasks::ecs::Ecs;
use lockstep::tasks::{ProtectionAnswer, Tasks};
use lockstep_tests::stack::{eventually, json_api, until};
use serde_json::{Value, json};

const HELP: &str = "this test needs the local stack: run it by make test-integration";
const MINUTE: u64 = 60_000;

/// A cluster with one service of one task.
struct Service {
    cluster: String,
    definition: String,
    task: TaskArn,
}

impl Service {
    async fn new(name: &str) -> Self {
        let cluster = format!("{name}-{}", SystemClock.now().millis());
        call("CreateCluster", json!({ "clusterName": cluster })).await;
        let container = json!({
            "name": "batch", "image": variable("LOCKSTEP_BATCH_IMAGE").expect(HELP),
            "essential": true, "stopTimeout": 2,
            "environment": [{ "name": "BATCH_SECONDS", "value": "60" }]
        });
        let definition = json!({
            "family": cluster, "networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"],
            "cpu": "256", "memory": "512", "containerDefinitions": [container]
        });
        let made = call("RegisterTaskDefinition", definition).await;
        let definition = text(&made["taskDefinition"]["taskDefinitionArn"]);
        let service = json!({
            "cluster": cluster, "serviceName": "worker", "desiredCount": 1, "launchType": "FARGATE",
            "taskDefinition": definition,
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } }
        });
        call("CreateService", service).await;
        let scope = json!({ "cluster": cluster, "serviceName": "worker" });
        let task = eventually(20, async || {
            let tasks = call("ListTasks", scope.clone()).await;
            let first = tasks["taskArns"][0].as_str().map(str::to_owned);
            first.ok_or_else(|| "no task of the service".into())
        })
        .await;
        Self {
            task: TaskArn::new(task).unwrap(),
            cluster,
            definition,
        }
    }

    /// Starts a task of the same cluster that belongs to no service.
    async fn standalone(&self) -> TaskArn {
        let ask = json!({
            "cluster": self.cluster, "taskDefinition": self.definition, "launchType": "FARGATE",
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } }
        });
        let made = call("RunTask", ask).await;
        TaskArn::new(text(&made["tasks"][0]["taskArn"])).unwrap()
    }

    /// Returns whether ECS reports the service's task as protected.
    async fn is_protected(&self) -> bool {
        let ask = json!({ "cluster": self.cluster, "tasks": [self.task.as_str()] });
        let response = call("GetTaskProtection", ask).await;
        response["protectedTasks"][0]["protectionEnabled"] == true
    }

    async fn remove(self, others: &[&TaskArn]) {
        for task in others {
            let stop = json!({ "cluster": self.cluster, "task": task.as_str() });
            call("StopTask", stop).await;
        }
        let delete = json!({ "cluster": self.cluster, "service": "worker", "force": true });
        call("DeleteService", delete).await;
    }
}

#[tokio::test]
async fn a_service_task_is_protected_for_the_asked_minutes_and_cleared() {
    let service = Service::new("protected").await;
    let ecs = ecs().await;
    let begin = SystemClock.now().millis();

    let on = ecs.protect(&service.task, Some(5)).await.unwrap();
    let protected = service.is_protected().await;
    let off = ecs.protect(&service.task, None).await.unwrap();
    let cleared = !service.is_protected().await;

    let ProtectionAnswer::On(Some(until)) = on else {
        panic!("{on:?}");
    };
    let lasts = until.millis() - begin;
    assert!((5 * MINUTE..6 * MINUTE).contains(&lasts), "{lasts} ms");
    assert_eq!(off, ProtectionAnswer::Off);
    assert!(protected && cleared);
    service.remove(&[]).await;
}

#[tokio::test]
async fn protection_is_refused_without_a_service_and_without_a_task() {
    let service = Service::new("refused").await;
    let standalone = service.standalone().await;
    let unknown = unknown_beside(&service.task);
    let ecs = ecs().await;

    for (task, expected) in [(&standalone, "TASK_NOT_VALID"), (&unknown, "MISSING")] {
        let answer = ecs.protect(task, Some(1)).await.unwrap();

        let ProtectionAnswer::Refused { reason, .. } = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(reason, expected);
    }
    service.remove(&[&standalone]).await;
}

#[tokio::test]
async fn describe_finds_running_and_stopped_tasks_and_no_unknown_one() {
    let service = Service::new("seen").await;
    let standalone = service.standalone().await;
    let gone = unknown_beside(&standalone);
    let ecs = ecs().await;

    let of_service = ecs.describe(&service.task).await.unwrap().unwrap();
    let unknown = ecs.describe(&gone).await.unwrap();
    let stop = json!({ "cluster": service.cluster, "task": standalone.as_str() });
    call("StopTask", stop).await;
    let stopped = async || ecs.describe(&standalone).await.unwrap().unwrap().stopped;
    until("stopped task", 20, stopped).await;

    assert_eq!(of_service.arn, service.task.as_str());
    assert!(!of_service.stopped);
    assert_eq!(unknown, None);
    service.remove(&[]).await;
}

/// Returns the ARN of a task that does not exist, in the cluster of `task`.
fn unknown_beside(task: &TaskArn) -> TaskArn {
    let cluster = task.as_str().rsplit_once('/').unwrap().0;
    TaskArn::new(format!("{cluster}/00000000000000000000000000000000")).unwrap()
}

/// Returns ECS as the functions use it.
async fn ecs() -> Ecs {
    Ecs::from_sdk(&sdk_config())
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Makes a call of ECS that Lockstep itself does not make.
async fn call(action: &str, body: Value) -> Value {
    let endpoint = variable("AWS_ENDPOINT_URL").expect(HELP);
    let target = format!("AmazonEC2ContainerServiceV20141113.{action}");
    json_api::call(&endpoint, "ecs", &target, &body).await
}
