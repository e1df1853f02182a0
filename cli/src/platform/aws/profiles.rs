//! The profiles of the shared files `config` and `credentials`
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>).
//!
//! The SDK reads these files itself, but treats a file that it cannot read as empty. They are read here only
//! to learn
//! - whether the files can be read, and whether the chosen profile exists
//! - where the Region of the profile is set
//! - whether the profile names an identity completely
//! - whether an MFA code has to be asked for
//! - what to name in an error

use crate::platform::env::variable;
use aws_config::profile::{Profile, ProfileSet, load};
use aws_types::os_shim_internal::{Env, Fs};
use std::error::Error;
use std::io::ErrorKind;
use std::path::PathBuf;

/// The variable that chooses a profile.
const CHOICE: &str = "AWS_PROFILE";

/// The files: for each the variable that names another file, and the default
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/file-location.html>).
const CONFIG: (&str, &str) = ("AWS_CONFIG_FILE", "~/.aws/config");
const CREDENTIALS: (&str, &str) = ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");

/// The profiles of both files, of which one is chosen.
#[derive(Debug)]
pub(super) struct Profiles(ProfileSet);

impl Profiles {
    /// Returns whether a variable chooses a profile.
    pub(super) fn is_chosen() -> bool {
        variable(CHOICE).is_some()
    }

    /// Reads the files. If no profile is chosen, the files need not exist.
    ///
    /// # Errors
    /// When a file cannot be read or parsed, or does not have the chosen profile or the `services` section
    /// that it names.
    pub(super) async fn read() -> Result<Self, String> {
        let config = text(CONFIG)?;
        text(CREDENTIALS)?;
        let read = load(&Fs::real(), &Env::real(), &Default::default(), None).await;
        let own = Self(read.map_err(|error| {
            let cause = error
                .source()
                .map_or(error.to_string(), ToString::to_string);
            // The first line of the text has the place, the second what is wrong.
            let words: Vec<_> = cause.split_whitespace().collect();
            format!("the profiles cannot be read: {}", words.join(" "))
        })?);
        if let Some(name) = variable(CHOICE) {
            own.check_exists(&name, CHOICE)?;
        }
        match own
            .named(own.name())
            .and_then(|chosen| chosen.get("services"))
        {
            Some(services) if !has_services(&config, services) => Err(format!(
                "services of the profile {} is {services:?}, but there is no [services {services}] in {}",
                own.name(),
                place(CONFIG)
            )),
            _ => Ok(own),
        }
    }

    /// Checks that there is a profile `name`, which is the value of `setting`.
    ///
    /// # Errors
    /// Names the setting, the profile and the files.
    pub(super) fn check_exists(&self, name: &str, setting: &str) -> Result<(), String> {
        match self.named(name) {
            Some(_) => Ok(()),
            None => Err(format!(
                "{setting} is {name:?}, but there is no such profile in {} or {} (aws configure list-profiles)",
                place(CONFIG),
                place(CREDENTIALS)
            )),
        }
    }

    fn named(&self, name: &str) -> Option<&Profile> {
        self.0.get_profile(name)
    }

    /// Returns a setting of an `sso-session`, unless it is empty.
    pub(super) fn of_sso_session(&self, session: &str, setting: &str) -> Option<&str> {
        let value = self.0.sso_session(session)?.get(setting);
        value.filter(|value| !value.is_empty())
    }

    /// Returns the name of the chosen profile: `default`, unless a variable chooses another.
    pub(super) fn name(&self) -> &str {
        self.0.selected_profile()
    }

    /// Returns the chosen profile, then the profile with whose credentials it assumes its role, and so on.
    pub(super) fn chain(&self) -> Vec<&Profile> {
        let mut chain: Vec<&Profile> = Vec::new();
        let mut next = Some(self.name());
        while let Some(profile) = next.and_then(|name| self.named(name)) {
            if chain.iter().any(|known| known.name() == profile.name()) {
                break;
            }
            chain.push(profile);
            // As in the SDK, keys of a source profile are used before its role.
            let has_keys = chain.len() > 1 && profile.get("aws_access_key_id").is_some();
            let source = profile
                .get("source_profile")
                .filter(|_| assumes_role(profile));
            next = source.filter(|_| !has_keys);
        }
        chain
    }

    /// Returns the last profile of the chain, which names the source of the credentials.
    pub(super) fn base(&self) -> Option<&Profile> {
        self.chain().pop()
    }

    /// Returns the Region, and the profile that has it: the first one in the chain with a Region.
    pub(super) fn region(&self) -> Option<(String, String)> {
        let mut chain = self.chain().into_iter();
        chain.find_map(|profile| {
            let region = value(profile, "region")?;
            Some((region.to_owned(), profile.name().to_owned()))
        })
    }
}

/// Returns a setting of `profile`, unless it is empty.
pub(super) fn value<'a>(profile: &'a Profile, key: &str) -> Option<&'a str> {
    profile.get(key).filter(|value| !value.is_empty())
}

/// Returns the path of a file, as the variable or the default names it.
fn place((name, default): (&str, &str)) -> String {
    variable(name).unwrap_or_else(|| default.to_owned())
}

/// Returns the text of a file; empty if there is no file. A default file in a folder that cannot be searched
/// counts as no home, because a container may run as a user who has no home.
fn text(file: (&str, &str)) -> Result<String, String> {
    let place = place(file);
    let path = match (place.strip_prefix("~/"), variable("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(&place),
    };
    let (name, _) = file;
    let error = match std::fs::read_to_string(&path) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let is_none = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    if is_none || (variable(name).is_none() && path.metadata().is_err()) {
        return Ok(String::new());
    }
    Err(format!("the file {place} ({name}) cannot be read: {error}"))
}

/// Returns whether the text of `config` has the section `[services name]`. The SDK gives access only to the
/// settings in it.
fn has_services(config: &str, name: &str) -> bool {
    let mut titles = config.lines().filter_map(|line| {
        let (title, _) = line.strip_prefix('[')?.split_once(']')?;
        title.trim().split_once([' ', '\t'])
    });
    titles.any(|(kind, known)| kind == "services" && known.trim() == name)
}

/// Returns whether `profile` has a role that is assumed with other credentials.
pub(super) fn assumes_role(profile: &Profile) -> bool {
    profile.get("role_arn").is_some() && profile.get("web_identity_token_file").is_none()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the profiles of a file with the text `config`, of which one is `chosen`.
    pub(in crate::platform::aws) async fn profiles(config: &str, chosen: &str) -> Profiles {
        let fs = Fs::from_slice(&[("config", config)]);
        let env = Env::from_slice(&[("AWS_CONFIG_FILE", "config"), ("AWS_PROFILE", chosen)]);
        Profiles(load(&fs, &env, &Default::default(), None).await.unwrap())
    }

    const CONFIG: &str = "
[profile keys]
region = eu-keys-1
aws_access_key_id = id
role_arn = arn:role
source_profile = other
[profile other]
region = eu-other-1
[profile role]
role_arn = arn:role
source_profile = keys
[profile own]
role_arn = arn:role
source_profile = own
[profile a]
role_arn = arn:role
source_profile = b
[profile b]
role_arn = arn:role
source_profile = a
[profile no-role]
source_profile = keys
[profile web]
role_arn = arn:role
web_identity_token_file = file
source_profile = keys
";

    #[tokio::test]
    async fn a_chain_ends_at_keys_without_a_role_and_at_a_known_profile() {
        for (chosen, expected, region) in [
            ("keys", &["keys", "other"][..], Some("eu-keys-1")),
            ("role", &["role", "keys"], Some("eu-keys-1")),
            ("own", &["own"], None),
            ("a", &["a", "b"], None),
            ("no-role", &["no-role"], None),
            ("web", &["web"], None),
            ("none", &[], None),
        ] {
            let profiles = profiles(CONFIG, chosen).await;

            let names: Vec<_> = profiles
                .chain()
                .iter()
                .map(|profile| profile.name())
                .collect();
            assert_eq!(names, expected, "{chosen}");
            let found = profiles.region().map(|(name, _)| name);
            assert_eq!(found.as_deref(), region, "{chosen}");
        }
    }
}
