//! The errors of the agent's API.
//!
//! A program decides by the HTTP status: after a 503 the request is worth another try, and a 410 or 404 to a
//! beat means that the job has to stop. Names and messages are for the log of the program. After an
//! answer of the lock table, the name is that of the function's error, such as `Lockstep.LockHeld`. The names of
//! the agent's own errors begin with `Agent.`.

use super::job::Phase;
use super::registry::{BeginRefused, OPEN_MAX};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use lockstep::contract::{ErrorName, InvalidRequest};
use lockstep::error::Error;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Error"))]
pub(super) struct ApiError {
    #[serde(skip)]
    status: StatusCode,
    /// The name of the error, for a log: `Lockstep.…` if it comes from the lock table, `Agent.…` if it comes
    /// from the agent.
    #[cfg_attr(test, schemars(regex(pattern = r"^(Lockstep|Agent)\.[A-Za-z]+$")))]
    error: &'static str,
    /// The description of the error, in a sentence.
    message: String,
}

impl ApiError {
    /// Returns an error with this status, name and message.
    pub(super) fn new(status: StatusCode, error: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            error,
            message: message.into(),
        }
    }

    /// Returns whether the request may have been carried out nevertheless.
    ///
    /// A status of 5xx means that a response of the lock table was lost or came too late.
    pub(super) fn leaves_open(&self) -> bool {
        self.status.is_server_error()
    }

    /// Returns the error for a lock table that gave no usable answer.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        let name = ErrorName::Unavailable.as_str();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, name, message)
    }

    /// Returns the error for an id that no job has.
    ///
    /// After a restart the agent knows no earlier job, and the leases of those jobs expire. So the program
    /// has to stop the job.
    pub(super) fn no_such_job() -> Self {
        let message = "no job has this id: it has not begun at this agent, it ended long ago, or the agent \
                       has been restarted since. If the job is still at work, stop it";
        Self::new(StatusCode::NOT_FOUND, "Agent.NoSuchJob", message)
    }

    /// Returns the error for a job that must not go on.
    ///
    /// The status is 410 and not 404, because the agent knows the job and how it ended.
    pub(super) fn over(phase: &Phase) -> Self {
        match phase {
            Phase::Lost(reason) => {
                let name = ErrorName::LeaseLost.as_str();
                Self::new(StatusCode::GONE, name, format!("stop the job: {reason}"))
            }
            Phase::Open | Phase::Ended(_) => Self::new(
                StatusCode::GONE,
                "Agent.JobEnded",
                "the job has already been ended",
            ),
        }
    }
}

impl From<BeginRefused> for ApiError {
    fn from(no_room: BeginRefused) -> Self {
        match no_room {
            BeginRefused::Full => {
                let message =
                    format!("the limit of {OPEN_MAX} open or unconfirmed jobs is reached");
                Self::new(StatusCode::TOO_MANY_REQUESTS, "Agent.TooManyJobs", message)
            }
            BeginRefused::Stopping => {
                let message = "the agent is stopping, and no more jobs begin";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "Agent.Stopping", message)
            }
        }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        use ErrorName::{
            Contended, Corrupt, Denied, InvalidRequest, LeaseLost, LockFrozen, LockHeld,
            LockPaused, PermitsMismatch, QueueFull, Unavailable, WorkStopped,
        };
        let status = match error.name() {
            InvalidRequest => StatusCode::BAD_REQUEST,
            LockHeld | QueueFull | PermitsMismatch | LockPaused | LockFrozen => {
                StatusCode::CONFLICT
            }
            // A beat to a job that the agent has lost gets 410 too: the job has to stop in both cases.
            LeaseLost => StatusCode::GONE,
            Contended | Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Denied | Corrupt | WorkStopped => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.name().as_str(), error.message())
    }
}

impl From<InvalidRequest> for ApiError {
    fn from(invalid: InvalidRequest) -> Self {
        Error::from(invalid).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        // Other errors answer what the program has asked for, so the program logs them itself.
        if self.status.is_server_error() {
            tracing::warn!(
                event = "request_failed",
                error = self.error,
                "{}",
                self.message
            );
        }
        (self.status, Json(self)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_status_and_the_name_of_its_cause_and_its_reason() {
        let broken = ApiError::from(InvalidRequest::new("name", "\"\"", "1 to 64 of A-Z"));
        let lost = ApiError::over(&Phase::Lost("evicted".into()));
        for (error, status, name, reason) in [
            (broken, 400, "Lockstep.InvalidRequest", "1 to 64"),
            (lost, 410, "Lockstep.LeaseLost", "evicted"),
        ] {
            let named = (error.status.as_u16(), error.error);
            assert_eq!(named, (status, name));
            assert!(error.message.contains(reason), "{}", error.message);
        }
    }

    #[test]
    fn an_error_has_a_name_and_a_message_and_no_other_field() {
        let json = serde_json::to_value(ApiError::from(BeginRefused::Stopping)).unwrap();

        let fields: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields, ["error", "message"]);
        assert_eq!(json["error"], "Agent.Stopping");
    }
}
