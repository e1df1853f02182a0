//! The identity of the holders of this process: the ECS task and the container, or the host and the process.

use crate::platform::env::{random_id, variable};
use crate::platform::http::send;
use crate::platform::retry::retry_if;
use hyper::Method;
use serde::Deserialize;
use std::time::Duration;

/// The variable with the address of the task metadata endpoint
/// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4.html>).
const METADATA_URI: &str = "ECS_CONTAINER_METADATA_URI_V4";
/// Timeout of one request to that endpoint, which is on the same machine.
const RESPONSE_WITHIN: Duration = Duration::from_secs(2);
/// Maximum number of requests. The endpoint may throttle, or may not answer yet while a task starts.
const TRIES: u32 = 3;
/// Pause between two requests.
const PAUSE: Duration = Duration::from_millis(300);

/// The task or host that this process runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HolderIdentity {
    /// Prefix of the name of every holder in this process.
    prefix: String,
    /// The ARN of the ECS task, if this process is in one.
    pub(crate) task_arn: Option<String>,
}

#[derive(Deserialize)]
struct TaskMetadata {
    #[serde(rename = "TaskARN")]
    task_arn: String,
}

#[derive(Deserialize)]
struct ContainerMetadata {
    #[serde(rename = "DockerId")]
    docker_id: String,
}

impl HolderIdentity {
    /// Reads the task's metadata or, outside of a task, the host's name.
    ///
    /// # Errors
    /// The address and the problem, when the process is in an ECS task and its metadata cannot be read.
    /// Without the ARN of the task, recovery could not find out whether a holder is dead.
    pub(crate) async fn find() -> Result<Self, String> {
        let Some(uri) = variable(METADATA_URI) else {
            let host = nix::unistd::gethostname().ok();
            let host = host.and_then(|host| host.into_string().ok());
            return Ok(Self::on_machine(
                &host.unwrap_or_default(),
                std::process::id(),
            ));
        };
        let task: TaskMetadata = read(&format!("{uri}/task")).await?;
        let container: ContainerMetadata = read(&uri).await?;
        Ok(Self::in_task(&task.task_arn, &container.docker_id))
    }

    fn on_machine(host: &str, process: u32) -> Self {
        let plain = |c: &char| c.is_ascii_graphic() && *c != '#';
        let host: String = host.chars().filter(plain).take(200).collect();
        Self {
            prefix: format!("host:{host}#{process}"),
            task_arn: None,
        }
    }

    fn in_task(task_arn: &str, container: &str) -> Self {
        Self {
            prefix: format!("{task_arn}#{container}"),
            task_arn: Some(task_arn.to_owned()),
        }
    }

    /// Returns the name of a new holder, unique among all jobs.
    pub(crate) fn new_holder(&self) -> String {
        format!("{}/{}", self.prefix, random_id())
    }

    /// Returns the name of a new holder that ends with the name of the `job`.
    pub(crate) fn holder_for(&self, job: &str) -> String {
        format!("{}:{job}", self.new_holder())
    }
}

async fn read<T: for<'a> Deserialize<'a>>(uri: &str) -> Result<T, String> {
    let attempt = || async {
        match send(Method::GET, uri, Vec::new(), RESPONSE_WITHIN).await {
            Ok((200..=299, body)) => Ok(body),
            Ok((status, _)) => Err(format!("status {status}")),
            Err(error) => Err(error.to_string()),
        }
    };
    let again = |_: &String, attempts| (attempts < TRIES).then_some(PAUSE);
    let body = retry_if(attempt, again).await;
    let body = body.map_err(|problem| format!("{METADATA_URI}: {uri}: {problem}"))?;
    serde_json::from_slice(&body)
        .map_err(|error| format!("{METADATA_URI}: {uri}: invalid response: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::domain::HolderId;

    #[test]
    fn a_holder_in_a_task_begins_with_its_arn_and_names_the_container() {
        let arn = "arn:aws:ecs:eu-west-1:111122223333:task/batch/0f1e";
        let identity = HolderIdentity::in_task(arn, "ea32192c8553");

        let holder = identity.new_holder();

        let prefix = format!("{arn}#ea32192c8553/");
        assert!(holder.starts_with(&prefix), "{holder}");
        assert!(HolderId::new(holder).is_ok());
    }

    #[test]
    fn two_jobs_of_one_process_are_two_holders_with_one_prefix() {
        let identity = HolderIdentity::on_machine("batch-1", 17);
        let [one, two] = [(); 2].map(|()| HolderId::new(identity.new_holder()).unwrap());

        assert_ne!(one, two);
        for holder in [&one, &two] {
            assert!(holder.as_str().starts_with("host:batch-1#17/"), "{holder}");
        }
    }

    #[test]
    fn a_host_name_with_invalid_characters_gives_a_valid_holder() {
        let identity = HolderIdentity::on_machine("bücher #1\n", 1);

        assert!(HolderId::new(identity.new_holder()).is_ok());
    }
}
