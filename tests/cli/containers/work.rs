//! The task definition of a task, made step by step.

use super::image::LOCKSTEP;
use serde_json::{Value, json};

/// A task definition whose container is named `batch`.
#[derive(Clone, Debug)]
pub(super) struct Work {
    container: Value,
    fields: Value,
}

impl Work {
    /// Returns the batch under `lockstep run --lock LOCK FLAGS`.
    pub(super) fn guarded(lock: &str, flags: &[&str]) -> Self {
        let run = [LOCKSTEP, "run", "--lock", lock];
        Self::entered_by(&[&run, flags, &["--"]].concat())
    }

    /// Returns the batch behind another entry point.
    pub(super) fn entered_by(entry: &[&str]) -> Self {
        let container = json!({
            "name": "batch",
            "essential": true,
            "stopTimeout": 10,
            "entryPoint": entry,
            "command": ["/bin/sh", "/batch.sh"],
            "environment": [],
        });
        let fields = json!({
            "family": "lockstep-fixture-inside",
            "networkMode": "awsvpc",
            "requiresCompatibilities": ["FARGATE"],
            "cpu": "256",
            "memory": "512",
        });
        Self { container, fields }
    }

    /// Replaces the batch by a script for the shell.
    pub(super) fn script(self, script: &str) -> Self {
        self.with("command", json!(["/bin/sh", "-c", script]))
    }

    /// Sets how long the batch works.
    pub(super) fn seconds(self, seconds: f64) -> Self {
        self.env("BATCH_SECONDS", seconds)
    }

    /// Sets a variable of the container.
    pub(super) fn env(mut self, name: &str, value: impl ToString) -> Self {
        let variables = self.container["environment"].as_array_mut();
        variables
            .expect("a list")
            .push(json!({ "name": name, "value": value.to_string() }));
        self
    }

    /// Sets a field of the container's definition.
    pub(super) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.container[field] = value.into();
        self
    }

    /// Sets a field of the task's definition.
    pub(super) fn of_task(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields[field] = value.into();
        self
    }

    /// Returns the request of RegisterTaskDefinition, with what all definitions share: image,
    /// table, log and roles. `of_task("containerDefinitions", …)` may give a second, essential
    /// container.
    pub(super) fn request(&self, common: &Common) -> Value {
        let work = self.clone().env("LOCKSTEP_TABLE", &common.table);
        let (mut container, mut fields) = (work.container, work.fields);
        container["logConfiguration"] = json!({
            "logDriver": "awslogs",
            "options": {
                "awslogs-group": common.log,
                "awslogs-region": "us-east-1",
                "awslogs-stream-prefix": "inside",
            },
        });
        let others = fields["containerDefinitions"].as_array().into_iter();
        let mut all = vec![container];
        all.extend(others.flatten().cloned());
        for one in &mut all {
            one["image"] = common.image.as_str().into();
        }
        fields["containerDefinitions"] = all.into();
        fields["executionRoleArn"] = common.execution_role.as_str().into();
        if fields.get("taskRoleArn").is_none() {
            fields["taskRoleArn"] = common.task_role.as_str().into();
        }
        fields
    }
}

/// What all task definitions share.
#[derive(Clone, Debug)]
pub(super) struct Common {
    /// Name of the image.
    pub(super) image: String,
    /// Name of the lock table.
    pub(super) table: String,
    /// Name of the log group.
    pub(super) log: String,
    /// ARN of the role of the tasks.
    pub(super) task_role: String,
    /// ARN of the role of ECS.
    pub(super) execution_role: String,
}
