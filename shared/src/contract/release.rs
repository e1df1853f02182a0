//! release-lock: give a permit back.

use super::grant::Grant;
use super::parse::{InvalidRequest, parse};
use crate::domain::{Command, LockKey, Release, RunOutcome, Seconds};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Give a permit back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseRequest {
    /// The receipt of the grant.
    pub grant: Grant,
    /// How the work ended. Only a success keeps the run key taken.
    pub outcome: ReleaseOutcome,
}

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ReleaseOutcome {
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
}

/// What came of a release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum ReleaseResponse {
    /// The permit is free.
    #[serde(rename_all = "camelCase")]
    Released {
        /// How long the lock was held.
        held_seconds: f64,
        /// An earlier call had freed it; this one changed nothing.
        already_released: bool,
    },
    /// The permit was not the caller's any more; nothing was changed.
    #[serde(rename_all = "camelCase")]
    Lost {
        /// Who holds the lock now.
        holders: Vec<String>,
    },
}

impl ReleaseRequest {
    /// Reads and checks a request. The run is remembered for `retention`.
    ///
    /// # Errors
    /// [`InvalidRequest`].
    pub fn read(
        json: serde_json::Value,
        retention: Seconds,
    ) -> Result<(LockKey, Release), InvalidRequest> {
        let request = parse::<Self>(json)?;
        let grant = request.grant.check()?;
        let release = Release {
            holder: grant.holder,
            token: grant.token,
            run_key: grant.run_key,
            outcome: match request.outcome {
                ReleaseOutcome::Succeeded => RunOutcome::Succeeded,
                ReleaseOutcome::Failed => RunOutcome::Failed,
            },
            retention,
        };
        Ok((grant.lock, release))
    }
}

impl From<Release> for Command {
    fn from(release: Release) -> Self {
        Self::Release(release)
    }
}
