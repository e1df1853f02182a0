//! The example stacks as they are shipped. Their roles have only the rights that they name.

use super::fleet::relay;
use super::{Fleet, Service, Task};
use crate::support::{FaultProxy, FencedResource, found, lock};
use crate::worker::{depth, sqs};
use lockstep_tests::stack::{now, until};
use serde_json::json;
use std::collections::HashMap;

/// The deployed `infra/examples/worker.yaml`, and the resource that its program writes to.
struct Worker {
    fleet: Fleet,
    outputs: HashMap<String, String>,
    resource: FencedResource,
    relay: FaultProxy,
}

impl Worker {
    async fn deploy() -> Self {
        let (fleet, resource) = (Fleet::open().await, FencedResource::open().await);
        let relay = relay(resource.variable()).await;
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
        let stack = fleet.stack();
        let deployed = stack.deploy_example("worker.yaml", &name, &parameters);
        Self {
            outputs: deployed.await,
            fleet,
            resource,
            relay,
        }
    }

    fn service(&self) -> Service {
        let name = self.outputs["ServiceName"].clone();
        Service { name }
    }

    async fn send(&self, name: &str, seconds: f64) {
        let text = format!("{name} {seconds} {}\n", self.relay.port);
        let body = json!({ "QueueUrl": self.outputs["QueueUrl"], "MessageBody": text });
        sqs(self.fleet.stack(), "SendMessage", body).await;
    }

    /// Returns how many messages a queue has, including those at work.
    async fn depth(&self, output: &str) -> u64 {
        depth(self.fleet.stack(), &self.outputs[output]).await
    }

    async fn until_done(&self, name: &str) {
        let done = format!("done {name}");
        self.resource.until_received(&done, 1, 40).await;
    }
}

#[tokio::test]
async fn a_deployment_of_the_example_loses_and_repeats_no_message() {
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
    let anew = json!({ "forceNewDeployment": true });
    fleet.update(&service, anew).await;
    let new = fleet.another_task(&service, &[&old]).await;
    fleet.stack().wait_task(&new.arn, "RUNNING", 30).await;
    for name in ["d", "e", "f"] {
        worker.send(name, 0.5).await;
    }
    for name in ["d", "e", "f", "long"] {
        worker.until_done(name).await;
    }
    let ended = fleet.ended(&old, 60).await;
    let is_empty = async || worker.depth("QueueUrl").await == 0;
    until("an empty queue", 30, is_empty).await;
    let dead = worker.depth("DeadLettersUrl").await;
    fleet.remove(&service).await;

    let done = worker.resource.received("done long")[0].at;
    eprintln!(
        "figure: a deployment while a message is at work: done {} ms after it, the old task ends {} ms later",
        done - deployed,
        ended.at.saturating_sub(done)
    );
    assert!(protected && done < ended.at, "{ended:?}");
    assert_eq!(dead, 0);
    // On a slow machine the worker notices the deployment itself before it is idle.
    let end = (
        ended.code,
        ended.task["stopCode"].as_str().unwrap_or_default(),
    );
    let by_ecs = (143, "ServiceSchedulerInitiated");
    assert!(
        [by_ecs, (0, "EssentialContainerExited")].contains(&end),
        "{ended:?}"
    );
    for name in ["a", "b", "c", "d", "e", "f", "long"] {
        for event in ["start", "done"] {
            let received = worker.resource.received(&format!("{event} {name}"));
            let taken: Vec<_> = received.iter().map(|entry| entry.taken).collect();
            assert_eq!(taken, [true], "{event} {name}");
        }
    }
}

/// Longest time from a deployment to the end of a task whose messages take three seconds: the two
/// minutes that are promised, with a check every minute, and one message.
const DRAINED_WITHIN: u64 = 123;

#[tokio::test]
async fn a_worker_that_is_never_idle_ends_by_itself_after_a_deployment() {
    let worker = Worker::deploy().await;
    let (fleet, service) = (&worker.fleet, worker.service());
    let old = fleet.another_task(&service, &[]).await;
    let mut sent = 0_u32;
    let mut keep_busy = async || {
        if worker.depth("QueueUrl").await < 12 {
            sent += 1;
            worker.send(&format!("m{sent}"), 3.0).await;
        }
        sent
    };
    keep_busy().await;
    worker.resource.until_received("start m1", 1, 60).await;
    for _ in 0..12 {
        keep_busy().await;
    }

    let deployed = now();
    let anew = json!({ "forceNewDeployment": true });
    fleet.update(&service, anew).await;
    let new = fleet.another_task(&service, &[&old]).await;
    let mut unprotected = 0;
    while fleet.end_of(&old).await.is_none() {
        assert!(now() < deployed + DRAINED_WITHIN * 1_000, "{old:?}");
        keep_busy().await;
        unprotected += u32::from(!fleet.is_protected(&old).await);
    }
    let ended = fleet.ended(&old, 10).await;
    let sent = keep_busy().await;
    let is_empty = async || worker.depth("QueueUrl").await == 0;
    until("an empty queue", 240, is_empty).await;
    let dead = worker.depth("DeadLettersUrl").await;
    fleet.remove(&service).await;

    eprintln!(
        "figure: a deployment under constant load: the old task ends {} ms after it; {sent} messages; unprotected in {unprotected} samples",
        ended.at - deployed
    );
    // The worker clears its protection before it exits, so ECS may be what stops the task. After
    // SIGTERM the code would be 143.
    assert_eq!((ended.code, dead), (0, 0), "{ended:?}");
    assert_ne!(old, new);
    for name in 1..=sent {
        for event in ["start", "done"] {
            let received = worker.resource.received(&format!("{event} m{name}"));
            let taken: Vec<_> = received.iter().map(|entry| entry.taken).collect();
            assert_eq!(taken, [true], "{event} m{name}");
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

    let stack = fleet.stack();
    let outputs = stack.deploy_example("run-task.yaml", &lock, &parameters);
    let outputs = outputs.await;
    let ended = async || {
        let run = fleet.latest_run(&lock).await;
        run.filter(|run| run.end.is_some())
    };
    let run = found("run that has ended", 120, ended).await;

    let holder = run.holder.as_str();
    let task = Task::of(holder.split('#').next().unwrap_or_default());
    assert_eq!(fleet.ended(&task, 20).await.code, 0);
    assert_eq!(run.outcome(), Some(lockstep::domain::RunOutcome::Succeeded));
    let key = run.run_key.expect("a run key").as_str().to_owned();
    assert!(key.contains(&outputs["ScheduleName"]), "{key}");
}
