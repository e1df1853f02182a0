//! heartbeat: move the end of a lease forward.

use super::grant::Grant;
use super::parse::{InvalidRequest, parse};
use crate::domain::{Command, LockKey, Renew, TaskToken};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Move the end of a lease forward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeartbeatRequest {
    /// The receipt of the grant.
    pub grant: Grant,
    /// The task token of the state that keeps the lease; release ends that state with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 2048)))]
    pub task_token: Option<String>,
}

/// What came of a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum HeartbeatResponse {
    /// The lease has a new end.
    #[serde(rename_all = "camelCase")]
    Renewed {
        /// The new end.
        expires_at: String,
    },
    /// The run was released before this heartbeat: nothing is left to renew.
    Ended,
}

impl HeartbeatRequest {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// [`InvalidRequest`]. It never repeats a task token.
    pub fn read(json: serde_json::Value) -> Result<(LockKey, Renew), InvalidRequest> {
        let request = parse::<Self>(json)?;
        let grant = request.grant.check()?;
        let hidden = |_| InvalidRequest::new("taskToken", "(hidden)", TaskToken::RULE);
        let renew = Renew {
            holder: grant.holder,
            token: grant.token,
            run_key: grant.run_key,
            beat: request
                .task_token
                .map(TaskToken::new)
                .transpose()
                .map_err(hidden)?,
        };
        Ok((grant.lock, renew))
    }
}

impl From<Renew> for Command {
    fn from(renew: Renew) -> Self {
        Self::Renew(renew)
    }
}
