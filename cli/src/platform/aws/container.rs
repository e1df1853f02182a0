//! Checks the variables for the credentials of a container before the SDK uses them: the SDK names none of
//! them in its errors, and panics at a URL without a scheme.
//!
//! <https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html>

use super::endpoints::check_url;
use crate::platform::env::variable;
use hyper::Uri;
use hyper::header::HeaderValue;

/// The variables that name the endpoint. If both are set, the SDK uses the second one.
pub(super) const ENDPOINT: [&str; 2] = [
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
];

/// The variables for the authorization token of the endpoint. If both are set, the file is used.
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";

/// Checks the token and the URL of the endpoint.
///
/// # Errors
/// Names the variable, its value unless that is secret, and the rule.
pub(super) fn check() -> Result<(), String> {
    check_token()?;
    let [full, relative] = ENDPOINT;
    match (variable(relative), variable(full)) {
        (Some(path), _) if !path.starts_with('/') || path.parse::<Uri>().is_err() => Err(format!(
            "{relative} is {path:?}, but must be a path, such as /v2/credentials/id"
        )),
        (None, Some(url)) => check_url(full, &url),
        _ => Ok(()),
    }
}

/// Returns the error for a URL that the SDK refuses because of its host.
pub(super) fn refused() -> String {
    let [full, _] = ENDPOINT;
    let url = variable(full).unwrap_or_default();
    format!(
        "{full} is {url:?}, but must be an https URL, or an http URL of a loopback address or of the agent of ECS or EKS"
    )
}

fn check_token() -> Result<(), String> {
    let (name, token) = match (variable(TOKEN_FILE), variable(TOKEN)) {
        (Some(file), _) => {
            let name = format!("the token in {file} ({TOKEN_FILE})");
            let token = std::fs::read(&file).map_err(|error| {
                format!("{TOKEN_FILE} is {file:?}, but cannot be read: {error}")
            })?;
            (name, token)
        }
        (None, Some(token)) => (TOKEN.to_owned(), token.into_bytes()),
        (None, None) => return Ok(()),
    };
    match HeaderValue::from_bytes(&token) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("{name} must be one line, without a line end")),
    }
}
