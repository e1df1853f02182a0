//! The profiles of the shared files `config` and `credentials`
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>).
//!
//! The SDK reads them itself. They are read here only for what the SDK does not tell: whether the chosen profile
//! exists, where its Region is, whether it has to be asked for an MFA code, and what to name in an error.

use crate::platform::env::variable;
use aws_config::profile::{Profile, ProfileSet, load};
use aws_types::os_shim_internal::{Env, Fs};

/// The variable that chooses a profile.
const CHOICE: &str = "AWS_PROFILE";

/// The profiles, one of which is chosen.
#[derive(Debug)]
pub(super) struct Profiles(ProfileSet);

impl Profiles {
    /// Whether a variable chooses a profile.
    pub(super) fn is_chosen() -> bool {
        variable(CHOICE).is_some()
    }

    /// Reads the files. Without a chosen profile, there need not be any.
    ///
    /// # Errors
    /// When a file cannot be parsed, or has no such profile.
    pub(super) async fn read() -> Result<Self, String> {
        let read = load(&Fs::real(), &Env::real(), &Default::default(), None).await;
        let own = Self(read.map_err(|error| {
            format!(
                "the profiles cannot be read: {}",
                super::failure::line(&error)
            )
        })?);
        match variable(CHOICE) {
            Some(name) if own.0.get_profile(&name).is_none() => Err(format!(
                "{CHOICE} is {name:?}, but there is no such profile in ~/.aws/config or ~/.aws/credentials (aws configure list-profiles)"
            )),
            _ => Ok(own),
        }
    }

    /// The name of the chosen profile: `default`, unless a variable chooses another.
    pub(super) fn name(&self) -> &str {
        self.0.selected_profile()
    }

    /// The chosen profile, the profile whose credentials it uses to assume its role, and so on.
    pub(super) fn chain(&self) -> Vec<&Profile> {
        let mut chain: Vec<&Profile> = Vec::new();
        let mut next = Some(self.name());
        while let Some(profile) = next.and_then(|name| self.0.get_profile(name)) {
            if chain.iter().any(|known| known.name() == profile.name()) {
                break;
            }
            chain.push(profile);
            // As in the SDK: keys of a source profile are used before its role.
            let has_keys = chain.len() > 1 && profile.get("aws_access_key_id").is_some();
            let source = profile
                .get("source_profile")
                .filter(|_| assumes_role(profile));
            next = source.filter(|_| !has_keys);
        }
        chain
    }

    /// The Region of the chosen profile or, where it has none, of the profile whose credentials it uses.
    pub(super) fn region(&self) -> Option<(String, String)> {
        let mut chain = self.chain().into_iter();
        chain.find_map(|profile| {
            let region = profile.get("region").filter(|region| !region.is_empty())?;
            Some((region.to_owned(), profile.name().to_owned()))
        })
    }
}

/// Whether the credentials of `profile` are those of a role, which is assumed with other credentials.
pub(super) fn assumes_role(profile: &Profile) -> bool {
    profile.get("role_arn").is_some() && profile.get("web_identity_token_file").is_none()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The profiles of a file `config`, one of which is chosen.
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
