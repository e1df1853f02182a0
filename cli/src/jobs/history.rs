//! The history of a lock.

use super::held::{holder_name, job_of};
use crate::table::{self, cell, short};
use lockstep::domain::{LockKey, Run, RunOutcome, TaskArn, rfc3339};
use lockstep::store::{LockStore, StoreError};
use serde::Serialize;

/// One run of a lock.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ran {
    holder: String,
    fencing_token: u64,
    since: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_key: Option<String>,
}

impl Ran {
    fn of(run: &Run) -> Self {
        let (holder, task) = (&run.holder, run.task.as_ref());
        let granted = run.token.granted_at();
        let arn = task.map(|task| task.arn.clone());
        let container = task.and_then(|task| task.runtime_id.clone());
        let own = || TaskArn::container_of(holder).map(str::to_owned);
        let held = |end: lockstep::domain::Timestamp| end.millis_since(granted);
        Self {
            holder: holder.as_str().into(),
            fencing_token: run.token.number(),
            since: rfc3339(granted),
            outcome: run.outcome().map_or("open", RunOutcome::as_str),
            ended_at: run.end.as_ref().map(|end| rfc3339(end.at)),
            #[expect(clippy::cast_precision_loss, reason = "a run takes no thousand years")]
            held_seconds: run.end.as_ref().map(|end| held(end.at) as f64 / 1000.0),
            evidence: run.end.as_ref().and_then(|end| end.evidence.clone()),
            task_arn: arn.or_else(|| TaskArn::of_holder(holder).map(|arn| arn.to_string())),
            container: container.or_else(own),
            exit_code: task.and_then(|task| task.exit_code),
            reason: task.and_then(|task| task.reason.clone()),
            job: job_of(holder).map(str::to_owned),
            run_key: run.run_key.as_ref().map(|key| key.as_str().into()),
        }
    }
}

/// The latest runs of `lock`, `most` at most, newest first: current holders and ended runs.
///
/// # Errors
/// When the table cannot be read.
pub(super) async fn of(
    store: &impl LockStore,
    lock: &LockKey,
    most: usize,
) -> Result<Vec<Ran>, StoreError> {
    let record = store.load(lock).await?;
    let holders = record
        .map(|record| record.oldest_first())
        .unwrap_or_default();
    let mut runs: Vec<_> = holders
        .iter()
        .map(|(holder, lease)| {
            let (holder, key) = (holder.clone(), lease.run_key.clone());
            Ran::of(&Run::started(holder, lease.token, key))
        })
        .collect();
    let open: Vec<_> = runs.iter().map(|run| run.fencing_token).collect();
    let mut after = None;
    loop {
        let page = store.history(lock, after, most).await?;
        let ended = page
            .runs
            .iter()
            .filter(|run| !open.contains(&run.token.number()));
        runs.extend(ended.map(Ran::of));
        after = page.next;
        if after.is_none() || runs.len() >= most + open.len() {
            break;
        }
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.fencing_token));
    runs.truncate(most);
    Ok(runs)
}

/// `runs` as a text table.
pub(super) fn table(runs: &[Ran]) -> String {
    let rows = runs.iter().map(|run| {
        let held = run.held_seconds.map(|seconds| format!("{seconds:.1} s"));
        let code = run.exit_code.map(|code| code.to_string());
        [
            short(&run.since),
            run.outcome.to_owned(),
            cell(held.as_deref()),
            holder_name(run.task_arn.as_deref(), &run.holder, run.job.as_deref()),
            cell(run.job.as_deref()),
            cell(code.as_deref()),
            cell(run.evidence.as_deref().or(run.reason.as_deref())),
        ]
    });
    let heads = [
        "SINCE",
        "OUTCOME",
        "HELD",
        "TASK OR HOLDER",
        "JOB",
        "EXIT",
        "EVIDENCE",
    ];
    table::table(
        heads,
        &rows.collect::<Vec<_>>(),
        "no run of this lock is remembered",
    )
}
