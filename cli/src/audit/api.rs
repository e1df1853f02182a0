//! The calls that an audit makes. None of them writes.

use crate::operate::error_text;
use aws_sdk_sfn::error::{ProvideErrorMetadata, SdkError};

/// A call, by the IAM action that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    ListStateMachines,
    ListExecutions,
    ListRules,
    ListTargetsByRule,
    ListSchedules,
    GetSchedule,
}

/// The services, each with a pace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    StepFunctions,
    EventBridge,
    Scheduler,
}

/// Why a call has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallError {
    /// IAM denies the action.
    Denied(String),
    /// The resource was deleted after it was listed.
    Gone,
    /// The pagination token is no longer valid: it expires after 24 hours.
    StaleToken,
    /// Anything else.
    Failed(String),
}

/// What to do about a failed call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Throttled,
    /// The same request may succeed.
    Transient,
    Final(CallError),
}

impl Api {
    /// All calls.
    #[cfg(test)]
    pub(super) const ALL: [Self; 6] = [
        Self::ListStateMachines,
        Self::ListExecutions,
        Self::ListRules,
        Self::ListTargetsByRule,
        Self::ListSchedules,
        Self::GetSchedule,
    ];

    /// Returns the IAM action of the call.
    pub(super) fn action(self) -> &'static str {
        match self {
            Self::ListStateMachines => "states:ListStateMachines",
            Self::ListExecutions => "states:ListExecutions",
            Self::ListRules => "events:ListRules",
            Self::ListTargetsByRule => "events:ListTargetsByRule",
            Self::ListSchedules => "scheduler:ListSchedules",
            Self::GetSchedule => "scheduler:GetSchedule",
        }
    }

    /// Returns the service that is called.
    pub(super) fn service(self) -> Service {
        match self {
            Self::ListStateMachines | Self::ListExecutions => Service::StepFunctions,
            Self::ListRules | Self::ListTargetsByRule => Service::EventBridge,
            Self::ListSchedules | Self::GetSchedule => Service::Scheduler,
        }
    }

    /// Judges the `failure` of a call. `with_token` says whether the request had a pagination token.
    pub(super) fn judge<E>(self, failure: &SdkError<E>, with_token: bool) -> Verdict
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let status = failure.raw_response().map(|raw| raw.status().as_u16());
        match failure.code() {
            Some(
                "ThrottlingException"
                | "Throttling"
                | "ThrottledException"
                | "TooManyRequestsException"
                | "RequestLimitExceeded",
            ) => Verdict::Throttled,
            _ if status == Some(429) => Verdict::Throttled,
            Some("AccessDeniedException" | "AccessDenied") => {
                let message = failure.message().unwrap_or("no reason given");
                Verdict::Final(CallError::Denied(message.into()))
            }
            Some("StateMachineDoesNotExist" | "ResourceNotFoundException") => {
                Verdict::Final(CallError::Gone)
            }
            Some("InvalidToken" | "ValidationException" | "InvalidNextToken") if with_token => {
                Verdict::Final(CallError::StaleToken)
            }
            None => Verdict::Transient,
            _ if status.is_some_and(|status| status >= 500) => Verdict::Transient,
            Some(_) => Verdict::Final(self.failed(failure)),
        }
    }

    /// Returns the error of a call that is not tried again.
    pub(super) fn failed<E>(self, failure: &SdkError<E>) -> CallError
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        CallError::Failed(format!("{}: {}", self.action(), error_text(failure)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_sfn::operation::list_executions::ListExecutionsError;
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::body::SdkBody;
    use aws_smithy_types::error::ErrorMetadata;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn refused(status: u16, code: &str) -> SdkError<ListExecutionsError> {
        let status = StatusCode::try_from(status).unwrap();
        let meta = ErrorMetadata::builder().code(code).message("no").build();
        let response = Response::new(status, SdkBody::empty());
        SdkError::service_error(ListExecutionsError::generic(meta), response)
    }

    #[test]
    fn a_failed_call_is_judged_by_its_code_and_status() {
        let denied = || Verdict::Final(CallError::Denied("no".into()));
        for (status, code, expected) in [
            (400, "ThrottlingException", Verdict::Throttled),
            (429, "TooManyRequests", Verdict::Throttled),
            (400, "AccessDeniedException", denied()),
            (
                400,
                "StateMachineDoesNotExist",
                Verdict::Final(CallError::Gone),
            ),
            (400, "InvalidToken", Verdict::Final(CallError::StaleToken)),
            (500, "InternalFailure", Verdict::Transient),
        ] {
            let verdict = Api::ListExecutions.judge(&refused(status, code), true);
            assert_eq!(verdict, expected, "{code}");
        }
        let unreachable = SdkError::<ListExecutionsError>::timeout_error("no answer");
        let verdict = Api::ListExecutions.judge(&unreachable, false);
        assert_eq!(verdict, Verdict::Transient);
        let first = Api::ListExecutions.judge(&refused(400, "InvalidToken"), false);
        let text = "states:ListExecutions: InvalidToken: no".to_owned();
        assert_eq!(first, Verdict::Final(CallError::Failed(text)));
    }

    #[test]
    fn the_policy_on_the_page_allows_the_calls_and_nothing_else() {
        let page = include_str!("../../../docs/audit.md");
        let (_, rest) = page
            .split_once("```json\n{\n  \"Version\"")
            .expect("a policy");
        let (policy, _) = rest.split_once("\n```").expect("its end");
        let policy: Value = serde_json::from_str(&format!("{{\n  \"Version\"{policy}")).unwrap();

        let statements = policy["Statement"].as_array().unwrap().iter();
        let actions = statements.flat_map(|of| of["Action"].as_array().unwrap());
        let allowed: BTreeSet<_> = actions.map(|action| action.as_str().unwrap()).collect();

        assert_eq!(allowed, Api::ALL.map(Api::action).into());
    }
}
