//! The cluster of the containers, and a way from them to a port of this machine's loopback.

use super::image::{docker, image};
use super::work::{Common, Work};
use super::{Logged, Task};
use crate::support::{FaultProxy, Inside};
use lockstep_tests::stack::{Stack, deadline, now, pause};
use serde_json::{Value, json};
use std::ops::Deref;

/// The stack, and tasks on it.
pub(super) struct Fleet {
    inside: Inside,
    common: Common,
}

impl Deref for Fleet {
    type Target = Inside;

    fn deref(&self) -> &Inside {
        &self.inside
    }
}

impl Fleet {
    /// Connects to the stack, and builds the image unless it is built.
    pub(super) async fn open() -> Self {
        let inside = Inside::open().await;
        let stack = &inside.stack;
        let common = Common {
            image: image(stack).await.to_owned(),
            table: inside.table.clone(),
            log: stack.fixture("InsideLogGroupName").to_owned(),
            task_role: stack.fixture("InsideTaskRoleArn").to_owned(),
            execution_role: stack.fixture("BatchExecutionRoleArn").to_owned(),
        };
        Self { inside, common }
    }

    /// Connects to the stack, with a lock of the test's own.
    pub(super) async fn with_lock(test: &str) -> (Self, String) {
        (Self::open().await, crate::support::lock(test))
    }

    /// Calls ECS with the fixture's cluster.
    pub(super) async fn ecs(&self, action: &str, mut body: Value) -> Value {
        body["cluster"] = self.stack.fixture("ClusterArn").into();
        self.call_ecs(action, body).await
    }

    /// Registers a task definition, and returns its ARN.
    pub(super) async fn define(&self, work: &Work) -> String {
        let request = work.request(&self.common);
        let response = self.ecs("RegisterTaskDefinition", request).await;
        let arn = response["taskDefinition"]["taskDefinitionArn"].as_str();
        arn.unwrap_or_else(|| panic!("no task definition: {response}"))
            .to_owned()
    }

    /// Starts a task that belongs to no service.
    pub(super) async fn start(&self, work: &Work) -> Task {
        let definition = self.define(work).await;
        let ask = json!({
            "taskDefinition": definition,
            "launchType": "FARGATE",
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
        });
        let response = self.ecs("RunTask", ask).await;
        let arn = response["tasks"][0]["taskArn"].as_str();
        Task::of(arn.unwrap_or_else(|| panic!("no task started: {response}")))
    }

    /// Starts a task that waits for `lock`, and waits until `count` runs are in the queue.
    pub(super) async fn start_in_line(&self, lock: &str, work: &Work, count: usize) -> Task {
        let task = self.start(work).await;
        self.until_waiting(lock, count, 30).await;
        task
    }

    /// Starts a task and waits until its batch works.
    pub(super) async fn at_work(&self, work: &Work) -> (Task, Logged) {
        let task = self.start(work).await;
        let start = self.until_logged(&task, "start", 30).await;
        (task, start)
    }

    /// Starts a task that holds `lock` until it is stopped.
    pub(super) async fn holder(&self, lock: &str) -> Task {
        let work = Work::guarded(lock, &[]).seconds(300.0);
        self.at_work(&work).await.0
    }

    /// Stops a task by StopTask.
    pub(super) async fn stop(&self, task: &Task) {
        let ask = json!({ "task": task.arn, "reason": "asked by a test" });
        self.ecs("StopTask", ask).await;
    }

    /// Runs `pause`, `unpause` or `kill` of the engine on the container of a task.
    pub(super) async fn docker(&self, verb: &str, task: &Task) {
        self.docker_with(&[verb], task).await;
    }

    /// Runs a command of the engine, with its options, on the container of a task.
    pub(super) async fn docker_with(&self, command: &[&str], task: &Task) {
        let id = task.runtime_id(&self.stack).await;
        let done = docker(&self.stack, &[command, &[&id]].concat()).await;
        assert!(done.status.success(), "docker {command:?} {id}: {done:?}");
    }

    /// Returns all lines that the container of a task wrote.
    pub(super) async fn lines(&self, task: &Task) -> Vec<String> {
        let stream = format!("inside/batch/{}", task.id);
        let ask = json!({ "logGroupName": self.common.log, "logStreamNames": [stream] });
        let events = self.stack.log_events(ask).await;
        let texts = events.iter().filter_map(|event| event["message"].as_str());
        texts.map(ToOwned::to_owned).collect()
    }

    /// Returns what the command of a task logged about itself.
    pub(super) async fn logged(&self, task: &Task) -> Vec<Logged> {
        Logged::all(&self.lines(task).await)
    }

    /// Waits until the command of a task has logged `event`.
    pub(super) async fn until_logged(&self, task: &Task, event: &str, seconds: u64) -> Logged {
        let deadline = deadline(seconds);
        loop {
            let logged = self.logged(task).await;
            if let Some(found) = logged.into_iter().find(|logged| logged.event == event) {
                return found;
            }
            let lines = self.lines(task).await;
            assert!(
                now() < deadline,
                "no {event:?} of {task:?} in {seconds} s: {lines:#?}"
            );
            pause(100).await;
        }
    }

    /// Returns the name of the image.
    pub(super) fn image(&self) -> &str {
        &self.common.image
    }

    /// Returns the stack.
    pub(super) fn stack(&self) -> &Stack {
        &self.inside.stack
    }
}

/// Opens a way for containers to a port of this machine's loopback.
pub(super) async fn relay((_, port): (String, String)) -> FaultProxy {
    FaultProxy::open_on("0.0.0.0", &format!("127.0.0.1:{port}")).await
}
