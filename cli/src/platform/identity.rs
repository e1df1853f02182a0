//! Where this process runs: the ECS task and the container, or a machine.

use crate::platform::env::{filled, random_id};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::timeout;

/// The variable with the address of the task metadata endpoint
/// (<https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4.html>).
const METADATA_URI: &str = "ECS_CONTAINER_METADATA_URI_V4";
/// Longest wait for one answer of that endpoint, which is on the same machine.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How often it is asked: it may throttle or be late while a task starts.
const TRIES: u32 = 3;

/// Where this process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HolderIdentity {
    /// What every holder here begins with.
    prefix: String,
    /// The ARN of the ECS task, if it is one.
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
    /// Finds out where this process runs.
    ///
    /// # Errors
    /// A sentence, when the process is in an ECS task and its metadata cannot be read: without the
    /// task's ARN nobody could tell whether a holder is dead.
    pub(crate) async fn find() -> Result<Self, String> {
        let Some(uri) = filled(METADATA_URI) else {
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

    /// A holder that no other job has, here or anywhere.
    pub(crate) fn new_holder(&self) -> String {
        format!("{}/{}", self.prefix, random_id())
    }

    /// The same, with the name of the job at its end.
    pub(crate) fn holder_for(&self, job: &str) -> String {
        format!("{}:{job}", self.new_holder())
    }
}

async fn read<T: for<'a> Deserialize<'a>>(uri: &str) -> Result<T, String> {
    let mut problem = String::new();
    for _ in 0..TRIES {
        match timeout(ANSWER_WITHIN, get(uri)).await {
            Ok(Ok(body)) => {
                return serde_json::from_slice(&body)
                    .map_err(|error| format!("{METADATA_URI}: {uri} answers {error}"));
            }
            Ok(Err(error)) => problem = error,
            Err(_) => problem = "no answer within 2 s".into(),
        }
        crate::platform::clock::sleep(Duration::from_millis(300)).await;
    }
    Err(format!("{METADATA_URI}: {uri}: {problem}"))
}

async fn get(uri: &str) -> Result<Bytes, String> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let uri = uri.parse().map_err(|error| format!("{error}"))?;
    let answer = client.get(uri).await.map_err(|error| format!("{error}"))?;
    let status = answer.status();
    if !status.is_success() {
        return Err(format!("status {status}"));
    }
    let body = answer.into_body().collect().await;
    Ok(body.map_err(|error| format!("{error}"))?.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep::domain::HolderId;

    #[test]
    fn a_holder_in_a_task_begins_with_its_arn_and_names_the_container() {
        let arn = "arn:aws:ecs:eu-west-1:111122223333:task/batch/0f1e";
        let site = HolderIdentity::in_task(arn, "ea32192c8553");

        let holder = site.new_holder();

        assert!(
            holder.starts_with(&format!("{arn}#ea32192c8553/")),
            "{holder}"
        );
        assert!(HolderId::new(holder).is_ok());
    }

    #[test]
    fn two_jobs_of_one_process_are_two_holders_of_one_site() {
        let site = HolderIdentity::on_machine("batch-1", 17);
        let [one, two] = [site.new_holder(), site.new_holder()].map(|h| HolderId::new(h).unwrap());

        assert_ne!(one, two);
        for holder in [&one, &two] {
            assert!(holder.as_str().starts_with("host:batch-1#17/"), "{holder}");
        }
    }

    #[test]
    fn a_strange_host_name_still_gives_a_valid_holder() {
        let site = HolderIdentity::on_machine("bücher #1\n", 1);

        assert!(HolderId::new(site.new_holder()).is_ok());
    }
}
