//! Small workflows of a user's own, whose work costs nothing, so that a measurement shows the lock.
//! Copies of the deployed functions that reach the table over a wire that counts requests.

use super::{Stack, unique};
use crate::wire::Wire;
use aws_smithy_types::base64;
use serde_json::{Value, json};

/// The two functions that a workflow calls.
#[derive(Clone, Debug)]
pub struct Functions {
    /// ARN of acquire-lock.
    pub acquire: String,
    /// ARN of release-lock.
    pub release: String,
}

/// How a workflow gets its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It waits in the queue until it is woken.
    Queue,
    /// It ends without its work.
    Skip,
    /// It asks every three seconds.
    Poll,
}

// The state that the lock guards.
const WORK: &str = "Work";

const BUSY: [&str; 7] = [
    "Lockstep.Contended",
    "Lockstep.Unavailable",
    "Lambda.TooManyRequestsException",
    "Lambda.ServiceException",
    "Lambda.Unknown",
    "Runtime.ExitError",
    "States.Timeout",
];

impl Stack {
    /// Returns the deployed functions.
    pub fn functions(&self) -> Functions {
        Functions {
            acquire: self.output("AcquireLockFunctionArn").to_owned(),
            release: self.output("ReleaseLockFunctionArn").to_owned(),
        }
    }

    /// Creates a state machine whose input is a request of acquire-lock without a holder.
    pub async fn small_machine(&self, functions: &Functions, turn: Turn) -> String {
        self.machine(&definition(functions, turn)).await
    }

    /// Creates exclusive-run once more, as it is deployed, after `change` to its definition.
    pub async fn changed_machine(&self, change: impl FnOnce(&mut Value)) -> String {
        let deployed = self.output("ExclusiveRunStateMachineArn");
        let deployed = self
            .sfn
            .describe_state_machine()
            .state_machine_arn(deployed);
        let deployed = deployed.send().await.expect("the deployed state machine");
        let mut definition = serde_json::from_str(&deployed.definition).expect("JSON");
        change(&mut definition);
        let machine = self
            .sfn
            .create_state_machine()
            .name(unique("changed"))
            .definition(definition.to_string())
            .role_arn(deployed.role_arn);
        let machine = machine.send().await.expect("a state machine");
        machine.state_machine_arn
    }

    /// Creates a small machine whose work takes five minutes.
    pub async fn long_machine(&self) -> String {
        let mut definition = definition(&self.functions(), Turn::Skip);
        let work = &mut definition["States"][WORK];
        *work = json!({ "Type": "Wait", "Seconds": 300, "Next": work["Next"] });
        self.machine(&definition).await
    }

    /// Creates a user's workflow that exclusive-run may start. It runs the task that its input
    /// describes, and knows nothing of the lock. The grant in its input only goes into the
    /// variables of its container, as evidence.
    pub async fn guarded_machine(&self) -> String {
        self.guarded(&guarded()).await
    }

    /// Creates such a workflow with a `definition` of the test's.
    pub async fn guarded(&self, definition: &Value) -> String {
        self.named(&unique("guarded"), definition).await
    }

    async fn machine(&self, definition: &Value) -> String {
        self.named(&unique("small"), definition).await
    }

    async fn named(&self, name: &str, definition: &Value) -> String {
        let machine = self
            .sfn
            .create_state_machine()
            .name(name)
            .definition(definition.to_string())
            .role_arn(self.fixture("WorkflowRoleArn"));
        let machine = machine.send().await.expect("a state machine");
        machine.state_machine_arn
    }

    /// Returns when an execution of a small machine came to its work, in epoch milliseconds.
    pub async fn began_work(&self, arn: &str) -> u64 {
        self.entered(arn, WORK).await
    }

    /// Returns when an execution first entered `state`, in epoch milliseconds, by its history.
    ///
    /// # Panics
    /// If the execution has not entered the state.
    pub async fn entered(&self, arn: &str, state: &str) -> u64 {
        let events = self.history(arn).await;
        let entered = events.iter().find(|event| {
            let entered = event.state_entered_event_details();
            entered.is_some_and(|entered| entered.name() == state)
        });
        let entered = entered.unwrap_or_else(|| panic!("{arn} has not entered {state}"));
        (entered.timestamp.as_secs_f64() * 1000.0).round() as u64
    }
}

fn definition(functions: &Functions, turn: Turn) -> Value {
    let granted = "{% $states.result.status in ['granted', 'alreadyHeld'] %}";
    let ask =
        "{% $merge([$states.context.Execution.Input, {'holder': $states.context.Execution.Id}]) %}";
    let wait = "{% $merge([$states.context.Execution.Input, {'holder': $states.context.Execution.Id, 'taskToken': $states.context.Task.Token}]) %}";
    let answer = if turn == Turn::Queue {
        "{% $states.result %}"
    } else {
        "{% $states.result.Payload %}"
    };
    let acquire = match turn {
        Turn::Queue => call(
            "lambda:invoke.waitForTaskToken",
            &functions.acquire,
            &json!(wait),
        ),
        Turn::Skip | Turn::Poll => call("lambda:invoke", &functions.acquire, &json!(ask)),
    };
    let otherwise = if turn == Turn::Poll {
        "Pause"
    } else {
        "Without"
    };
    let release = json!({ "grant": "{% $answer.grant %}", "outcome": "succeeded" });
    json!({
        "QueryLanguage": "JSONata",
        "StartAt": "Acquire",
        "States": {
            "Acquire": with(acquire, &json!({ "Assign": { "answer": answer }, "Output": answer, "Next": "Mine" })),
            "Mine": {
                "Type": "Choice",
                "Choices": [{ "Condition": granted.replace("states.result", "answer"), "Next": WORK }],
                "Default": otherwise
            },
            "Pause": { "Type": "Wait", "Seconds": 3, "Next": "Acquire" },
            "Without": { "Type": "Succeed", "Output": "{% $answer %}" },
            WORK: { "Type": "Pass", "Next": "Release" },
            "Release": with(
                call("lambda:invoke", &functions.release, &release),
                &json!({ "Output": "{% $answer %}", "End": true })
            ),
        }
    })
}

fn guarded() -> Value {
    let own = "$states.input.run.Overrides.ContainerOverrides[0]";
    let grant = "$states.input.lockstep";
    let variables = format!(
        "[{own}.Environment, \
          {{'Name': 'LOCKSTEP_LOCK', 'Value': {grant}.lock}}, \
          {{'Name': 'LOCKSTEP_HOLDER', 'Value': {grant}.holder}}, \
          {{'Name': 'LOCKSTEP_FENCING_TOKEN', 'Value': $string({grant}.token)}}, \
          $exists({grant}.runKey) ? {{'Name': 'LOCKSTEP_RUN_KEY', 'Value': {grant}.runKey}} : []]"
    );
    let container = format!("$merge([{own}, {{'Environment': {variables}}}])");
    let overrides = format!("{{'ContainerOverrides': [{container}]}}");
    let arguments = format!("{{% $merge([$states.input.run, {{'Overrides': {overrides}}}]) %}}");
    json!({
        "QueryLanguage": "JSONata",
        "StartAt": "Batch",
        "States": { "Batch": {
            "Type": "Task",
            "Resource": "arn:aws:states:::ecs:runTask.sync",
            "Arguments": arguments,
            "Output": { "rows": 7, "TaskArn": "{% $states.result.TaskArn %}", "exitCode": "{% $states.result.Containers[0].ExitCode %}" },
            "End": true
        } }
    })
}

fn call(resource: &str, function: &str, payload: &Value) -> Value {
    json!({
        "Type": "Task",
        "Resource": format!("arn:aws:states:::{resource}"),
        "Arguments": { "FunctionName": function, "Payload": payload },
        "TimeoutSeconds": 300,
        "Retry": [{
            "ErrorEquals": BUSY,
            "IntervalSeconds": 1,
            "MaxAttempts": 20,
            "BackoffRate": 1.5,
            "MaxDelaySeconds": 10,
            "JitterStrategy": "FULL"
        }]
    })
}

fn with(mut state: Value, more: &Value) -> Value {
    let fields = state.as_object_mut().expect("a state");
    fields.extend(more.as_object().expect("fields").clone());
    state
}

impl Stack {
    /// Creates copies of acquire-lock and release-lock with the same code, roles and table, over
    /// `wire`.
    pub async fn functions_over(&self, wire: &Wire) -> Functions {
        let deployed = self.functions();
        Functions {
            acquire: self.copy("acquire-lock", &deployed.acquire, wire).await,
            release: self.copy("release-lock", &deployed.release, wire).await,
        }
    }

    async fn copy(&self, package: &str, arn: &str, wire: &Wire) -> String {
        let path = format!("/2015-03-31/functions/{arn}/configuration");
        let response = self.rest("lambda", "GET", &path, Value::Null).await.body;
        let mut variables = response["Environment"]["Variables"].clone();
        variables["AWS_ENDPOINT_URL_DYNAMODB"] = wire.endpoint().into();
        let zip = format!("target/lambda/{package}/bootstrap.zip");
        let zip = crate::repository().join(zip);
        let code = std::fs::read(&zip).unwrap_or_else(|error| panic!("{}: {error}", zip.display()));
        let mut wanted = json!({
            "FunctionName": unique(package),
            "Environment": { "Variables": variables },
            "Code": { "ZipFile": base64::encode(&code) },
        });
        for field in [
            "Role",
            "Runtime",
            "Handler",
            "Architectures",
            "MemorySize",
            "Timeout",
            "LoggingConfig",
        ] {
            wanted[field] = response[field].clone();
        }
        let made = self
            .rest("lambda", "POST", "/2015-03-31/functions", wanted)
            .await;
        let arn = made.body["FunctionArn"].as_str();
        arn.unwrap_or_else(|| panic!("no copy of {package}: {}", made.body))
            .to_owned()
    }
}
