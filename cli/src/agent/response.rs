//! The responses of the agent's API.

use super::job::{Job, JobEnd, JobOutcome, Phase};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lockstep::contract::{Duplicate, Skipped};
use lockstep::domain::{FencingToken, rfc3339};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a request to begin a job.
#[derive(Clone, Debug)]
pub(super) enum Begun {
    /// The job has begun.
    Granted(Box<Granted>),
    /// The job has not begun.
    NotGranted(Box<NotGranted>),
}

/// Why a job did not begin, as the lock table reports it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub(super) enum NotGranted {
    /// The lock has no free permit, rests, or is paused.
    Skipped(Skipped),
    /// A run with the same run key has succeeded or is under way.
    Duplicate(Duplicate),
}

/// A job that has begun.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Granted {
    status: GrantedStatus,
    /// The id of the job, which beat and end require.
    #[cfg_attr(test, schemars(regex(pattern = "^[0-9a-f]{32}$")))]
    pub(super) job: String,
    /// Name of the job.
    name: String,
    /// Name of the lock.
    lock: String,
    /// Holder of the permit: in an ECS task `<task ARN>#<container id>/<id>:<name>`.
    holder: String,
    /// Fencing token, which grows with every grant. Pass it to every resource that the job writes to.
    #[cfg_attr(test, schemars(range(min = 1, max = 9_007_199_254_740_991_i64)))]
    fencing_token: i64,
    /// When the lease ends unless it is renewed. The job must have stopped by then.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    expires_at: String,
    /// Time between two beats, in seconds.
    #[cfg_attr(test, schemars(range(min = 1)))]
    beat_seconds: u64,
    /// Environment variables that describe the grant, for a process that the job starts.
    environment: BTreeMap<String, String>,
}

/// The status of a job that has begun.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "camelCase")]
enum GrantedStatus {
    Granted,
}

impl Granted {
    /// Returns the response for a job that has just begun.
    pub(super) fn of<P>(id: &str, job: &Job<P>) -> Self {
        let grant = &job.held.grant;
        Self {
            status: GrantedStatus::Granted,
            job: id.to_owned(),
            name: job.name.clone(),
            lock: grant.lock.clone(),
            holder: grant.holder.clone(),
            fencing_token: grant.token,
            expires_at: job.expires_at.clone(),
            beat_seconds: job.held.times.beat().as_secs().max(1),
            environment: job.held.environment.iter().cloned().collect(),
        }
    }
}

/// The response to a beat of an open job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Beaten {
    /// When the lease ends unless another beat renews it. The job must have stopped by then.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub(super) expires_at: String,
}

/// The end of a job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    status: EndedStatus,
    /// Outcome of the first end of the job. Later ends do not change it.
    outcome: JobOutcome,
    /// Time for which the permit was held, in seconds. Absent if the lease was lost before the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(range(min = 0)))]
    held_seconds: Option<f64>,
}

/// Whether the job still held its permit at its end.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "camelCase")]
enum EndedStatus {
    /// The permit was released.
    Released,
    /// The lease was lost before the end: another run may have begun while the job was still at work.
    Lost,
}

impl From<&JobEnd> for Ended {
    fn from(end: &JobEnd) -> Self {
        Self {
            status: match end.held_seconds {
                Some(_) => EndedStatus::Released,
                // The release found that the lease was lost.
                None => EndedStatus::Lost,
            },
            outcome: end.outcome,
            held_seconds: end.held_seconds,
        }
    }
}

/// The current state of a job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Job"))]
#[serde(rename_all = "camelCase")]
pub(super) struct JobView {
    /// Id of the job. Absent in lists, because the id is what a client needs to end the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// Name of the job, which the program has chosen.
    name: String,
    /// Name of the lock.
    lock: String,
    /// Holder of the permit.
    holder: String,
    /// Fencing token of the grant.
    fencing_token: i64,
    state: JobState,
    /// When the permit was granted.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    since: String,
    /// When the lease ends, unless it is renewed. The job must have stopped by then.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    expires_at: String,
    /// The latest progress that the program reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    /// Why the job is lost. Absent unless it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How the job has ended. Absent before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Ended>,
}

/// Whether the job may go on.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "camelCase")]
enum JobState {
    /// The job may go on.
    Open,
    /// The job must stop now. It still has to be ended.
    Lost,
    /// The job was ended.
    Ended,
}

/// The jobs that are not closed, the oldest first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Jobs {
    /// The jobs.
    pub(super) jobs: Vec<JobView>,
}

/// Whether the agent begins jobs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    pub(super) status: HealthStatus,
    /// How many jobs are not closed.
    #[cfg_attr(test, schemars(range(min = 0, max = 1000)))]
    pub(super) open_jobs: usize,
}

/// Whether a new job may begin.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "camelCase")]
pub(super) enum HealthStatus {
    /// A new job may begin.
    Ok,
    /// The agent is stopping, and no more jobs begin.
    Stopping,
}

impl JobView {
    /// Returns the view of `job`, with its `id` if the request has named it.
    pub(super) fn of<P>(id: Option<&str>, job: &Job<P>) -> Self {
        let grant = &job.held.grant;
        let token = FencingToken::from_number(u64::try_from(grant.token).unwrap_or_default());
        let (state, reason, end) = match &job.phase {
            Phase::Open => (JobState::Open, None, None),
            Phase::Lost(reason) => (JobState::Lost, Some(reason.clone()), None),
            Phase::Ended(end) => (JobState::Ended, None, Some(end.into())),
        };
        Self {
            job: id.map(str::to_owned),
            name: job.name.clone(),
            lock: grant.lock.clone(),
            holder: grant.holder.clone(),
            fencing_token: grant.token,
            state,
            since: rfc3339(token.granted_at()),
            expires_at: job.expires_at.clone(),
            progress: job.progress.clone(),
            reason,
            end,
        }
    }
}

impl IntoResponse for Begun {
    fn into_response(self) -> Response {
        match self {
            Self::Granted(granted) => (StatusCode::CREATED, Json(granted)).into_response(),
            Self::NotGranted(refused) => Json(refused).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_job_that_had_lost_its_lease_has_the_status_lost() {
        let ended = |held_seconds| {
            let outcome = JobOutcome::Failed;
            let end = JobEnd {
                outcome,
                held_seconds,
            };
            serde_json::to_value(Ended::from(&end)).unwrap()["status"].clone()
        };

        assert_eq!([ended(Some(2.5)), ended(None)], ["released", "lost"]);
    }
}
