//! The deployed stack, as the demo needs it: start executions, look at them, at the lock and at logs.

use super::{Fate, Millis};
use aws_sdk_sfn::error::DisplayErrorContext;
use aws_sdk_sfn::primitives::DateTime;
use aws_sdk_sfn::types::ExecutionStatus;
use lockstep::config::variable;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

mod lock;
mod logs;

pub use lock::Lease;

/// What went wrong, in one line for the user.
pub type Result<T> = std::result::Result<T, String>;

/// A deployed stack.
#[derive(Debug)]
pub struct Stack {
    outputs: Value,
    endpoint: String,
    sfn: aws_sdk_sfn::Client,
    dynamodb: aws_sdk_dynamodb::Client,
}

/// A batch that an execution shall run.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// How long it works.
    pub seconds: u32,
    /// Its exit code.
    pub exit: u8,
}

impl Stack {
    /// The stack whose state is in the folder `LOCKSTEP_STATE`, by default target/stack.
    ///
    /// # Errors
    /// When no stack is deployed there.
    pub async fn connect() -> Result<Self> {
        let given = variable("LOCKSTEP_STATE").map(PathBuf::from);
        let folder = given.unwrap_or_else(|| crate::repository().join("target/stack"));
        let outputs = read(&folder, "outputs.json")?;
        let env = read(&folder, "env")?;
        let env: HashMap<_, _> = env
            .lines()
            .filter_map(|line| line.split_once('='))
            .collect();
        let place = |name: &str| {
            let found = env.get(name).map(|value| (*value).to_owned());
            found.ok_or_else(|| format!("{name} is missing in {}/env", folder.display()))
        };
        let shared = lockstep::aws::sdk_config().await;
        let endpoint = place("AWS_ENDPOINT_URL")?;
        let sfn = aws_sdk_sfn::config::Builder::from(&shared)
            .endpoint_url(&endpoint)
            .region(aws_sdk_sfn::config::Region::new(place("AWS_REGION")?))
            .credentials_provider(keys());
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(&shared)
            .endpoint_url(place("AWS_ENDPOINT_URL_DYNAMODB")?)
            .region(aws_sdk_dynamodb::config::Region::new(place("AWS_REGION")?))
            .credentials_provider(keys());
        Ok(Self {
            outputs: serde_json::from_str(&outputs).map_err(|error| error.to_string())?,
            endpoint,
            sfn: aws_sdk_sfn::Client::from_conf(sfn.build()),
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb.build()),
        })
    }

    /// The `work` of an execution that runs `batch`.
    #[must_use]
    pub fn work(&self, batch: Batch) -> Value {
        let fixture = &self.outputs["fixture"];
        let variable = |name: &str, value: String| json!({ "Name": name, "Value": value });
        let environment = [
            variable("BATCH_SECONDS", batch.seconds.to_string()),
            variable("BATCH_EXIT", batch.exit.to_string()),
        ];
        json!({ "container": "batch", "runTask": {
            "LaunchType": "FARGATE",
            "Cluster": fixture["ClusterArn"],
            "TaskDefinition": fixture["BatchTaskDefinitionArn"],
            "NetworkConfiguration": { "AwsvpcConfiguration": { "Subnets": ["subnet-1"] } },
            "Overrides": { "ContainerOverrides": [{ "Name": "batch", "Environment": environment }] },
        }})
    }

    /// Starts an execution of exclusive-run: its ARN, and when it started.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(&self, input: &Value) -> Result<(String, Millis)> {
        let machine = self.output("ExclusiveRunStateMachineArn")?;
        let request = self.sfn.start_execution().state_machine_arn(machine);
        let sent = request.input(input.to_string()).send().await;
        let started = sent.map_err(|error| told("StartExecution", &error))?;
        Ok((started.execution_arn, millis(&started.start_date)))
    }

    /// Stops an execution from outside.
    ///
    /// # Errors
    /// When it cannot be stopped.
    pub async fn stop(&self, arn: &str) -> Result<()> {
        let sent = self.sfn.stop_execution().execution_arn(arn).send().await;
        sent.map(|_| ())
            .map_err(|error| told("StopExecution", &error))
    }

    /// When and how an execution ended; none while it runs.
    ///
    /// # Errors
    /// When it cannot be described.
    pub async fn ended(&self, arn: &str) -> Result<Option<(Millis, Fate)>> {
        let sent = self
            .sfn
            .describe_execution()
            .execution_arn(arn)
            .send()
            .await;
        let execution = sent.map_err(|error| told("DescribeExecution", &error))?;
        let Some(stopped) = execution
            .stop_date
            .filter(|_| execution.status != ExecutionStatus::Running)
        else {
            return Ok(None);
        };
        let fate = match execution.status {
            ExecutionStatus::Succeeded => fate(execution.output.as_deref().unwrap_or("null"))?,
            status => Fate::Failed {
                error: execution.error.unwrap_or_else(|| status.to_string()),
                cause: execution.cause.unwrap_or_default(),
            },
        };
        Ok(Some((millis(&stopped), fate)))
    }

    /// What the containers of the fixture have written since `since`.
    ///
    /// # Errors
    /// When the logs cannot be read.
    pub async fn container_lines(&self, since: Millis) -> Result<Vec<String>> {
        let group = self.outputs["fixture"]["BatchLogGroupName"].as_str();
        logs::lines(&self.endpoint, group.unwrap_or_default(), since).await
    }

    /// What the lock functions have written since `since`.
    ///
    /// # Errors
    /// When the logs cannot be read.
    pub async fn function_lines(&self, since: Millis) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for function in ["acquire-lock", "heartbeat", "release-lock", "reaper"] {
            let group = format!("/aws/lambda/lockstep-{function}");
            lines.extend(logs::lines(&self.endpoint, &group, since).await?);
        }
        Ok(lines)
    }

    fn output(&self, name: &str) -> Result<&str> {
        let value = self.outputs["lockstep"][name].as_str();
        value.ok_or_else(|| format!("the stack has no output {name}"))
    }
}

fn read(folder: &Path, name: &str) -> Result<String> {
    fs::read_to_string(folder.join(name)).map_err(|error| {
        let folder = folder.display();
        format!(
            "no deployed stack in {folder} ({name}: {error}): run tests/stack/lockstack up, deploy"
        )
    })
}

fn keys() -> aws_sdk_sfn::config::Credentials {
    aws_sdk_sfn::config::Credentials::new("test", "test", None, None, "local stack")
}

fn told(call: &str, error: &(impl Error + 'static)) -> String {
    format!("{call}: {}", DisplayErrorContext(error))
}

fn millis(time: &DateTime) -> Millis {
    let millis = time.to_millis().ok();
    millis
        .and_then(|millis| Millis::try_from(millis).ok())
        .unwrap_or(0)
}

/// The fate that the output of a successful execution tells.
fn fate(output: &str) -> Result<Fate> {
    let output: Value = serde_json::from_str(output).map_err(|error| error.to_string())?;
    let text = |name: &str| output[name].as_str().unwrap_or_default().to_owned();
    let (holder, message) = (text("holder"), text("message"));
    Ok(match output["status"].as_str() {
        Some("skipped") => Fate::Skipped { holder, message },
        Some("duplicate") => Fate::Duplicate { holder, message },
        Some(other) => return Err(format!("an execution answered with status {other}")),
        None => Fate::Succeeded,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_success_tells_what_it_was() {
        let skipped = fate(r#"{"status":"skipped","holder":"h","message":"held"}"#);
        let expected = Fate::Skipped {
            holder: "h".into(),
            message: "held".into(),
        };
        assert_eq!(skipped, Ok(expected));
        assert_eq!(fate(r#"{"TaskArn":"t"}"#), Ok(Fate::Succeeded));
        assert!(fate(r#"{"status":"queued"}"#).is_err());
        assert!(fate("not json").is_err());
    }
}
