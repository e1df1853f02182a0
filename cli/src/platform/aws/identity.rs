//! Checks settings that name an identity only in part.
//!
//! The SDK treats an incomplete source as one without credentials, and tries the next source, which may be
//! another identity. The AWS CLI refuses such settings
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>).

use super::container;
use super::profiles::{Profiles, assumes_role, value};
use super::usable::{Fault, fault};
use crate::platform::env::variable;
use crate::platform::home;
use aws_config::profile::Profile;

/// The names of the keys, as variables and in a profile.
const VARIABLES: [&str; 2] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
const KEYS: [&str; 2] = ["aws_access_key_id", "aws_secret_access_key"];

/// The names of the session token, which belongs to the keys, as a variable and in a profile.
const TOKENS: [&str; 2] = ["AWS_SESSION_TOKEN", "aws_session_token"];

/// The variable that chooses a profile for the AWS CLI, which does not document it any more. The SDKs do not
/// read it (<https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-envvars.html>,
/// <https://github.com/boto/botocore/issues/1725>).
const CLI_ONLY_PROFILE_VARIABLE: &str = "AWS_DEFAULT_PROFILE";

/// The variables of a web identity. The variable with the role alone names no identity.
const WEB_IDENTITY: [&str; 2] = ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"];

/// The settings that IAM Identity Center needs: the first two in the profile, the other two in the
/// sso-session or the profile
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-sso-credentials.html>).
const SSO_OF_PROFILE: [&str; 2] = ["sso_account_id", "sso_role_name"];
const SSO_OF_SESSION: [&str; 2] = ["sso_region", "sso_start_url"];

/// Returns whether variables have the keys. These come before all other sources.
///
/// # Errors
/// Names the variable that is missing, has only white space, or has a character that no request can be signed
/// with.
pub(super) fn has_keys() -> Result<bool, String> {
    let [id, secret] = VARIABLES.map(variable);
    for (name, value) in VARIABLES.iter().zip([&id, &secret]) {
        if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
            return Err(format!("{name} has only white space: set or unset it"));
        }
    }
    check_pair(VARIABLES, [id.is_some(), secret.is_some()], unset)?;
    for name in VARIABLES.iter().chain(&TOKENS[..1]) {
        if id.is_some()
            && let Some(fault) = variable(name).as_deref().and_then(fault)
        {
            return Err(format!("{name} {fault}"));
        }
    }
    Ok(id.is_some())
}

/// Checks the profiles that credentials are taken from, and the variables that are read if no profile names
/// credentials.
///
/// # Errors
/// Names the profile and the setting, or the variable.
pub(super) fn check(profiles: &Profiles) -> Result<(), String> {
    if let Some(name) = variable(CLI_ONLY_PROFILE_VARIABLE).filter(|name| name != profiles.name())
        && !Profiles::is_chosen()
    {
        return Err(format!(
            "{CLI_ONLY_PROFILE_VARIABLE} is {name:?}, but only AWS_PROFILE chooses a profile: set AWS_PROFILE, or unset {CLI_ONLY_PROFILE_VARIABLE}"
        ));
    }
    let chain = profiles.chain();
    for profile in &chain {
        check_profile(profile)?;
    }
    match chain.last() {
        // As in the SDK, keys of a source profile come before all its other settings.
        Some(base) if chain.len() > 1 && value(base, KEYS[0]).is_some() => Ok(()),
        Some(base) if is_of_container(base) => container::check(),
        Some(base) if assumes_role(base) => check_source(profiles, base),
        Some(base) if base.get("credential_source").is_some() => Ok(()),
        Some(base) if base.get("web_identity_token_file").is_some() => {
            let has_role = value(base, "role_arn").is_some();
            let names = ["web_identity_token_file", "role_arn"];
            check_pair(names, [true, has_role], |set, unset| {
                lacks(base, set, unset)
            })
        }
        Some(base) if uses_sso(base) => {
            check_sso(profiles, base)?;
            check_home(base, "~/.aws/sso/cache")
        }
        Some(base) if base.get("login_session").is_some() => check_home(base, "~/.aws/login/cache"),
        Some(base) if names_credentials(base) => Ok(()),
        Some(base) if chain.len() > 1 => {
            let above = chain[chain.len() - 2].name();
            let base = base.name();
            Err(format!(
                "source_profile of the profile {above} is {base:?}, which has no credentials"
            ))
        }
        _ => check_variables(),
    }
}

/// Checks the keys of a profile, and that no setting is empty that the SDK would use as a value.
fn check_profile(profile: &Profile) -> Result<(), String> {
    let has = KEYS.map(|key| value(profile, key).is_some());
    check_pair(KEYS, has, |set, unset| lacks(profile, set, unset))?;
    for key in KEYS.iter().chain(&TOKENS[1..]).chain(&["role_arn"]) {
        match profile.get(key).and_then(fault) {
            None => {}
            // AWS treats an empty token as none.
            Some(Fault::Empty) if TOKENS.contains(key) => {}
            Some(fault) => return Err(format!("{key} of the profile {} {fault}", profile.name())),
        }
    }
    Ok(())
}

fn lacks(profile: &Profile, set: &str, unset: &str) -> String {
    format!("the profile {} has {set}, but no {unset}", profile.name())
}

/// Returns an error if one of two settings is there without the other.
fn check_pair(
    names: [&str; 2],
    has: [bool; 2],
    error: impl Fn(&str, &str) -> String,
) -> Result<(), String> {
    match (names, has) {
        ([set, unset], [true, false]) | ([unset, set], [false, true]) => Err(error(set, unset)),
        _ => Ok(()),
    }
}

/// Checks that the role of `base` has a source of credentials, and that this profile exists if the source is
/// a profile.
fn check_source(profiles: &Profiles, base: &Profile) -> Result<(), String> {
    let Some(source) = base.get("source_profile") else {
        return match base.get("credential_source") {
            Some(_) => Ok(()),
            None => Err(lacks(
                base,
                "role_arn",
                "source_profile and no credential_source",
            )),
        };
    };
    let setting = format!("source_profile of the profile {}", base.name());
    profiles.check_exists(source, &setting)?;
    if source == base.name() && !names_credentials(base) {
        return Err(format!(
            "{setting} is the profile itself, which has no keys"
        ));
    }
    Ok(())
}

fn check_sso(profiles: &Profiles, base: &Profile) -> Result<(), String> {
    let name = base.name();
    if let Some(missing) = SSO_OF_PROFILE.iter().find(|key| value(base, key).is_none()) {
        return Err(format!(
            "the profile {name} uses IAM Identity Center, but has no {missing}"
        ));
    }
    let session = base.get("sso_session");
    let of_session = |key: &str| match session {
        Some(session) => profiles.of_sso_session(session, key),
        None => value(base, key),
    };
    let missing = SSO_OF_SESSION.iter().find(|key| of_session(key).is_none());
    match (missing, session) {
        (None, _) => Ok(()),
        (Some(missing), Some(session)) => Err(format!(
            "sso_session of the profile {name} is {session:?}, but there is no sso-session {session} with {missing}"
        )),
        (Some(missing), None) => Err(format!(
            "the profile {name} uses IAM Identity Center, but has no {missing} and no sso_session"
        )),
    }
}

/// Checks that the user has a home. The session of `base` is kept in `folder`, which is below it.
fn check_home(base: &Profile, folder: &str) -> Result<(), String> {
    if home::is_there() {
        return Ok(());
    }
    Err(format!(
        "HOME is not set, and /etc/passwd has no home of this user, so the session of the profile {} cannot be read from {folder}: set HOME",
        base.name()
    ))
}

/// Checks the sources that come after the profiles.
fn check_variables() -> Result<(), String> {
    let [file, role] = WEB_IDENTITY;
    match (variable(file), variable(role)) {
        (Some(_), Some(_)) => Ok(()),
        (Some(_), None) => Err(unset(file, role)),
        (None, _) => container::check(),
    }
}

fn unset(set: &str, unset: &str) -> String {
    format!("{set} is set, but {unset} is not: set both or none")
}

fn is_of_container(profile: &Profile) -> bool {
    let source = profile.get("credential_source");
    source.is_some_and(|source| source.eq_ignore_ascii_case("EcsContainer"))
}

fn uses_sso(profile: &Profile) -> bool {
    let keys = [SSO_OF_PROFILE, SSO_OF_SESSION].concat();
    let mut keys = keys.into_iter().chain(["sso_session"]);
    keys.any(|key| profile.get(key).is_some())
}

/// Returns whether the profile names credentials of its own, so that no other profile is needed.
fn names_credentials(profile: &Profile) -> bool {
    let keys = [
        KEYS[0],
        "credential_process",
        "credential_source",
        "login_session",
        "web_identity_token_file",
    ];
    uses_sso(profile) || keys.iter().any(|key| profile.get(key).is_some())
}
