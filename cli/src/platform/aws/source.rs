//! The sources of credentials: their names in errors, and the settings that lead to them.

use super::text::{causes, line};
use super::{container, process};
use crate::platform::env::variable;
use aws_config::imds::client::error::{ImdsError, TokenError};
use aws_config::profile::Profile;
use aws_credential_types::provider::error::CredentialsError;

/// The source of credentials that are not in variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Sso,
    Login,
    Process,
    WebIdentity,
    Keys,
    Container,
    Instance,
}

impl Source {
    /// Returns the source that `profile`, the last one of the chain, names. If it names none, returns the
    /// source that the environment names.
    pub(super) fn of(profile: Option<&Profile>) -> Self {
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
            _ if is_set(&container::ENDPOINT) => Self::Container,
            _ => Self::Instance,
        }
    }

    /// Returns the source, what went wrong, and the setting to change, in one line.
    pub(super) fn failure(self, base: Option<&Profile>, text: &str) -> String {
        let name = match self {
            Self::Sso => "SSO",
            Self::Login => "aws login",
            Self::Process => &process::name(base),
            Self::WebIdentity => "the web identity token",
            Self::Keys => "the profile",
            Self::Container => "the credentials endpoint of the container",
            Self::Instance => "IMDS",
        };
        let mut advice = self.advice(base);
        // This is the SDK's whole text for a token file that it cannot read, or to which it cannot write a
        // renewed token.
        if self == Self::Sso && text.contains("failed to load the cached SSO token") {
            advice.push_str(", or let this user read and write the files in ~/.aws/sso/cache");
        }
        format!("{name}: {text} ({advice})")
    }

    /// Returns what went wrong, if no AWS service has answered.
    pub(super) fn text(self, error: &CredentialsError, base: Option<&Profile>) -> String {
        let last = causes(error).last().map(ToString::to_string);
        match self {
            Self::Process => process::text(base, &last.unwrap_or_default()),
            // The text of the SDK would be the whole answer of IMDS.
            Self::Instance => match status_of_imds(error) {
                Some(status) => format!("status {status}"),
                None => line(error),
            },
            _ => line(error),
        }
    }

    /// Returns the setting to change, or the command to run.
    pub(super) fn advice(self, base: Option<&Profile>) -> String {
        // The profile that has the session, which may be the source of a role.
        let profile = base.map_or("default", Profile::name);
        let of_profile = |key| base.is_some_and(|base| base.get(key).is_some());
        match self {
            Self::Sso => format!("aws sso login --profile {profile}"),
            Self::Login => format!("aws login --profile {profile}"),
            Self::Process => format!("credential_process of the profile {profile}"),
            Self::Keys => format!("the profile {profile}"),
            Self::WebIdentity if of_profile("web_identity_token_file") => {
                format!("web_identity_token_file, role_arn of the profile {profile}")
            }
            Self::WebIdentity => "AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN".into(),
            Self::Container => container::ENDPOINT.join(", "),
            Self::Instance => "the role of the instance; AWS_PROFILE chooses a profile".into(),
        }
    }

    /// Returns whether a later attempt may succeed, for an error that does not come from an AWS service. The
    /// credentials endpoints of a container and of an instance answer with a 5xx, or not at all, while they
    /// start.
    pub(super) fn may_answer_later(self, error: &CredentialsError) -> bool {
        let is_refused = match self {
            // The text of the error is the only place that has the status.
            Self::Container => line(error).contains("StatusCode(4"),
            Self::Instance => {
                let is_refused = status_of_imds(error).is_some_and(|s| (400..500).contains(&s));
                is_refused || causes(error).any(|cause| cause.is::<TokenError>())
            }
            _ => true,
        };
        !is_refused
    }
}

/// Returns the HTTP status, if IMDS has answered with an error.
fn status_of_imds(error: &CredentialsError) -> Option<u16> {
    causes(error).find_map(|cause| match cause.downcast_ref::<ImdsError>()? {
        ImdsError::ErrorResponse(refusal) => Some(refusal.response().status().as_u16()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn a_token_that_cannot_be_kept_asks_for_more_than_a_login() {
        for (text, advice) in [
            (
                "failed to load the cached SSO token",
                "(aws sso login --profile default, or let this user read and write the files in ~/.aws/sso/cache)",
            ),
            (
                "the SSO token has expired",
                "(aws sso login --profile default)",
            ),
        ] {
            let shown = Source::Sso.failure(None, text);

            assert_eq!(shown, format!("SSO: {text} {advice}"));
        }
    }
}
