//! The Region, from the first source that has one.
//!
//! The sources have the same order as in the AWS CLI and the SDKs
//! (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-region.html>). A source is asked only if those
//! before it have no Region: in a container, where the variable is set, no file is read and IMDS is not
//! asked.

use super::profiles::Profiles;
use crate::platform::env::variable;
use crate::platform::tls;
use aws_config::imds::Client;
use aws_config::imds::region::ImdsRegionProvider;
use aws_config::meta::region::ProvideRegion;
use aws_config::provider_config::ProviderConfig;
use std::time::Duration;

/// The variables, in their order.
const VARIABLES: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// Longest wait for IMDS, which answers only on an EC2 instance. The AWS CLI waits for the same time.
const IMDS_WITHIN: Duration = Duration::from_secs(1);

/// A Region, and where it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// Its name, such as `eu-west-1`.
    pub(crate) name: String,
    /// The variable, the profile, or IMDS.
    pub(crate) from: String,
}

impl Region {
    /// Returns the Region in the environment.
    pub(super) fn of_environment() -> Option<Self> {
        VARIABLES.iter().find_map(|from| {
            let from = (*from).to_owned();
            variable(&from).map(|name| Self { name, from })
        })
    }

    /// Returns the Region of the profile or, on an EC2 instance, of the instance.
    ///
    /// # Errors
    /// Names the settings that may have the Region, if none has one.
    pub(super) async fn elsewhere(profiles: &Profiles) -> Result<Self, String> {
        if let Some((name, profile)) = profiles.region() {
            let from = format!("the profile {profile}");
            return Ok(Self { name, from });
        }
        let conf = ProviderConfig::without_region().with_http_client(tls::client("", None)?);
        let client = Client::builder().configure(&conf).max_attempts(1);
        let client = client
            .connect_timeout(IMDS_WITHIN)
            .read_timeout(IMDS_WITHIN);
        let imds = ImdsRegionProvider::builder()
            .configure(&conf)
            .imds_client(client.build());
        match ProvideRegion::region(&imds.build()).await {
            Some(region) => Ok(Self {
                name: region.to_string(),
                from: "IMDS".into(),
            }),
            None => Err(format!(
                "there is no Region: set AWS_REGION or AWS_DEFAULT_REGION, or the region of the profile {} (aws configure set region)",
                profiles.name()
            )),
        }
    }

    /// Checks the name, which becomes a part of host names
    /// (<https://docs.aws.amazon.com/general/latest/gr/rande.html>).
    ///
    /// # Errors
    /// Names the setting, its value and the rule.
    pub(super) fn check(self) -> Result<Self, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if self.name.chars().all(is_part) && !self.name.starts_with('-') {
            return Ok(self);
        }
        let Self { name, from } = self;
        Err(format!(
            "the Region in {from} is {name:?}, but must have letters, digits and - only, such as eu-west-1"
        ))
    }
}
