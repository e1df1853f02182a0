//! Checks the endpoints that variables and the profile name before a client is built: the SDK ignores a wrong
//! endpoint, or panics at the first request.

use crate::platform::env::variable;
use crate::platform::host::has_host;
use aws_types::SdkConfig;
use aws_types::service_config::ServiceConfigKey;
use hyper::Uri;

/// The variable for the endpoint of all services. The variable for one service has its identifier appended
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>).
const VARIABLE: &str = "AWS_ENDPOINT_URL";

/// The variable for the endpoint of IMDS
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-imds-credentials.html>).
const IMDS: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// The identifiers of the services that may be called
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/ss-endpoints-table.html>).
const SERVICES: [&str; 11] = [
    "CloudFormation",
    "DynamoDB",
    "ECS",
    "EventBridge",
    "Lambda",
    "SFN",
    "SQS",
    "SSO",
    "SSO OIDC",
    "STS",
    "Signin",
];

/// Checks the endpoint of IMDS, which is needed if IMDS has to be asked for the Region.
///
/// # Errors
/// Names the variable, its value and the rule.
pub(super) fn check_imds() -> Result<(), String> {
    match variable(IMDS) {
        Some(url) => check_url(IMDS, &url),
        None => Ok(()),
    }
}

/// Checks the endpoints of all services.
///
/// # Errors
/// Names the setting, its value and the rule.
pub(super) fn check(sdk: &SdkConfig) -> Result<(), String> {
    let mut named = SERVICES.iter().filter_map(|service| of(sdk, service));
    named.try_for_each(|(name, url)| check_url(&name, &url))
}

/// Checks `url`, the value of the variable or setting `name`.
///
/// # Errors
/// Names the variable or setting, its value and the rule.
pub(super) fn check_url(name: &str, url: &str) -> Result<(), String> {
    if is_endpoint(url) {
        return Ok(());
    }
    Err(format!(
        "{name} is {url:?}, but must be the URL of an endpoint, such as https://host or http://host:8000"
    ))
}

/// Returns the name of the variable or setting for the endpoint of `service`, and its value; `None` if none
/// is set.
fn of(sdk: &SdkConfig, service: &str) -> Option<(String, String)> {
    let key = ServiceConfigKey::builder()
        .service_id(service)
        .env(VARIABLE)
        .profile("endpoint_url");
    let url = sdk.service_config()?.load_config(key.build().ok()?)?;
    let own = format!(
        "{VARIABLE}_{}",
        service.replace(' ', "_").to_ascii_uppercase()
    );
    let set = [own, VARIABLE.to_owned()]
        .into_iter()
        .find(|name| variable(name).is_some());
    let name = set.unwrap_or_else(|| format!("endpoint_url for {service} in the profile"));
    Some((name, url))
}

fn is_endpoint(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    is_web && has_host(&uri)
}

#[cfg(test)]
mod tests {
    use super::is_endpoint;

    #[test]
    fn an_endpoint_has_a_scheme_of_the_web_and_a_host() {
        for good in [
            "http://127.0.0.1:8000",
            "https://vpce-1.example.com/",
            "http://[::1]:1",
            "http://h/p",
        ] {
            assert!(is_endpoint(good), "{good}");
        }
        for bad in [
            "",
            "x",
            "localhost:8000",
            "127.0.0.1",
            "ftp://host",
            "http://",
            "http:// host",
            "://",
            "http:///p",
            "http://[::1]x:7001",
        ] {
            assert!(!is_endpoint(bad), "{bad}");
        }
    }
}
