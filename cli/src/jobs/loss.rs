//! Detects lost jobs.

use super::held::ListedHolder;
use lockstep::domain::{Lease, TaskArn, Timestamp, rfc3339};
use lockstep::recovery::TaskObservation;
use lockstep::tasks::Tasks;
use serde::Serialize;
use std::collections::BTreeMap;

/// What becomes of the permit of a job that is lost.
const NEXT: &str = "freed by the next run that asks for the lock, or by the sweep";

/// The loss of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Loss {
    /// When, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<String>,
    /// The reason, in words.
    pub(super) why: String,
    /// What becomes of its permit.
    pub(super) next: &'static str,
}

/// Calls DescribeTasks for the tasks among `jobs`, and marks lost jobs. Returns whether all tasks
/// could be described.
pub(super) async fn mark_lost(
    jobs: &mut [ListedHolder],
    tasks: &impl Tasks,
    now: Timestamp,
) -> bool {
    let mut observations: BTreeMap<TaskArn, TaskObservation> = BTreeMap::new();
    for (holder, _) in jobs.iter().map(|job| &job.of) {
        if let Some(arn) = TaskArn::of_holder(holder)
            && !observations.contains_key(&arn)
        {
            let observed = match tasks.describe(&arn).await {
                Ok(Some(task)) => TaskObservation::Seen(task),
                Ok(None) => TaskObservation::Unknown,
                Err(error) => {
                    tracing::warn!(
                        event = "describe_failed",
                        task = %arn,
                        %error,
                        "DescribeTasks failed"
                    );
                    TaskObservation::Hidden(error.to_string())
                }
            };
            observations.insert(arn, observed);
        }
    }
    for job in jobs {
        let (holder, lease) = &job.of;
        let observed = TaskArn::of_holder(holder).and_then(|arn| observations.get(&arn));
        let container = TaskArn::container_of(holder);
        job.lost = judge(
            lease,
            observed.unwrap_or(&TaskObservation::NotOne),
            container,
            now,
        );
    }
    let is_hidden = |observed: &TaskObservation| matches!(observed, TaskObservation::Hidden(_));
    !observations.values().any(is_hidden)
}

/// The loss of a job whose task has stopped or whose lease has expired.
fn judge(
    lease: &Lease,
    observed: &TaskObservation,
    container: Option<&str>,
    now: Timestamp,
) -> Option<Loss> {
    let loss = |at: Option<Timestamp>, why| {
        let at = at.map(rfc3339);
        Some(Loss {
            at,
            why,
            next: NEXT,
        })
    };
    let expired = !lease.is_live(now);
    match observed {
        TaskObservation::Seen(task) if task.stopped => {
            let end = task.end_of(container);
            let code = end.exit_code.map(|code| format!(", exit code {code}"));
            let reason = end.reason.map(|reason| format!(": {reason}"));
            let (code, reason) = (code.unwrap_or_default(), reason.unwrap_or_default());
            loss(
                task.stopped_at,
                format!("its task has stopped{code}{reason}"),
            )
        }
        // ECS is eventually consistent about new tasks, and a job with recent heartbeats is alive.
        TaskObservation::Unknown if lease.is_overdue(now) => loss(
            None,
            "ECS does not know its task, and its heartbeat is overdue".into(),
        ),
        TaskObservation::Seen(_) if expired => loss(
            Some(lease.expires_at),
            "its lease ran out, though its task still runs".into(),
        ),
        TaskObservation::Hidden(why) if expired => {
            let why = format!("its lease ran out; DescribeTasks failed for its task: {why}");
            loss(Some(lease.expires_at), why)
        }
        _ if expired => loss(Some(lease.expires_at), "its lease ran out".into()),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests;
