//! The example stacks as they are shipped, with roles that have nothing but what they name.

use super::fleet::relay;
use super::{Fleet, Service, Task};
use crate::support::{FencedResource, lock};
use lockstep_tests::stack::{now, until};
use serde_json::{Value, json};
use std::collections::HashMap;

/// `infra/examples/worker.yaml`, deployed, and what its program tells.
struct Worker {
    fleet: Fleet,
    outputs: HashMap<String, String>,
    resource: FencedResource,
    port: u16,
}

impl Worker {
    async fn deploy() -> Self {
        let (fleet, resource) = (Fleet::open().await, FencedResource::open().await);
        let port = relay(resource.variable().1).await;
        let (name, image) = (lock("orders"), fleet.image().to_owned());
        let parameters = [
            ("LockName", name.as_str()),
            ("ClusterName", "lockstep-fixture"),
            ("Image", &image),
            ("WorkCommand", "/bin/sh,/handle.sh"),
            ("SubnetIds", "subnet-1"),
            ("SecurityGroupIds", "sg-1"),
            ("Tasks", "1"),
        ];
        let outputs = fleet
            .stack()
            .deploy_example("worker.yaml", &name, &parameters)
            .await;
        Self {
            fleet,
            outputs,
            resource,
            port,
        }
    }

    fn service(&self) -> Service {
        let name = self.outputs["ServiceName"].clone();
        Service { name }
    }

    async fn sqs(&self, action: &str, body: Value) -> Value {
        let target = format!("AmazonSQS.{action}");
        self.fleet.stack().call("sqs", &target, body).await
    }

    async fn send(&self, name: &str, seconds: f64) {
        let text = format!("{name} {seconds} {}\n", self.port);
        let body = json!({ "QueueUrl": self.outputs["QueueUrl"], "MessageBody": text });
        self.sqs("SendMessage", body).await;
    }

    /// Messages in a queue, those that are at work too.
    async fn depth(&self, output: &str) -> u64 {
        let names = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
        ];
        let body = json!({ "QueueUrl": self.outputs[output], "AttributeNames": names });
        let received = self.sqs("GetQueueAttributes", body).await;
        let count = |name: &&str| received["Attributes"][*name].as_str()?.parse::<u64>().ok();
        names.iter().filter_map(count).sum()
    }

    async fn until_done(&self, name: &str) {
        self.resource
            .until_received(&format!("done {name}"), 1, 40)
            .await;
    }
}

#[tokio::test]
async fn a_deployment_of_the_example_service_loses_no_message_and_does_none_twice() {
    let worker = Worker::deploy().await;
    let (fleet, service) = (&worker.fleet, worker.service());
    let old = fleet.another_task(&service, &[]).await;
    for name in ["a", "b", "c"] {
        worker.send(name, 0.1).await;
    }
    for name in ["a", "b", "c"] {
        worker.until_done(name).await;
    }
    worker.send("long", 12.0).await;
    worker.resource.until_received("start long", 1, 30).await;
    let protected = fleet.is_protected(&old).await;

    let deployed = now();
    fleet
        .update(&service, json!({ "forceNewDeployment": true }))
        .await;
    let new = fleet.another_task(&service, &[&old]).await;
    fleet.stack().wait_task(&new.arn, "RUNNING", 30).await;
    for name in ["d", "e", "f"] {
        worker.send(name, 0.5).await;
    }
    for name in ["d", "e", "f", "long"] {
        worker.until_done(name).await;
    }
    let ended = fleet.ended(&old, 60).await;
    until("an empty queue", 30, async || {
        worker.depth("QueueUrl").await == 0
    })
    .await;
    let dead = worker.depth("DeadLettersUrl").await;
    fleet.remove(&service).await;

    let done = worker.resource.received("done long")[0].at;
    eprintln!(
        "figure: a deployment while a message is at work: done {} ms after it, the old task ends {} ms later",
        done - deployed,
        ended.at.saturating_sub(done)
    );
    assert!(protected && done < ended.at, "{ended:?}");
    assert_eq!((ended.code, dead), (143, 0));
    assert_eq!(ended.task["stopCode"], "ServiceSchedulerInitiated");
    for name in ["a", "b", "c", "d", "e", "f", "long"] {
        for event in ["start", "done"] {
            let received = worker.resource.received(&format!("{event} {name}"));
            assert!(
                received.len() == 1 && received[0].taken,
                "{event} {name}: {received:?}"
            );
        }
    }
}

#[tokio::test]
async fn the_example_batch_is_started_by_its_schedule_and_runs_under_its_lock() {
    let fleet = Fleet::open().await;
    let (lock, image) = (lock("hourly"), fleet.image().to_owned());
    let cluster = fleet.stack().fixture("ClusterArn").to_owned();
    let parameters = [
        ("LockName", lock.as_str()),
        ("ClusterArn", &cluster),
        ("Image", &image),
        ("WorkCommand", "/bin/sh,/batch.sh"),
        ("ScheduleExpression", "rate(1 minute)"),
        ("SubnetIds", "subnet-1"),
        ("SecurityGroupIds", "sg-1"),
    ];

    let outputs = fleet
        .stack()
        .deploy_example("run-task.yaml", &lock, &parameters)
        .await;
    until("a run", 120, async || {
        fleet
            .latest_run(&lock)
            .await
            .is_some_and(|run| run.end.is_some())
    })
    .await;

    let run = fleet.latest_run(&lock).await.expect("an entry");
    let holder = run.holder.as_str();
    let task = Task::of(holder.split('#').next().unwrap_or_default());
    assert_eq!(fleet.ended(&task, 20).await.code, 0);
    assert_eq!(run.outcome(), Some(lockstep::domain::RunOutcome::Succeeded));
    let key = run.run_key.expect("a run key").as_str().to_owned();
    assert!(key.contains(&outputs["ScheduleName"]), "{key}");
}
