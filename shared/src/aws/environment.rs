//! The SDK settings of a function.
//!
//! Lambda gives a function its Region and its credentials as environment variables
//! (<https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>), so no other source is tried.
//! The default chain of `aws-config` also looks for profiles, web identities and two metadata services, which
//! would make the function larger and its start slower.

use crate::config::variable;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

/// Returns the settings that the environment has. They do not include the HTTP client.
pub(super) fn settings() -> aws_types::sdk_config::Builder {
    let credentials = EnvironmentVariableCredentialsProvider::new();
    let mut settings = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(variable("AWS_REGION").map(Region::new))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .service_config(Variables);
    settings
        .set_endpoint_url(variable("AWS_ENDPOINT_URL"))
        .set_use_fips(flag("AWS_USE_FIPS_ENDPOINT"))
        .set_use_dual_stack(flag("AWS_USE_DUALSTACK_ENDPOINT"));
    settings
}

fn flag(name: &str) -> Option<bool> {
    Some(variable(name)?.eq_ignore_ascii_case("true"))
}

/// Variables for one service, such as `AWS_ENDPOINT_URL_DYNAMODB`
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>).
#[derive(Debug)]
struct Variables;

impl LoadServiceConfig for Variables {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        variable(&name(&key))
    }
}

fn name(key: &ServiceConfigKey<'_>) -> String {
    let service = key.service_id().replace(' ', "_").to_ascii_uppercase();
    format!("{}_{service}", key.env())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_for_one_service_has_its_identifier_in_capitals() {
        for (service, expected) in [
            ("DynamoDB", "AWS_ENDPOINT_URL_DYNAMODB"),
            ("CloudWatch Logs", "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS"),
        ] {
            let key = ServiceConfigKey::builder()
                .service_id(service)
                .profile("endpoint_url")
                .env("AWS_ENDPOINT_URL");
            assert_eq!(name(&key.build().unwrap()), expected);
        }
    }
}
