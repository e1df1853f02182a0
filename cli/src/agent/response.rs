//! What the agent answers.

use super::job::{Ending, Job, Phase};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lockstep::contract::{AcquireResponse, ReleaseOutcome, rfc3339};
use lockstep::domain::FencingToken;
use serde::Serialize;
use std::collections::BTreeMap;

/// What came of the wish to begin a job.
#[derive(Clone, Debug)]
pub(super) enum Begun {
    /// It has begun.
    Granted(Box<Granted>),
    /// There is nothing to do: skipped, or a duplicate. The answer is the lock table's own.
    Not(Box<AcquireResponse>),
}

/// A job that has begun.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Granted {
    status: &'static str,
    /// Its id: whoever has it can beat and end it.
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
    /// The answer for a job that has just begun.
    pub(super) fn of<P>(id: &str, job: &Job<P>, environment: BTreeMap<String, String>) -> Self {
        let grant = &job.terms.grant;
        Self {
            status: "granted",
            job: id.to_owned(),
            name: job.terms.name.clone(),
            lock: grant.lock.clone(),
            holder: grant.holder.clone(),
            fencing_token: grant.token,
            expires_at: job.expires_at.clone(),
            beat_seconds: job.terms.times.beat().as_secs().max(1),
            environment,
        }
    }
}

/// A beat that was good.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Beaten {
    /// When the lease ends unless the next beat comes.
    pub(super) expires_at: String,
}

/// The end of a job.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    status: &'static str,
    outcome: ReleaseOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_seconds: Option<f64>,
}

impl From<&Ending> for Ended {
    fn from(ending: &Ending) -> Self {
        Self {
            status: match ending.held_seconds {
                Some(_) => "released",
                None => "lost",
            },
            outcome: ending.outcome,
            held_seconds: ending.held_seconds,
        }
    }
}

/// A job as it stands.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobView {
    /// Its id: not in lists, for that would let anybody end it.
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
    /// A job as whoever has its `id` sees it, or anybody.
    pub(super) fn of<P>(id: Option<&str>, job: &Job<P>) -> Self {
        let grant = &job.terms.grant;
        let token = FencingToken::from_number(u64::try_from(grant.token).unwrap_or_default());
        let (state, reason, end) = match &job.phase {
            Phase::Open => ("open", None, None),
            Phase::Lost(why) => ("lost", Some(why.clone()), None),
            Phase::Ended(ending) => ("ended", None, Some(ending.into())),
        };
        Self {
            job: id.map(str::to_owned),
            name: job.terms.name.clone(),
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
            Self::Not(answer) => Json(answer).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_that_was_no_longer_its_own_is_told_at_the_end() {
        let ended = |held_seconds| {
            let outcome = ReleaseOutcome::Failed;
            serde_json::to_value(Ended::from(&Ending {
                outcome,
                held_seconds,
            }))
            .unwrap()
        };

        assert_eq!(ended(Some(2.5))["status"], "released");
        assert_eq!(ended(None)["status"], "lost");
    }
}
