//! The errors of the agent's API.
//!
//! A program decides by the status: 503 is worth another try, and 410 or 404 on a beat means to
//! stop the job. Names and messages are for its log. The names are those of the functions where the
//! lock table has answered, and begin with `Agent.` where the agent has.

use super::job::Phase;
use super::registry::{NoRoom, OPEN_MAX};
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
    /// The name of the error, for a log.
    #[cfg_attr(test, schemars(regex(pattern = r"^(Lockstep|Agent)\.[A-Za-z]+$")))]
    error: &'static str,
    /// The error in a sentence.
    message: String,
}

impl ApiError {
    /// An error with the agent's own name.
    pub(super) fn new(status: StatusCode, error: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            error,
            message: message.into(),
        }
    }

    /// Whether the request may have been carried out nevertheless.
    ///
    /// A 5xx stands for an answer that was lost, or came too late.
    pub(super) fn leaves_open(&self) -> bool {
        self.status.is_server_error()
    }

    /// The lock table gave no usable answer.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        let name = ErrorName::Unavailable.as_str();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, name, message)
    }

    /// No job has that id.
    ///
    /// An agent that was started anew knows no job of before, and their leases run out: so the
    /// program has to stop.
    pub(super) fn no_such_job() -> Self {
        let message = "no job has this id: it was never begun here, or ended long ago, or the agent \
                       was started anew. If it is still at work, stop it";
        Self::new(StatusCode::NOT_FOUND, "Agent.NoSuchJob", message)
    }

    /// The job must not go on.
    ///
    /// 410 and not 404: the agent knows the job, and how it ended.
    pub(super) fn over(phase: &Phase) -> Self {
        match phase {
            Phase::Lost(reason) => {
                let name = ErrorName::LeaseLost.as_str();
                Self::new(StatusCode::GONE, name, format!("stop the job: {reason}"))
            }
            Phase::Open | Phase::Ended(_) => {
                Self::new(StatusCode::GONE, "Agent.JobEnded", "the job was ended")
            }
        }
    }
}

impl From<NoRoom> for ApiError {
    fn from(no_room: NoRoom) -> Self {
        match no_room {
            NoRoom::Full => {
                let message =
                    format!("{OPEN_MAX} jobs are open or unconfirmed, which is the limit");
                Self::new(StatusCode::TOO_MANY_REQUESTS, "Agent.TooManyJobs", message)
            }
            NoRoom::Stopping => {
                let message = "the agent is stopping and begins no more jobs";
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
            // The same status as for a beat that comes too late: the job has to stop in both cases.
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
        // The others are answers to what the program has asked for, and its own to log.
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
        let json = serde_json::to_value(ApiError::from(NoRoom::Stopping)).unwrap();

        let fields: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        assert_eq!(fields, ["error", "message"]);
        assert_eq!(json["error"], "Agent.Stopping");
    }
}
