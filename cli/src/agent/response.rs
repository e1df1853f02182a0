//! The responses of the agent's API.

use super::job::{Job, JobEnd, Phase};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lockstep::contract::{AcquireResponse, ReleaseOutcome};
use lockstep::domain::{FencingToken, rfc3339};
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a request to begin a job.
#[derive(Clone, Debug)]
pub(super) enum Begun {
    /// It has begun.
    Granted(Box<Granted>),
    /// It has not begun: skipped, or a duplicate. The body is the lock table's response.
    NotGranted(Box<AcquireResponse>),
}

/// A job that has begun.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Granted {
    status: &'static str,
    /// Its id, which beat and end require.
    pub(super) job: String,
    name: String,
    lock: String,
    holder: String,
    fencing_token: i64,
    expires_at: String,
    beat_seconds: u64,
    environment: BTreeMap<String, String>,
}

impl Granted {
    /// The response for a job that has just begun.
    pub(super) fn of<P>(id: &str, job: &Job<P>) -> Self {
        let grant = &job.held.grant;
        Self {
            status: "granted",
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
#[serde(rename_all = "camelCase")]
pub(super) struct Beaten {
    /// When the lease ends unless another beat renews it.
    pub(super) expires_at: String,
}

/// The response to the end of a job.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    status: &'static str,
    outcome: ReleaseOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_seconds: Option<f64>,
}

impl From<&JobEnd> for Ended {
    fn from(end: &JobEnd) -> Self {
        Self {
            status: match end.held_seconds {
                Some(_) => "released",
                // The release found the lease gone: another run may have begun beside the job.
                None => "lost",
            },
            outcome: end.outcome,
            held_seconds: end.held_seconds,
        }
    }
}

/// The current state of a job.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobView {
    /// Its id; absent in lists, since it is what ending the job requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    name: String,
    lock: String,
    holder: String,
    fencing_token: i64,
    state: &'static str,
    since: String,
    expires_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Ended>,
}

impl JobView {
    /// The view of `job`, with its `id` for a request that named it.
    pub(super) fn of<P>(id: Option<&str>, job: &Job<P>) -> Self {
        let grant = &job.held.grant;
        let token = FencingToken::from_number(u64::try_from(grant.token).unwrap_or_default());
        let (state, reason, end) = match &job.phase {
            Phase::Open => ("open", None, None),
            Phase::Lost(reason) => ("lost", Some(reason.clone()), None),
            Phase::Ended(end) => ("ended", None, Some(end.into())),
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
            let outcome = ReleaseOutcome::Failed;
            let end = JobEnd {
                outcome,
                held_seconds,
            };
            serde_json::to_value(Ended::from(&end)).unwrap()["status"].clone()
        };

        assert_eq!([ended(Some(2.5)), ended(None)], ["released", "lost"]);
    }
}
