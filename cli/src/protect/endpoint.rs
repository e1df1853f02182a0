//! Client of the ECS agent's endpoint for task protection, over plain HTTP.
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>

use super::parse;
use super::reason::{Reason, Refused};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use lockstep::clock::{Clock, SystemClock};
use serde::Serialize;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

/// Timeout of a call. The agent's own timeout for ECS is shorter, and returns an error.
const CALL_MAX: Duration = Duration::from_secs(14);
/// Largest response body, in bytes.
const ANSWER_MAX: usize = 64 * 1024;

/// The protection of a task in ECS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Whether it is protected.
    pub(crate) enabled: bool,
    /// Remaining time of protection, by the clock of this machine; 0 for a date in the past.
    pub(crate) left: Option<Duration>,
    /// When protection ends, in the format of ECS.
    pub(crate) until: Option<String>,
}

/// The ECS agent, or a fake of it in tests.
pub(crate) trait Agent: Send + Sync {
    /// Sets protection for so many minutes, or clears it.
    ///
    /// # Errors
    /// [`Refused`], if it was not done, or if the outcome is unknown.
    fn put(&self, minutes: Option<u64>) -> impl Future<Output = Result<State, Refused>> + Send;

    /// The current protection.
    ///
    /// # Errors
    /// [`Refused`], if it cannot be read.
    fn get(&self) -> impl Future<Output = Result<State, Refused>> + Send;
}

/// The agent behind `ECS_AGENT_URI`.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    uri: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ProtectionRequest {
    protection_enabled: bool,
    // The agent rejects unknown fields, and null here.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_minutes: Option<u64>,
}

impl Endpoint {
    /// The endpoint under this base, which may have a path.
    pub(crate) fn new(agent_uri: &str) -> Self {
        let base = agent_uri.trim().trim_end_matches('/');
        // Calls are a minute or more apart: an idle connection would be closed by then.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build_http();
        Self {
            uri: format!("{base}/task-protection/v1/state"),
            client,
        }
    }

    async fn call(&self, method: Method, body: Vec<u8>) -> Result<State, Refused> {
        let uri: Uri = self.uri.parse().map_err(|error| self.bad_uri(&error))?;
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("content-type", "application/json")
            .body(Full::from(body))
            .map_err(|error| self.bad_uri(&error))?;
        let Ok(answer) = timeout(CALL_MAX, self.exchange(request)).await else {
            let detail = format!("nothing within {} s", CALL_MAX.as_secs());
            return Err(Refused::new(Reason::NoAnswer, detail));
        };
        let (status, body) = answer?;
        parse::answer(status, &body, SystemClock.now())
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<(u16, Bytes), Refused> {
        let response = self.client.request(request).await.map_err(|error| {
            let connected = !error.is_connect();
            let reason = if connected {
                Reason::NoAnswer
            } else {
                Reason::Unreachable
            };
            Refused::new(reason, innermost(&error))
        })?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), ANSWER_MAX)
            .collect()
            .await;
        Ok((
            status,
            body.map_err(|error| Refused::new(Reason::NoAnswer, innermost(&*error)))?
                .to_bytes(),
        ))
    }

    fn bad_uri(&self, error: &dyn Error) -> Refused {
        Refused::new(
            Reason::Rejected,
            format!("ECS_AGENT_URI gives {}: {error}", self.uri),
        )
    }
}

impl Agent for Endpoint {
    async fn put(&self, minutes: Option<u64>) -> Result<State, Refused> {
        let request = ProtectionRequest {
            protection_enabled: minutes.is_some(),
            expires_in_minutes: minutes,
        };
        let body = serde_json::to_vec(&request)
            .map_err(|error| Refused::new(Reason::Rejected, error.to_string()))?;
        let state = self.call(Method::PUT, body).await?;
        if state.enabled == request.protection_enabled {
            return Ok(state);
        }
        let detail = format!("the answer says that protection is {}", state.enabled);
        Err(Refused::new(Reason::Unreadable, detail))
    }

    async fn get(&self) -> Result<State, Refused> {
        self.call(Method::GET, Vec::new()).await
    }
}

/// The innermost source of an error, which names the cause.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests;
