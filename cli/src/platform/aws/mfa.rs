//! Assumes roles that need an MFA code.
//!
//! The SDK does not read `mfa_serial` of a profile, so STS refuses its AssumeRole
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html>). So this module
//! assumes the roles from the last profile of the chain that has `mfa_serial` up to the chosen profile. The
//! credentials for the first of these calls come from the SDK. The question for the code has the same words
//! as in the AWS CLI. Nothing is written to the disk.

use super::failure::Failure;
use super::in_time;
use super::profiles::{Profiles, assumes_role, value};
use crate::platform::terminal::ask;
use aws_config::SdkConfig;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::profile::{Profile, ProfileFileCredentialsProvider};
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use lockstep::clock::{Clock, SystemClock};

/// Returns the profiles whose roles this module assumes: from the chosen one to the last that has an
/// `mfa_serial`.
pub(super) fn roles_to_assume<'a, 'b>(chain: &'b [&'a Profile]) -> &'b [&'a Profile] {
    let mut places = 0..chain.len();
    let last = places.rfind(|place| {
        let profile = chain[*place];
        let is_role = assumes_role(profile) && (*place == 0 || keys(profile).is_none());
        is_role && value(profile, "mfa_serial").is_some()
    });
    &chain[..last.map_or(0, |last| last + 1)]
}

/// Assumes the roles of `asked`, the last one first.
///
/// # Errors
/// A [`Failure`] that names the profile and the call.
pub(super) async fn assume(
    asked: &[&Profile],
    profiles: &Profiles,
    sdk: &SdkConfig,
    conf: &ProviderConfig,
) -> Result<Credentials, Failure> {
    let Some(last) = asked.last() else {
        return Err(Failure::permanent("no profile has an mfa_serial".into()));
    };
    let source = below(last, conf).map_err(Failure::permanent)?;
    let mut credentials = in_time(source.provide_credentials(), Some(profiles)).await?;
    for profile in asked.iter().rev() {
        credentials = assume_one(profile, credentials, sdk)
            .await
            .map_err(|error| Failure::of(&error, Some(profiles)))?;
    }
    Ok(credentials)
}

/// Assumes the role of `profile` with `credentials`.
async fn assume_one(
    profile: &Profile,
    credentials: Credentials,
    sdk: &SdkConfig,
) -> Result<Credentials, CredentialsError> {
    let credentials = SharedCredentialsProvider::new(credentials);
    let sdk = sdk.to_builder().credentials_provider(credentials).build();
    let own = |key| value(profile, key).map(str::to_owned);
    let code = match value(profile, "mfa_serial") {
        Some(serial) => Some(code(profile.name(), serial).await?),
        None => None,
    };
    let session = own("role_session_name")
        .unwrap_or_else(|| format!("lockstep-{}", SystemClock.now().millis()));
    let call = aws_sdk_sts::Client::new(&sdk)
        .assume_role()
        .set_role_arn(own("role_arn"))
        .set_external_id(own("external_id"))
        .set_duration_seconds(
            profile
                .get("duration_seconds")
                .and_then(|seconds| seconds.parse().ok()),
        )
        .set_serial_number(own("mfa_serial"))
        .set_token_code(code)
        .role_session_name(session);
    let assumed = call
        .send()
        .await
        .map_err(CredentialsError::provider_error)?;
    let assumed = assumed
        .credentials
        .ok_or_else(|| CredentialsError::unhandled("STS AssumeRole has returned no credentials"))?;
    Ok(Credentials::new(
        assumed.access_key_id,
        assumed.secret_access_key,
        Some(assumed.session_token),
        assumed.expiration.try_into().ok(),
        "AssumeRole",
    ))
}

/// Asks for the code of the device `serial`, and returns it.
async fn code(profile: &str, serial: &str) -> Result<String, CredentialsError> {
    let code = ask(format!("Enter MFA code for {serial}: ")).await;
    code.map_err(|error| {
        CredentialsError::invalid_configuration(format!(
            "the profile {profile} needs an MFA code of {serial}, and no terminal gave one ({error})"
        ))
    })
}

/// The provider that is asked after the session of an MFA code has ended. It returns an error, because a code
/// is asked for only at the start of a command: later, the child of the command may read the terminal.
#[derive(Debug)]
pub(super) struct Ended(pub(super) String);

impl ProvideCredentials for Ended {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let Self(profile) = self;
        let why =
            format!("the MFA session of the profile {profile} has ended: start the command again");
        future::ProvideCredentials::ready(Err(CredentialsError::invalid_configuration(why)))
    }
}

/// Returns the provider of the credentials with which the role of `profile` is assumed.
fn below(profile: &Profile, conf: &ProviderConfig) -> Result<SharedCredentialsProvider, String> {
    let name = profile.name();
    match (
        profile.get("source_profile"),
        profile.get("credential_source"),
    ) {
        (Some(source), None) if source == name => {
            let keys = keys(profile);
            let keys = keys.ok_or_else(|| {
                format!("the profile {name} is its own source_profile, and has no keys")
            })?;
            Ok(SharedCredentialsProvider::new(keys))
        }
        (Some(source), None) => {
            let source = ProfileFileCredentialsProvider::builder()
                .configure(conf)
                .profile_name(source);
            Ok(SharedCredentialsProvider::new(source.build()))
        }
        (None, Some("Environment")) => {
            let source = EnvironmentVariableCredentialsProvider::new();
            Ok(SharedCredentialsProvider::new(source))
        }
        (None, Some("EcsContainer")) => {
            let source = EcsCredentialsProvider::builder().configure(conf);
            Ok(SharedCredentialsProvider::new(source.build()))
        }
        (None, Some("Ec2InstanceMetadata")) => {
            let source = ImdsCredentialsProvider::builder().configure(conf);
            Ok(SharedCredentialsProvider::new(source.build()))
        }
        _ => Err(format!(
            "the profile {name} needs one of source_profile and credential_source (Environment, EcsContainer, Ec2InstanceMetadata)"
        )),
    }
}

fn keys(profile: &Profile) -> Option<Credentials> {
    let (id, secret) = (
        profile.get("aws_access_key_id")?,
        profile.get("aws_secret_access_key")?,
    );
    let token = profile.get("aws_session_token").map(str::to_owned);
    Some(Credentials::new(id, secret, token, None, "profile"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::aws::profiles::tests::profiles;

    const CONFIG: &str = "
[profile keys]
aws_access_key_id = id
aws_secret_access_key = secret
mfa_serial = serial
[profile plain]
role_arn = arn:role
source_profile = keys
[profile mfa]
role_arn = arn:role
mfa_serial = serial
source_profile = plain
[profile above]
role_arn = arn:role
source_profile = mfa
[profile twice]
role_arn = arn:role
mfa_serial = serial
source_profile = above
[profile keys-and-role]
aws_access_key_id = id
aws_secret_access_key = secret
role_arn = arn:role
mfa_serial = serial
source_profile = keys
[profile above-keys]
role_arn = arn:role
source_profile = keys-and-role
";

    #[tokio::test]
    async fn the_roles_from_the_last_mfa_serial_up_are_assumed_here() {
        for (chosen, expected) in [
            ("keys", &[][..]),
            ("plain", &[]),
            ("mfa", &["mfa"]),
            ("above", &["above", "mfa"]),
            ("twice", &["twice", "above", "mfa"]),
            ("keys-and-role", &["keys-and-role"]),
            ("above-keys", &[]),
        ] {
            let profiles = profiles(CONFIG, chosen).await;
            let chain = profiles.chain();

            let asked: Vec<_> = roles_to_assume(&chain)
                .iter()
                .map(|profile| profile.name())
                .collect();

            assert_eq!(asked, expected, "{chosen}");
        }
    }

    #[tokio::test]
    async fn a_role_needs_one_source_of_credentials() {
        let config = "
[profile none]
role_arn = arn:role
mfa_serial = serial
[profile own]
role_arn = arn:role
mfa_serial = serial
source_profile = own
[profile both]
role_arn = arn:role
mfa_serial = serial
source_profile = x
credential_source = Environment
";
        for chosen in ["none", "own", "both"] {
            let profiles = profiles(config, chosen).await;

            let refused = below(profiles.chain()[0], &ProviderConfig::empty()).unwrap_err();

            assert!(
                refused.contains(&format!("the profile {chosen} ")),
                "{refused}"
            );
        }
    }
}
