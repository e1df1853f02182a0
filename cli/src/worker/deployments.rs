//! Finds out whether a deployment replaces the task of this worker.
//!
//! A protected task is not stopped by a deployment, and nothing tells it of one: a worker that is never idle would
//! keep running the old code.
//!
//! ```text
//!  once a minute   DescribeTasks ─▶ its service, its deployment ─▶ DescribeServices ─▶ is that one still PRIMARY?
//! ```

use crate::platform::clock::sleep;
use crate::platform::env::random_fraction;
use aws_config::SdkConfig;
use aws_sdk_ecs::Client;
use aws_sdk_ecs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ecs::types::{Deployment, DeploymentRolloutState};
use std::future::pending;
use std::time::Duration;

/// Time between two checks. It is spread by a quarter, so that the tasks of a service do not ask together.
const EVERY: Duration = Duration::from_secs(60);
/// Prefix of the group of a task that a service has started
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>).
const OF_SERVICE: &str = "service:";
/// Prefix of a deployment's id, which is `startedBy` of its tasks
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Deployment.html>).
const DEPLOYMENT: &str = "ecs-svc/";

/// A task of a service: what it was started from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    service: String,
    definition: String,
    /// The id of its deployment, if ECS tells it.
    deployment: Option<String>,
}

/// What is known after a check.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// The task is of the latest deployment, or nothing is known yet.
    Current,
    /// This deployment replaces it.
    Replaced(String),
    /// No later check can find more, and why.
    Unknown(String),
}

/// The deployments of the service that this worker's task is of.
#[derive(Clone, Debug)]
pub(crate) struct Deployments {
    client: Client,
    cluster: String,
    task: String,
}

impl Deployments {
    /// Creates a client for the task of this ARN; `None` outside of ECS.
    pub(crate) fn of(sdk: &SdkConfig, task: Option<&str>) -> Option<Self> {
        let task = task?;
        Some(Self {
            client: Client::new(sdk),
            cluster: cluster_of(task)?.to_owned(),
            task: task.to_owned(),
        })
    }

    /// Returns when a deployment replaces the task, with its name for the log. Never returns where that cannot be found.
    pub(crate) async fn replaced(self) -> String {
        loop {
            sleep(EVERY.mul_f64(0.75 + random_fraction() / 2.0)).await;
            match self.check().await {
                Found::Current => {}
                Found::Replaced(by) => return by,
                Found::Unknown(why) => {
                    tracing::warn!(
                        event = "deployments_unknown",
                        "--drain-on-deploy has no effect: {why}"
                    );
                    return pending().await;
                }
            }
        }
    }

    async fn check(&self) -> Found {
        let (client, cluster) = (&self.client, &self.cluster);
        let tasks = client.describe_tasks().cluster(cluster).tasks(&self.task);
        let tasks = match tasks.send().await {
            Ok(answer) => answer.tasks.unwrap_or_default(),
            Err(error) => return failed("DescribeTasks", &error),
        };
        // A new task may not be listed yet.
        let Some(task) = tasks.first() else {
            return Found::Current;
        };
        let origin = origin(task.group(), task.task_definition_arn(), task.started_by());
        let Some(origin) = origin else {
            return Found::Unknown("no service owns the task".into());
        };
        let services = client.describe_services().cluster(cluster);
        let services = match services.services(&origin.service).send().await {
            Ok(answer) => answer.services.unwrap_or_default(),
            Err(error) => return failed("DescribeServices", &error),
        };
        let deployments = services.first().map(|service| service.deployments());
        let mut deployments = deployments.unwrap_or_default().iter();
        let primary = deployments.find(|one| one.status() == Some("PRIMARY"));
        let primary = primary.filter(|primary| !is_failing(primary));
        primary.map_or(Found::Current, |primary| {
            judge(&origin, primary.id(), primary.task_definition())
        })
    }
}

/// Whether the tasks of a deployment fail to start. The worker stays then: nothing would replace it. A new deployment that
/// has started no task yet is not failing, because ECS may start its first task only after this one has ended.
fn is_failing(deployment: &Deployment) -> bool {
    let failed = deployment.rollout_state() == Some(&DeploymentRolloutState::Failed);
    failed || deployment.failed_tasks() > 0 && deployment.running_count() == 0
}

/// A service without a PRIMARY deployment, as under another deployment controller, replaces nothing here.
fn judge(origin: &Origin, id: Option<&str>, definition: Option<&str>) -> Found {
    let is_other = |own: &str, primary: Option<&str>| primary.is_some_and(|primary| primary != own);
    let is_replaced = match &origin.deployment {
        // A deployment that is forced has the same task definition.
        Some(own) if id.is_some() => is_other(own, id),
        _ => is_other(&origin.definition, definition),
    };
    if is_replaced {
        let by = definition.or(id).unwrap_or_default();
        return Found::Replaced(by.to_owned());
    }
    Found::Current
}

fn origin(group: Option<&str>, definition: Option<&str>, by: Option<&str>) -> Option<Origin> {
    Some(Origin {
        service: group?.strip_prefix(OF_SERVICE)?.to_owned(),
        definition: definition?.to_owned(),
        deployment: by
            .filter(|by| by.starts_with(DEPLOYMENT))
            .map(str::to_owned),
    })
}

/// The cluster in the ARN of a task, `…:task/CLUSTER/ID`.
fn cluster_of(task: &str) -> Option<&str> {
    let (_, path) = task.split_once(":task/")?;
    path.split_once('/').map(|(cluster, _)| cluster)
}

/// A refusal is final, any other failure may pass.
fn failed<E: ProvideErrorMetadata + std::error::Error>(call: &str, error: &SdkError<E>) -> Found {
    let code = error.code().unwrap_or("no answer");
    if code.starts_with("AccessDenied") {
        let why = format!("the task role may not call {call} (TaskProtectionPolicyArn allows it)");
        return Found::Unknown(why);
    }
    tracing::debug!(
        event = "deployments_unread",
        call,
        code,
        "the deployments of the service cannot be read"
    );
    Found::Current
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(deployment: Option<&str>) -> Origin {
        let (group, by) = (Some("service:orders"), deployment.or(Some("a person")));
        origin(group, Some("orders:7"), by).unwrap()
    }

    #[test]
    fn a_task_is_replaced_by_another_primary_deployment() {
        let (own, other) = ("ecs-svc/1", "ecs-svc/2");
        let replaced = |by: &str| Found::Replaced(by.into());
        for (origin, id, definition, found) in [
            (of(Some(own)), Some(own), Some("orders:7"), Found::Current),
            (
                of(Some(own)),
                Some(other),
                Some("orders:8"),
                replaced("orders:8"),
            ),
            // Forced, and rolled back.
            (
                of(Some(own)),
                Some(other),
                Some("orders:7"),
                replaced("orders:7"),
            ),
            (
                of(Some(own)),
                Some(other),
                Some("orders:6"),
                replaced("orders:6"),
            ),
            (of(None), Some(other), Some("orders:7"), Found::Current),
            (
                of(None),
                Some(other),
                Some("orders:8"),
                replaced("orders:8"),
            ),
            (of(Some(own)), None, None, Found::Current),
        ] {
            assert_eq!(
                judge(&origin, id, definition),
                found,
                "{origin:?} {id:?} {definition:?}"
            );
        }
    }

    #[test]
    fn a_deployment_whose_tasks_do_not_start_replaces_no_task() {
        let deployment = |state: &str, failed, running| {
            let deployment = Deployment::builder().rollout_state(state.into());
            deployment
                .failed_tasks(failed)
                .running_count(running)
                .build()
        };
        for (deployment, expected) in [
            (deployment("FAILED", 3, 1), true),
            (deployment("IN_PROGRESS", 1, 0), true),
            (deployment("IN_PROGRESS", 1, 1), false),
            (deployment("IN_PROGRESS", 0, 0), false),
            (deployment("COMPLETED", 0, 2), false),
        ] {
            assert_eq!(is_failing(&deployment), expected, "{deployment:?}");
        }
    }

    #[test]
    fn only_a_task_of_a_service_has_an_origin() {
        assert_eq!(origin(Some("family:batch"), Some("batch:1"), None), None);
        assert_eq!(origin(None, Some("batch:1"), None), None);
        assert_eq!(of(Some("ecs-svc/1")).service, "orders");
    }

    #[test]
    fn the_cluster_is_in_the_arn_of_a_task() {
        let arn = "arn:aws:ecs:eu-west-1:111122223333:task/batch/0f1e";

        assert_eq!(cluster_of(arn), Some("batch"));
        assert_eq!(
            cluster_of("arn:aws:ecs:eu-west-1:111122223333:task/0f1e"),
            None
        );
    }
}
