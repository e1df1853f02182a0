//! Client of the task protection endpoint of the ECS container agent, over plain HTTP.
//! <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-scale-in-protection-endpoint.html>

use super::parse;
use super::reason::{Reason, Refused};
use super::state::State;
use crate::platform::http::{HttpError, send};
use hyper::Method;
use lockstep::clock::{Clock, SystemClock};
use serde::Serialize;
use std::time::Duration;

/// Timeout of a call. The agent's own timeout for its call to ECS is shorter, after which it returns an
/// error.
const CALL_MAX: Duration = Duration::from_secs(14);

/// The ECS container agent, or a fake of it in tests.
pub(crate) trait Agent: Send + Sync {
    /// Sets protection for this many minutes; `None` clears it.
    ///
    /// # Errors
    /// [`Refused`], if the agent did not do so, or if the outcome is unknown.
    fn put(&self, minutes: Option<u64>) -> impl Future<Output = Result<State, Refused>> + Send;

    /// Reads the current protection.
    ///
    /// # Errors
    /// [`Refused`], if it cannot be read.
    fn get(&self) -> impl Future<Output = Result<State, Refused>> + Send;
}

/// The agent behind `ECS_AGENT_URI`.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ProtectionRequest {
    protection_enabled: bool,
    // The agent rejects unknown fields, and null as the value of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_minutes: Option<u64>,
}

impl Endpoint {
    /// Returns the endpoint below this base URI, which may have a path.
    pub(crate) fn new(agent_uri: &str) -> Self {
        let base = agent_uri.trim().trim_end_matches('/');
        Self {
            uri: format!("{base}/task-protection/v1/state"),
        }
    }

    async fn call(&self, method: Method, body: Vec<u8>) -> Result<State, Refused> {
        let answer = send(method, &self.uri, body, CALL_MAX).await;
        let (status, body) = answer.map_err(|error| {
            let detail = error.to_string();
            match error {
                HttpError::Uri(_) => {
                    let detail = format!("ECS_AGENT_URI gives {}: {detail}", self.uri);
                    Refused::new(Reason::Rejected, detail)
                }
                HttpError::Unreachable(_) => Refused::new(Reason::Unreachable, detail),
                HttpError::NoAnswer(_) => Refused::new(Reason::NoAnswer, detail),
            }
        })?;
        parse::answer(status, &body, SystemClock.now())
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

#[cfg(test)]
mod tests;
