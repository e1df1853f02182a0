//! Why there are no credentials, in one line: the service that was called, what it answered, and the setting to
//! change.

use super::profiles::Profiles;
use crate::platform::env::variable;
use aws_config::imds::client::error::{ImdsError, TokenError as TokenRefused};
use aws_config::profile::Profile;
use aws_credential_types::provider::error::{CredentialsError, TokenError};
use aws_sdk_signin::operation::create_o_auth2_token::CreateOAuth2TokenError;
use aws_sdk_sso::operation::get_role_credentials::GetRoleCredentialsError;
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sts::operation::assume_role::AssumeRoleError;
use aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError;
use std::error::Error;
use std::iter::successors;

/// Longest text of an error, in characters.
const TEXT_MAX: usize = 400;

/// Why there are no credentials.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The service, its answer, and the setting to change.
    pub(super) text: String,
    /// Whether a later attempt may succeed.
    pub(super) is_temporary: bool,
}

/// Where credentials come from, if not from the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Sso,
    Login,
    Process,
    WebIdentity,
    Keys,
    Container,
    Instance,
}

impl Failure {
    /// A failure that no later attempt mends.
    pub(super) fn permanent(text: String) -> Self {
        let is_temporary = false;
        Self { text, is_temporary }
    }

    /// The failure of the SDK's providers. `profiles` is `None` if they cannot be read.
    pub(super) fn of(error: &CredentialsError, profiles: Option<&Profiles>) -> Self {
        let chain = profiles.map(Profiles::chain).unwrap_or_default();
        let name = profiles.map_or("default", Profiles::name);
        if let CredentialsError::CredentialsNotLoaded(_) = error {
            return Self::permanent(format!(
                "none in the environment, in the profile {name}, from the container or from the instance (AWS_PROFILE; aws configure, aws login or aws sso login)"
            ));
        }
        if let CredentialsError::InvalidConfiguration(_) = error {
            // The message names the profile or the variable.
            return Self::permanent(line(error));
        }
        let source = Source::of(chain.last().copied());
        let answer = answer(error);
        let is_temporary = answer.as_ref().map_or_else(
            || source.may_answer_later(error),
            |(_, _, is_temporary)| *is_temporary,
        );
        let (call, text) = match answer {
            Some((call, text, _)) => (call.to_owned(), text),
            None => (source.name(chain.last().copied()), source.text(error)),
        };
        let advice = match call.as_str() {
            "STS AssumeRole" => format!("role_arn of the profile {name}"),
            // The profile that has the session, which may be below a role.
            _ => source.advice(chain.last().map_or(name, |base| base.name())),
        };
        let text = format!("{call}: {text} ({advice})");
        Self { text, is_temporary }
    }
}

/// The call that failed, the answer of its service, and whether another answer may follow.
fn answer(error: &CredentialsError) -> Option<(&'static str, String, bool)> {
    causes(error).find_map(|cause| {
        let named = |call: &'static str| move |(text, later)| (call, text, later);
        let assumed = failed::<AssumeRoleError>(cause).map(named("STS AssumeRole"));
        let by_token = || failed::<AssumeRoleWithWebIdentityError>(cause);
        let by_token = || by_token().map(named("STS AssumeRoleWithWebIdentity"));
        let by_sso =
            || failed::<GetRoleCredentialsError>(cause).map(named("SSO GetRoleCredentials"));
        let by_login = || {
            let refused = cause.downcast_ref::<CreateOAuth2TokenError>()?;
            let text = service_text(refused).unwrap_or_else(|| line(cause));
            // Without an answer, there is not even a message.
            let is_temporary = refused.code().or(refused.message()).is_none();
            Some(("Sign-In CreateOAuth2Token", text, is_temporary))
        };
        assumed.or_else(by_token).or_else(by_sso).or_else(by_login)
    })
}

fn failed<E>(error: &(dyn Error + 'static)) -> Option<(String, bool)>
where
    E: Error + ProvideErrorMetadata + 'static,
{
    let error = error.downcast_ref::<SdkError<E>>()?;
    let is_temporary = match error {
        SdkError::ServiceError(refused) => {
            let status = refused.raw().status().as_u16();
            let is_throttled = error.code().is_some_and(|code| code.contains("Thrott"));
            status >= 500 || status == 429 || is_throttled
        }
        SdkError::ConstructionFailure(_) => false,
        _ => true,
    };
    Some((
        service_text(error).unwrap_or_else(|| line(error)),
        is_temporary,
    ))
}

/// Code and message of the service, if it has answered.
fn service_text(error: &impl ProvideErrorMetadata) -> Option<String> {
    let parts = [error.code(), error.message()];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| first_line(&parts.join(": ")))
}

impl Source {
    /// The source that the last profile of a chain names or, if there is none, the environment.
    fn of(profile: Option<&Profile>) -> Self {
        let has = |key| profile.is_some_and(|profile| profile.get(key).is_some());
        let source = profile.and_then(|profile| profile.get("credential_source"));
        let is_set = |names: &[&str]| names.iter().any(|name| variable(name).is_some());
        match source.map(str::to_ascii_lowercase).as_deref() {
            Some("ecscontainer") => Self::Container,
            Some("ec2instancemetadata") => Self::Instance,
            _ if has("web_identity_token_file") => Self::WebIdentity,
            _ if has("sso_session") || has("sso_start_url") => Self::Sso,
            _ if has("login_session") => Self::Login,
            _ if has("credential_process") => Self::Process,
            _ if has("aws_access_key_id") || has("role_arn") => Self::Keys,
            _ if is_set(&["AWS_WEB_IDENTITY_TOKEN_FILE"]) => Self::WebIdentity,
            _ if is_set(&CONTAINER) => Self::Container,
            _ => Self::Instance,
        }
    }

    fn name(self, profile: Option<&Profile>) -> String {
        let of = |key: &str| {
            let value = profile.and_then(|profile| profile.get(key));
            value.unwrap_or_default().to_owned()
        };
        match self {
            Self::Sso => "SSO".into(),
            Self::Login => "aws login".into(),
            // Its arguments may be secrets.
            Self::Process => {
                let command = of("credential_process");
                let program = command.split_whitespace().next().unwrap_or_default();
                format!("credential_process {program}")
            }
            Self::WebIdentity => "the web identity token".into(),
            Self::Keys => "the profile".into(),
            Self::Container => "the credentials endpoint of the container".into(),
            Self::Instance => "IMDS".into(),
        }
    }

    /// What went wrong, where no service of AWS has answered.
    fn text(self, error: &CredentialsError) -> String {
        let text = line(error);
        match self {
            // The SDK adds standard error to the status, with all its lines.
            Self::Process => match causes(error).last().map(ToString::to_string) {
                Some(all) if all.contains("Stderr: ") => {
                    let (status, stderr) = all.split_once("Stderr: ").unwrap_or_default();
                    let status = status.rsplit_once("code ").map_or(status, |(_, code)| code);
                    let status = status.trim_end_matches(['.', ' ']);
                    first_line(&format!("{status}: {}", stderr.trim_start()))
                }
                _ => text,
            },
            _ => text,
        }
    }

    /// The setting to change, or the command to run.
    fn advice(self, profile: &str) -> String {
        match self {
            Self::Sso => format!("aws sso login --profile {profile}"),
            Self::Login => format!("aws login --profile {profile}"),
            Self::Process => format!("credential_process of the profile {profile}"),
            Self::Keys => format!("the profile {profile}"),
            Self::WebIdentity if variable("AWS_WEB_IDENTITY_TOKEN_FILE").is_some() => {
                "AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN".into()
            }
            Self::WebIdentity => {
                format!("web_identity_token_file, role_arn of the profile {profile}")
            }
            Self::Container => CONTAINER.join(", "),
            Self::Instance => "the role of the instance; AWS_PROFILE chooses a profile".into(),
        }
    }

    /// Whether an error that no service of AWS has answered with may be gone at the next attempt: the agents of a
    /// container and of an instance answer with a 5xx or not at all while they start.
    fn may_answer_later(self, error: &CredentialsError) -> bool {
        let is_refused = match self {
            // Its status is in the text alone.
            Self::Container => line(error).contains("StatusCode(4"),
            Self::Instance => causes(error).any(|cause| {
                let status = match cause.downcast_ref::<ImdsError>() {
                    Some(ImdsError::ErrorResponse(refusal)) => refusal.response().status().as_u16(),
                    _ => 0,
                };
                (400..500).contains(&status) || cause.is::<TokenRefused>()
            }),
            _ => true,
        };
        !is_refused
    }
}

/// The variables that name the credentials endpoint of a container
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html>).
pub(super) const CONTAINER: [&str; 2] = [
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
];

/// An error and its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// The messages of an error and its causes, in one line. A cause whose message is in the one before is left out, and
/// so are the SDK's words for the classes of its own errors.
pub(crate) fn line(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    for cause in causes(error) {
        let is_class = cause.is::<CredentialsError>() || cause.is::<TokenError>();
        let is_class = is_class && cause.source().is_some();
        let text = first_line(&cause.to_string());
        if is_class || text.is_empty() || line.contains(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line.chars().take(TEXT_MAX).collect()
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    line.chars().take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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

            let text = format!("STS AssumeRole: {code}: no (role_arn of the profile default)");
            assert_eq!(failure, Failure { text, is_temporary });
        }
    }

    #[test]
    fn an_error_is_one_line_without_repetitions() {
        let inner = CredentialsError::provider_error("no answer\nand more");
        let outer = CredentialsError::unhandled(inner);

        assert_eq!(line(&outer), "no answer");
    }
}
