//! Explains in one line why there are no credentials: the service that was called, what it answered, and the
//! setting to change.

use super::container;
use super::profiles::Profiles;
use super::source::Source;
use super::text::{causes, first_line, line};
use super::usable::Unusable;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_signin::operation::create_o_auth2_token::CreateOAuth2TokenError;
use aws_sdk_sso::operation::get_role_credentials::GetRoleCredentialsError;
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;
use std::error::Error;
use std::time::Duration;

/// Why there are no credentials.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The service, its answer, and the setting to change.
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A setting is wrong. The command ends with the exit code for a wrong configuration.
    Setting,
    /// A later attempt would fail too.
    Permanent,
    /// A later attempt may succeed.
    Temporary,
}

/// The call that failed.
#[derive(Debug)]
struct Call {
    name: &'static str,
    text: String,
    outcome: Outcome,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Refused,
    Overloaded,
    Unanswered,
}

impl Failure {
    /// Creates a failure for which no later attempt helps.
    pub(super) fn permanent(text: String) -> Self {
        let kind = Kind::Permanent;
        Self { text, kind }
    }

    /// Creates the failure of credentials that did not come `within` this time.
    pub(super) fn late(within: Duration, profiles: Option<&Profiles>) -> Self {
        let base = profiles.and_then(Profiles::base);
        let nothing = format!("no answer within {} s", within.as_secs());
        let text = Source::of(base).failure(base, &nothing);
        let kind = Kind::Temporary;
        Self { text, kind }
    }

    /// Converts an error of the SDK's providers of credentials. `profiles` is `None` if the profiles give no
    /// credentials.
    pub(super) fn of(error: &CredentialsError, profiles: Option<&Profiles>) -> Self {
        let name = profiles.map_or("default", Profiles::name);
        let base = profiles.and_then(Profiles::base);
        let source = Source::of(base);
        if let CredentialsError::CredentialsNotLoaded(_) = error {
            return Self::permanent(format!(
                "none in the environment, in the profile {name}, from the container or from the instance (AWS_PROFILE; aws configure, aws login or aws sso login)"
            ));
        }
        if causes(error).any(|cause| cause.is::<Unusable>()) {
            return Self::permanent(source.failure(base, &line(error)));
        }
        if source == Source::Container && causes(error).any(is_invalid) {
            let (text, kind) = (container::refused(), Kind::Setting);
            return Self { text, kind };
        }
        if is_invalid(error) {
            // The message of the SDK names the profile or the variable.
            return Self::permanent(line(error));
        }
        if let Some(call) = call(error) {
            let advice = match (call.outcome, call.name) {
                (Outcome::Unanswered, name) if name.starts_with("SSO") => {
                    "sso_region, AWS_ENDPOINT_URL, or the network".into()
                }
                (Outcome::Unanswered, _) => "Region, AWS_ENDPOINT_URL, or the network".into(),
                (Outcome::Overloaded, _) => "try again".into(),
                (Outcome::Refused, ASSUME_ROLE) => format!("role_arn of the profile {name}"),
                (Outcome::Refused, _) => source.advice(base),
            };
            let text = format!("{}: {} ({advice})", call.name, call.text);
            let kind = match call.outcome {
                Outcome::Refused => Kind::Permanent,
                Outcome::Overloaded | Outcome::Unanswered => Kind::Temporary,
            };
            return Self { text, kind };
        }
        let text = source.failure(base, &source.text(error, base));
        let kind = if source.may_answer_later(error) {
            Kind::Temporary
        } else {
            Kind::Permanent
        };
        Self { text, kind }
    }
}

const ASSUME_ROLE: &str = "STS AssumeRole";

/// Returns the call that failed, if the error comes from an AWS service.
fn call(error: &CredentialsError) -> Option<Call> {
    causes(error).find_map(|cause| {
        let web_identity = "STS AssumeRoleWithWebIdentity";
        failed::<AssumeRoleError>(cause, ASSUME_ROLE)
            .or_else(|| failed::<AssumeRoleWithWebIdentityError>(cause, web_identity))
            .or_else(|| failed::<GetRoleCredentialsError>(cause, "SSO GetRoleCredentials"))
            .or_else(|| {
                let refused = cause.downcast_ref::<CreateOAuth2TokenError>()?;
                // Without an answer, the error has not even a message.
                let outcome = match refused.code().or(refused.message()) {
                    Some(_) => Outcome::Refused,
                    None => Outcome::Unanswered,
                };
                let name = "Sign-In CreateOAuth2Token";
                let text = service_text(refused).unwrap_or_else(|| line(cause));
                Some(Call {
                    name,
                    text,
                    outcome,
                })
            })
    })
}

fn failed<E>(error: &(dyn Error + 'static), name: &'static str) -> Option<Call>
where
    E: Error + ProvideErrorMetadata + 'static,
{
    let error = error.downcast_ref::<SdkError<E>>()?;
    let outcome = match error {
        SdkError::ServiceError(refused) => {
            let status = refused.raw().status().as_u16();
            let is_throttled = error.code().is_some_and(|code| code.contains("Thrott"));
            if status >= 500 || status == 429 || is_throttled {
                Outcome::Overloaded
            } else {
                Outcome::Refused
            }
        }
        SdkError::ConstructionFailure(_) => Outcome::Refused,
        _ => Outcome::Unanswered,
    };
    let text = service_text(error).unwrap_or_else(|| line(error));
    Some(Call {
        name,
        text,
        outcome,
    })
}

/// Returns whether the error is about a wrong setting.
fn is_invalid(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<CredentialsError>();
    matches!(error, Some(CredentialsError::InvalidConfiguration(_)))
}

/// Returns the code and the message of the service, if it has answered.
fn service_text(error: &impl ProvideErrorMetadata) -> Option<String> {
    let parts = [error.code(), error.message()];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| first_line(&parts.join(": ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::aws::profiles::tests::profiles;
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::body::SdkBody;
    use aws_smithy_types::error::ErrorMetadata;

    fn refused(status: u16, code: &str) -> CredentialsError {
        let status = StatusCode::try_from(status).unwrap();
        let meta = ErrorMetadata::builder().code(code).message("no").build();
        let error = AssumeRoleError::generic(meta);
        let refusal = SdkError::service_error(error, Response::new(status, SdkBody::empty()));
        CredentialsError::provider_error(CredentialsError::provider_error(refusal))
    }

    #[test]
    fn a_refusal_is_permanent_and_an_overload_is_not() {
        for (status, code, is_temporary) in [
            (403, "AccessDenied", false),
            (400, "MalformedPolicyDocument", false),
            (400, "Throttling", true),
            (429, "TooManyRequestsException", true),
            (503, "ServiceUnavailable", true),
        ] {
            let failure = Failure::of(&refused(status, code), None);

            let (advice, kind) = if is_temporary {
                ("try again", Kind::Temporary)
            } else {
                ("role_arn of the profile default", Kind::Permanent)
            };
            let text = format!("STS AssumeRole: {code}: no ({advice})");
            assert_eq!(failure, Failure { text, kind });
        }
    }

    #[tokio::test]
    async fn credentials_that_are_late_are_named_by_their_source() {
        let config = "[profile slow]\ncredential_process = /opt/give s3cr3t\n";
        let profiles = profiles(config, "slow").await;

        let failure = Failure::late(Duration::from_secs(300), Some(&profiles));

        let text = "credential_process /opt/give: no answer within 300 s (credential_process of the profile slow)";
        let (text, kind) = (text.to_owned(), Kind::Temporary);
        assert_eq!(failure, Failure { text, kind });
    }
}
