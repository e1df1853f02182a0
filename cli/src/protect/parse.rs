//! Parses the responses of the ECS agent. The body decides, because the agent reports a failure with HTTP
//! status 200.
//!
//! Keys and codes are taken from the source of the agent: <https://github.com/aws/amazon-ecs-agent>,
//! `ecs-agent/tmds/handlers/taskprotection/v1`.

use super::reason::{Reason, Refused};
use super::state::State;
use lockstep::domain::Timestamp;
use serde::Deserialize;
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Longest detail, in characters.
const DETAIL_MAX: usize = 300;

#[derive(Deserialize)]
struct Body {
    protection: Option<Protection>,
    failure: Option<Failure>,
    error: Option<Error>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Protection {
    protection_enabled: bool,
    expiration_date: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    reason: Option<String>,
    detail: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Error {
    code: Option<String>,
    message: Option<String>,
}

/// Parses a response into the state of the task.
///
/// # Errors
/// [`Refused`] for every response other than a protection with HTTP status 200.
pub(super) fn answer(status: u16, body: &[u8], now: Timestamp) -> Result<State, Refused> {
    // Parsing also fails for a page of a proxy, or of a wrong address.
    let body = serde_json::from_slice::<Body>(body).map_err(|error| unreadable(status, &error))?;
    match body {
        Body {
            failure: Some(failure),
            ..
        } => Err(failed(failure)),
        Body {
            error: Some(error), ..
        } => Err(erred(status, error)),
        Body {
            protection: Some(protection),
            ..
        } if status == 200 => Ok(state(protection, now)),
        _ => Err(unreadable(status, &"no protection, failure or error in it")),
    }
}

fn state(protection: Protection, now: Timestamp) -> State {
    let until = protection.expiration_date;
    let end = until
        .as_deref()
        .and_then(|date| OffsetDateTime::parse(date, &Rfc3339).ok());
    let left = end.map(|end| {
        let millis = end.unix_timestamp_nanos() / 1_000_000 - i128::from(now.millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    });
    State {
        enabled: protection.protection_enabled,
        left,
        until,
    }
}

/// Converts a failure that the API reports for this task.
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Failure.html>
fn failed(failure: Failure) -> Refused {
    let named = failure.reason.unwrap_or_default();
    let reason = match named.as_str() {
        "TASK_NOT_VALID" => Reason::TaskNotValid,
        "DEPLOYMENT_BLOCKED" => Reason::DeploymentBlocked,
        "THROTTLED" => Reason::Throttled,
        "MISSING" => Reason::Gone,
        _ => Reason::ServerError,
    };
    Refused::new(reason, detail(&named, failure.detail))
}

/// Converts an error of the agent, or one of the API, whose code and status the agent passes on. The code is
/// checked before the status, because AccessDeniedException and ThrottlingException of the API have HTTP
/// status 400. <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_UpdateTaskProtection.html>,
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/CommonErrors.html>
fn erred(status: u16, error: Error) -> Refused {
    let code = error.code.unwrap_or_default();
    let reason = match (code.as_str(), status) {
        ("AccessDeniedException" | "AccessDenied", _) | (_, 403) => Reason::AccessDenied,
        ("ThrottlingException" | "Throttling" | "RequestLimitExceeded", _) | (_, 429) => {
            Reason::Throttled
        }
        ("ResourceNotFoundException", _) | (_, 404) => Reason::Gone,
        ("RequestCanceled", _) => Reason::RequestCanceled,
        // Temporary, because the agent renews the credentials of the task.
        ("ExpiredTokenException" | "ExpiredToken", _) | (_, 500..) => Reason::ServerError,
        (_, 400..500) => Reason::Rejected,
        _ => Reason::Unreadable,
    };
    let text = detail(&code, error.message);
    Refused::new(reason, format!("HTTP {status}, {text}"))
}

fn unreadable(status: u16, what: &dyn std::fmt::Display) -> Refused {
    let reason = match status {
        500.. => Reason::ServerError,
        404 => Reason::Gone,
        403 => Reason::AccessDenied,
        _ => Reason::Unreadable,
    };
    Refused::new(
        reason,
        format!("HTTP {status}, a body that is not the agent's: {what}"),
    )
}

fn detail(name: &str, text: Option<String>) -> String {
    let name = if name.is_empty() {
        "no name given"
    } else {
        name
    };
    let whole = match text.filter(|text| !text.is_empty()) {
        Some(text) => format!("{name}: {text}"),
        None => name.to_owned(),
    };
    whole.chars().take(DETAIL_MAX).collect()
}

#[cfg(test)]
mod tests;
