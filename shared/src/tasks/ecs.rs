//! Client of ECS.
//!
//! A task that an answer does not contain may still run. So every gap in an answer is an error: too many
//! pages, a failure in the answer of DescribeTasks, a task without a status. Only a task that ECS has deleted
//! (`MISSING`) counts as gone.

mod error;
mod protection;
mod read;

use super::{ProtectionAnswer, Tasks, TasksError};
use crate::lazy::LazyClient;
use aws_sdk_ecs::Client;
use aws_sdk_ecs::error::ProvideErrorMetadata;
use aws_sdk_ecs::types::DesiredStatus;
use lockstep_core::domain::{Task, TaskArn, TaskSet};
use std::collections::BTreeSet;

/// Largest number of pages that one search reads of each list of ListTasks.
const PAGES_MAX: usize = 20;

/// Largest number of tasks in a page of ListTasks, and in a call of DescribeTasks.
const PAGE: usize = 100;

/// Longest reason for a stop, in characters.
const REASON_MAX: usize = 255;

/// A client of ECS.
#[derive(Clone, Debug)]
pub struct Ecs {
    client: LazyClient<Client>,
}

impl Ecs {
    /// Creates a client with the settings of `sdk`, whose retry policy handles throttling.
    #[must_use]
    pub fn from_sdk(sdk: &aws_config::SdkConfig) -> Self {
        Self {
            client: LazyClient::new(sdk, Client::new),
        }
    }

    /// Returns the ARNs of the tasks of `work` whose desired status is `status`
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ListTasks.html>).
    async fn list(&self, work: &TaskSet, status: DesiredStatus) -> Result<Vec<String>, TasksError> {
        let list = self.client.list_tasks();
        let list = list
            .cluster(&work.cluster)
            .set_family(work.family.clone())
            .desired_status(status);
        let mut pages = list.into_paginator().send();
        let mut arns = Vec::new();
        for _ in 0..PAGES_MAX {
            let Some(page) = pages.next().await else {
                return Ok(arns);
            };
            let page = page.map_err(|error| error::translate(&work.cluster, &error))?;
            arns.extend(page.task_arns.unwrap_or_default());
            if page.next_token.is_none() {
                return Ok(arns);
            }
        }
        let (most, cluster) = (PAGES_MAX * PAGE, &work.cluster);
        let text =
            format!("more than {most} tasks in cluster {cluster}; work.family narrows the search");
        Err(TasksError::Unavailable(text))
    }

    /// Returns the tasks of `arns`, at most [`PAGE`], that ECS knows
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeTasks.html>).
    async fn describe(
        &self,
        cluster: &str,
        arns: Vec<String>,
    ) -> Result<Vec<aws_sdk_ecs::types::Task>, TasksError> {
        let call = self.client.describe_tasks();
        let call = call.cluster(cluster).set_tasks(Some(arns));
        let seen = call.send().await;
        let seen = seen.map_err(|error| error::translate(cluster, &error))?;
        // ECS may delete a task between ListTasks and this call (`MISSING`). Any other failure leaves a gap.
        let unseen = seen
            .failures()
            .iter()
            .find(|f| f.reason() != Some("MISSING"));
        if let Some(failure) = unseen {
            return Err(TasksError::Unavailable(format!(
                "DescribeTasks failed for a task: {failure:?}"
            )));
        }
        Ok(seen.tasks.unwrap_or_default())
    }
}

impl Tasks for Ecs {
    async fn of_group(&self, work: &TaskSet, group: &str) -> Result<Vec<Task>, TasksError> {
        // The running tasks are listed first, so that a task which stops between the two calls is in at least
        // one list.
        let mut arns = BTreeSet::new();
        for status in [DesiredStatus::Running, DesiredStatus::Stopped] {
            arns.extend(self.list(work, status).await?);
        }
        let arns: Vec<_> = arns.into_iter().collect();
        let mut tasks = Vec::new();
        for some in arns.chunks(PAGE) {
            let seen = self.describe(&work.cluster, some.to_vec()).await?;
            // ListTasks has no filter for groups, so the group is compared here.
            let ours = seen.iter().filter(|task| task.group() == Some(group));
            for task in ours {
                tasks.push(read::task(task)?);
            }
        }
        Ok(tasks)
    }

    async fn describe(&self, task: &TaskArn) -> Result<Option<Task>, TasksError> {
        let seen = self
            .describe(task.cluster(), vec![task.to_string()])
            .await?;
        let mut seen = seen.iter();
        let found = seen.find(|seen| seen.task_arn() == Some(task.as_str()));
        found.map(read::task).transpose()
    }

    async fn stop(&self, cluster: &str, task_arn: &str, reason: &str) -> Result<(), TasksError> {
        let reason: String = reason.chars().take(REASON_MAX).collect();
        let call = self.client.stop_task();
        let call = call.cluster(cluster).task(task_arn).reason(reason);
        match call.send().await {
            Ok(_) => Ok(()),
            // The task has already stopped.
            Err(error) if error::is_missing(error.code(), error.message()) => Ok(()),
            Err(error) => Err(error::translate(cluster, &error)),
        }
    }

    async fn protect(
        &self,
        task: &TaskArn,
        minutes: Option<u16>,
    ) -> Result<ProtectionAnswer, TasksError> {
        protection::update(&self.client, task, minutes).await
    }
}
