//! The holders of all locks.

use super::loss::Loss;
use crate::table::{self, cell, last_part, short};
use lockstep::domain::{HolderId, Lease, LockKey, TaskArn, Timestamp, rfc3339};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::store::{DueLock, LockStore, SHARDS, StoreError};
use serde::Serialize;
use tokio::task::JoinSet;

/// One holder of one lock.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedHolder {
    lock: String,
    holder: String,
    fencing_token: u64,
    since: String,
    expires_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    /// How it was lost, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lost: Option<Loss>,
    /// The holder and its lease.
    #[serde(skip)]
    pub(super) of: (HolderId, Lease),
}

impl ListedHolder {
    /// A holder of `lock`.
    pub(super) fn of(lock: &LockKey, holder: &HolderId, lease: &Lease) -> Self {
        Self {
            lock: lock.as_str().into(),
            holder: holder.as_str().into(),
            fencing_token: lease.token.number(),
            since: rfc3339(lease.token.granted_at()),
            expires_at: rfc3339(lease.expires_at),
            task_arn: TaskArn::of_holder(holder).map(|task| task.to_string()),
            container: TaskArn::container_of(holder).map(str::to_owned),
            job: job_of(holder).map(str::to_owned),
            run_key: lease.run_key.as_ref().map(|key| key.as_str().into()),
            progress: lease.progress.clone(),
            lost: None,
            of: (holder.clone(), lease.clone()),
        }
    }
}

/// The job of a holder that is a task or a process: `<id>` or `<id>:<name>`.
pub(super) fn job_of(holder: &HolderId) -> Option<&str> {
    let (_, rest) = holder.as_str().split_once('#')?;
    rest.split_once('/').map(|(_, job)| job)
}

/// The holders of all locks, by lock and age, and whether all locks could be read.
///
/// # Errors
/// When the table cannot be read.
pub(super) async fn all(store: &DynamoStore) -> Result<(Vec<ListedHolder>, bool), StoreError> {
    let mut shards = JoinSet::new();
    for shard in 0..SHARDS {
        shards.spawn(of_shard(store.clone(), shard));
    }
    let (mut jobs, mut complete) = (Vec::new(), true);
    for (some, all) in shards
        .join_all()
        .await
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?
    {
        jobs.extend(some);
        complete &= all;
    }
    jobs.sort_by(|a, b| (&a.lock, a.fencing_token).cmp(&(&b.lock, b.fencing_token)));
    Ok((jobs, complete))
}

/// The locks in use are those in the sweep's index, whenever they are due.
async fn of_shard(store: DynamoStore, shard: u8) -> Result<(Vec<ListedHolder>, bool), StoreError> {
    let (mut jobs, mut complete) = (Vec::new(), true);
    let mut after: Option<DueLock> = None;
    loop {
        let page = store.due(shard, Timestamp::MAX, after.as_ref()).await?;
        complete &= page.unreadable == 0;
        for DueLock { lock, .. } in &page.locks {
            match store.load(lock).await {
                Ok(record) => {
                    let holders = record
                        .map(|record| record.oldest_first())
                        .unwrap_or_default();
                    jobs.extend(
                        holders
                            .iter()
                            .map(|(holder, lease)| ListedHolder::of(lock, holder, lease)),
                    );
                }
                // One damaged record must not hide all others.
                Err(error @ StoreError::Corrupt { .. }) => {
                    tracing::error!(
                        event = "record_skipped",
                        %lock,
                        %error,
                        "unreadable record skipped"
                    );
                    complete = false;
                }
                Err(error) => return Err(error),
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok((jobs, complete));
        }
    }
}

/// `jobs` as a text table.
pub(super) fn table(jobs: &[ListedHolder]) -> String {
    if jobs.iter().any(|job| job.lost.is_some()) {
        return lost_table(jobs);
    }
    let rows = jobs.iter().map(|job| {
        [
            job.lock.clone(),
            holder_name(job.task_arn.as_deref(), &job.holder, job.job.as_deref()),
            cell(job.container.as_deref()),
            cell(job.job.as_deref()),
            short(&job.since),
            short(&job.expires_at),
            cell(job.progress.as_deref()),
        ]
    });
    let heads = [
        "LOCK",
        "TASK OR HOLDER",
        "CONTAINER",
        "JOB",
        "SINCE",
        "EXPIRES",
        "PROGRESS",
    ];
    table::table(heads, &rows.collect::<Vec<_>>(), "nothing to show")
}

fn lost_table(jobs: &[ListedHolder]) -> String {
    let rows = jobs.iter().filter_map(|job| {
        let loss = job.lost.as_ref()?;
        Some([
            job.lock.clone(),
            holder_name(job.task_arn.as_deref(), &job.holder, job.job.as_deref()),
            cell(job.job.as_deref()),
            short(&job.since),
            cell(loss.at.as_deref().map(short).as_deref()),
            loss.why.clone(),
            loss.next.to_owned(),
        ])
    });
    let heads = [
        "LOCK",
        "TASK OR HOLDER",
        "JOB",
        "SINCE",
        "LOST",
        "WHY",
        "WHAT NEXT",
    ];
    table::table(heads, &rows.collect::<Vec<_>>(), "nothing to show")
}

/// The id of the task; for any other holder, the holder without its job.
pub(super) fn holder_name(task_arn: Option<&str>, holder: &str, job: Option<&str>) -> String {
    let rest = job.and_then(|job| holder.strip_suffix(job)?.strip_suffix('/'));
    task_arn
        .map_or(rest.unwrap_or(holder), last_part)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{holder_name, job_of};
    use lockstep::domain::HolderId;

    #[test]
    fn the_job_is_the_end_of_its_holder() {
        let task = "arn:aws:ecs:eu-west-1:1:task/b/4f#c0ffee";
        for (holder, job) in [
            (format!("{task}/a1b2:export").as_str(), Some("a1b2:export")),
            (&format!("{task}/a1b2"), Some("a1b2")),
            ("host:batch-1#17/a1b2", Some("a1b2")),
            ("arn:aws:states:eu-west-1:1:execution:m:x", None),
            ("arn:aws:states:eu-west-1:1:execution:m:x#2", None),
        ] {
            assert_eq!(job_of(&HolderId::new(holder).unwrap()), job, "{holder}");
        }
    }

    #[test]
    fn a_holder_is_shown_without_its_cluster_and_its_job() {
        let arn = "arn:aws:ecs:eu-west-1:1:task/b/4f";
        let in_task = format!("{arn}#c0ffee/a1b2:export");

        let machine = "host:batch-1#17";
        for (arn, holder, job, shown) in [
            (Some(arn), &in_task[..], Some("a1b2:export"), "4f"),
            (None, "host:batch-1#17/a1b2", Some("a1b2"), machine),
            (None, "arn:execution:x", None, "arn:execution:x"),
        ] {
            assert_eq!(holder_name(arn, holder, job), shown);
        }
    }
}
