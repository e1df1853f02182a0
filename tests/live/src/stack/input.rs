//! The input of exclusive-run, made step by step.

use serde_json::{Map, Value, json};

/// The input of exclusive-run for the fixture's batch.
#[derive(Clone, Debug)]
pub struct BatchInput(Value);

impl BatchInput {
    pub(super) fn new(lock: &str, cluster: &str, task_definition: &str) -> Self {
        // The label makes tasks of this lock findable even if Lockstep gave them no variables.
        let label = json!([{ "Name": "BATCH_LABEL", "Value": lock }]);
        Self(json!({
            "lock": lock,
            "work": {
                "container": "batch",
                "runTask": {
                    "LaunchType": "FARGATE",
                    "Cluster": cluster,
                    "TaskDefinition": task_definition,
                    "NetworkConfiguration": {
                        "AwsvpcConfiguration": { "Subnets": ["subnet-1"] }
                    },
                    "Overrides": {
                        "ContainerOverrides": [{ "Name": "batch", "Environment": label }]
                    }
                }
            }
        }))
    }

    /// Sets how long the batch works. It also takes about a second to start.
    #[must_use]
    pub fn seconds(self, seconds: f64) -> Self {
        self.env("BATCH_SECONDS", &seconds.to_string())
    }

    /// Sets the batch's exit code.
    #[must_use]
    pub fn exit(self, code: u8) -> Self {
        self.env("BATCH_EXIT", &code.to_string())
    }

    /// Adds a variable that the caller gives to the container.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        let own = &mut self.run_task()["Overrides"]["ContainerOverrides"][0];
        let variables = own["Environment"].as_array_mut();
        let variables = variables.expect("the caller's variables are a list");
        variables.push(json!({ "Name": name, "Value": value }));
        self
    }

    /// Sets a field of the input itself, such as `leaseSeconds`.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields().insert(field.into(), value.into());
        self
    }

    /// Removes a field of the input.
    #[must_use]
    pub fn without(mut self, field: &str) -> Self {
        self.fields().remove(field);
        self
    }

    /// Sets the shortest lease, of three seconds, with a heartbeat every second that does not
    /// become less frequent.
    #[must_use]
    pub fn short_lease(self) -> Self {
        let lease = self.with("leaseSeconds", 3).with("heartbeatSeconds", 1);
        lease.with("maxHeartbeatSeconds", 1)
    }

    /// Makes the run wait for its turn if the lock is held.
    #[must_use]
    pub fn queued(self) -> Self {
        self.with("overlap", "queue")
    }

    /// Returns the same batch as the work of a user's workflow ([`super::Stack::guarded_machine`]).
    #[must_use]
    pub fn in_workflow(mut self, machine: &str) -> Self {
        let run = self.run_task().take();
        let input = json!({ "run": run });
        self.with(
            "work",
            json!({
                "startExecution": { "StateMachineArn": machine, "Input": input },
                "grantField": "lockstep",
            }),
        )
    }

    /// Returns the lock.
    #[must_use]
    pub fn lock(&self) -> &str {
        self.0["lock"].as_str().unwrap_or_default()
    }

    /// Returns the arguments of ecs:runTask.
    pub fn run_task(&mut self) -> &mut Value {
        &mut self.0["work"]["runTask"]
    }

    /// Returns the input as JSON.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.0
    }

    fn fields(&mut self) -> &mut Map<String, Value> {
        let fields = self.0.as_object_mut();
        fields.expect("the input is an object")
    }
}
