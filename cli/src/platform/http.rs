//! HTTP client for the endpoints of the ECS container agent. These are on the same machine, so it has no TLS,
//! follows no redirects and keeps no connections.

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

/// Largest response body, in bytes.
pub(crate) const BODY_MAX: usize = 64 * 1024;

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpError {
    /// The URI cannot be used. Nothing was sent.
    #[error("{0}")]
    Uri(String),
    /// No connection could be made. Nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// No complete response came. Whether the request was carried out is unknown.
    #[error("{0}")]
    NoAnswer(String),
}

/// Sends a request with a JSON body, which may be empty. Returns the status and the body of the response.
///
/// # Errors
/// [`HttpError`], if there is no complete response. A response with an error status is not an error here.
pub(crate) async fn send(
    method: Method,
    uri: &str,
    body: Vec<u8>,
    within: Duration,
) -> Result<(u16, Bytes), HttpError> {
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("content-type", "application/json")
        .body(Full::from(body))
        .map_err(|error| HttpError::Uri(error.to_string()))?;
    match timeout(within, exchange(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            let seconds = within.as_secs();
            Err(HttpError::NoAnswer(format!("nothing within {seconds} s")))
        }
    }
}

async fn exchange(request: Request<Full<Bytes>>) -> Result<(u16, Bytes), HttpError> {
    // Requests are seconds or minutes apart, so the agent would have closed a kept connection by then.
    let client = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .build_http();
    let response = client.request(request).await.map_err(|error| {
        let text = innermost(&error);
        if error.is_connect() {
            HttpError::Unreachable(text)
        } else {
            HttpError::NoAnswer(text)
        }
    })?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), BODY_MAX).collect().await;
    let body = body.map_err(|error| HttpError::NoAnswer(innermost(&*error)))?;
    Ok((status, body.to_bytes()))
}

/// Returns the text of the innermost source of an error, which names the cause.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
