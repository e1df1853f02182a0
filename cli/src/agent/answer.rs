//! What the agent answers.

use super::book::NoRoom;
use super::job::{Ending, Job, Phase};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lockstep::contract::{AcquireResponse, ErrorName, InvalidRequest, ReleaseOutcome, rfc3339};
use lockstep::domain::FencingToken;
use lockstep::error::Error;
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
pub(super) struct View {
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

impl View {
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

/// An error, as a program sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Failure {
    #[serde(skip)]
    status: StatusCode,
    error: &'static str,
    message: String,
}

impl Failure {
    /// An error of the agent's own.
    pub(super) fn new(status: StatusCode, error: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            error,
            message: message.into(),
        }
    }

    /// There is no job of that id.
    pub(super) fn no_such_job() -> Self {
        let message = "no job has this id: it was never begun here, or ended long ago, or the agent \
                       was started anew. If it is still at work, stop it";
        Self::new(StatusCode::NOT_FOUND, "Agent.NoSuchJob", message)
    }

    /// The job must not go on.
    pub(super) fn over(phase: &Phase) -> Self {
        match phase {
            Phase::Lost(why) => {
                let name = ErrorName::LeaseLost.as_str();
                Self::new(StatusCode::GONE, name, format!("stop the job: {why}"))
            }
            Phase::Open | Phase::Ended(_) => {
                Self::new(StatusCode::GONE, "Agent.JobEnded", "the job was ended")
            }
        }
    }
}

impl From<NoRoom> for Failure {
    fn from(no_room: NoRoom) -> Self {
        match no_room {
            NoRoom::Full => {
                let message = format!(
                    "{} jobs are open, the most there may be",
                    super::book::OPEN_MAX
                );
                Self::new(StatusCode::TOO_MANY_REQUESTS, "Agent.TooManyJobs", message)
            }
            NoRoom::Stopping => {
                let message = "the agent is being stopped and begins no job any more";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "Agent.Stopping", message)
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        use ErrorName::{
            Contended, Corrupt, Denied, InvalidRequest, LeaseLost, LockFrozen, LockHeld,
            LockPaused, PermitsMismatch, QueueFull, Unavailable,
        };
        let status = match error.name() {
            InvalidRequest => StatusCode::BAD_REQUEST,
            LockHeld | QueueFull | PermitsMismatch | LockPaused | LockFrozen => {
                StatusCode::CONFLICT
            }
            LeaseLost => StatusCode::GONE,
            Contended | Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Denied | Corrupt => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.name().as_str(), error.message())
    }
}

impl From<InvalidRequest> for Failure {
    fn from(invalid: InvalidRequest) -> Self {
        Error::from(invalid).into()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            tracing::warn!(error = self.error, "{}", self.message);
        }
        (self.status, Json(self)).into_response()
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
    fn a_field_that_breaks_its_rule_is_a_bad_request() {
        let failure = Failure::from(InvalidRequest::new("name", "\"\"", "1 to 64 of A-Z"));

        assert_eq!(failure.status, StatusCode::BAD_REQUEST);
        assert_eq!(failure.error, "Lockstep.InvalidRequest");
    }

    #[test]
    fn a_lost_job_is_gone_with_the_reason() {
        let failure = Failure::over(&Phase::Lost("evicted".into()));

        assert_eq!(
            (failure.status, failure.error),
            (StatusCode::GONE, "Lockstep.LeaseLost")
        );
        assert!(failure.message.contains("evicted"));
    }

    #[test]
    fn an_error_tells_its_name_and_its_message_and_nothing_else() {
        let json = serde_json::to_value(Failure::from(NoRoom::Stopping)).unwrap();

        let fields: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields, ["error", "message"]);
        assert_eq!(json["error"], "Agent.Stopping");
    }

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
