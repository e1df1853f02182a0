//! Finds out whether a deployment of the service replaces the task of this worker.
//!
//! A deployment does not stop a protected task, and does not notify it. A worker that is never idle would
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

/// Mean time between two checks. Each is up to a quarter shorter or longer, so that the tasks of a service do
/// not all check at once.
const EVERY: Duration = Duration::from_secs(60);
/// Prefix of the group of a task that a service has started
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>).
const SERVICE_GROUP_PREFIX: &str = "service:";
/// Prefix of the id of a deployment, which is the `startedBy` of its tasks
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Deployment.html>).
const DEPLOYMENT: &str = "ecs-svc/";

/// What a task of a service was started from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    service: String,
    definition: String,
    /// The id of its deployment, if `startedBy` has it.
    deployment: Option<String>,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// The task belongs to the latest deployment, or nothing is known yet.
    Current,
    /// A deployment replaces the task: its task definition or, without one, its id.
    Replaced(String),
    /// No later check can find a deployment, for this reason.
    Unknown(String),
}

/// Client that reads the deployments of the service which has started the task of this worker.
#[derive(Clone, Debug)]
pub(crate) struct Deployments {
    client: Client,
    cluster: String,
    task: String,
}

impl Deployments {
    /// Creates a client for the task with this ARN; `None` outside of ECS.
    pub(crate) fn of(sdk: &SdkConfig, task: Option<&str>) -> Option<Self> {
        let task = task?;
        Some(Self {
            client: Client::new(sdk),
            cluster: cluster_of(task)?.to_owned(),
            task: task.to_owned(),
        })
    }

    /// Returns when a deployment replaces the task, with the name of the deployment for the log. Never
    /// returns if the deployments cannot be read.
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
        // DescribeTasks may not know a new task yet.
        let Some(task) = tasks.first() else {
            return Found::Current;
        };
        let origin = origin(task.group(), task.task_definition_arn(), task.started_by());
        let Some(origin) = origin else {
            return Found::Unknown("the task was not started by an ECS service".into());
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

/// Returns whether the tasks of a deployment fail to start. In that case the worker stays, because nothing
/// would replace it. A new deployment that has started no task yet does not count as failing: ECS may start
/// its first task only after this one has ended.
fn is_failing(deployment: &Deployment) -> bool {
    let failed = deployment.rollout_state() == Some(&DeploymentRolloutState::Failed);
    failed || deployment.failed_tasks() > 0 && deployment.running_count() == 0
}

/// Decides whether the PRIMARY deployment, with this id and task definition, replaces the task that was
/// started from `origin`. A service without a PRIMARY deployment, as under another deployment controller,
/// replaces nothing.
fn judge(origin: &Origin, id: Option<&str>, definition: Option<&str>) -> Found {
    let is_other = |own: &str, primary: Option<&str>| primary.is_some_and(|primary| primary != own);
    let is_replaced = match &origin.deployment {
        // A forced deployment has another id and the same task definition.
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
        service: group?.strip_prefix(SERVICE_GROUP_PREFIX)?.to_owned(),
        definition: definition?.to_owned(),
        deployment: by
            .filter(|by| by.starts_with(DEPLOYMENT))
            .map(str::to_owned),
    })
}

/// Returns the cluster in the ARN of a task, `…:task/CLUSTER/ID`; `None` for an ARN without it.
fn cluster_of(task: &str) -> Option<&str> {
    let (_, path) = task.split_once(":task/")?;
    path.split_once('/').map(|(cluster, _)| cluster)
}

/// Returns the result of a check whose call failed. A denial is final; any other failure may pass.
fn failed<E: ProvideErrorMetadata + std::error::Error>(call: &str, error: &SdkError<E>) -> Found {
    let code = error.code().unwrap_or("no answer");
    if code.starts_with("AccessDenied") {
        let why = format!(
            "the task role may not call {call} (attach the policy TaskProtectionPolicyArn to it)"
        );
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
            // The new deployment is forced, or rolls back.
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
