//! release-lock: give a permit back.

use super::grant::Grant;
use super::parse::{InvalidRequest, parse};
use super::protect::{Protection, ServiceTask};
use crate::domain::{Command, LockKey, Release, RunOutcome, Seconds};
use crate::tasks::TaskArn;
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
    /// The task of an ECS service that needs no protection any more. It is a wish: a refusal does
    /// not fail the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protect: Option<ServiceTask>,
}

/// A checked [`ReleaseRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRelease {
    /// The lock.
    pub lock: LockKey,
    /// What is asked of the protocol.
    pub release: Release,
    /// The task to protect no longer, if any.
    pub protect: Option<TaskArn>,
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
        /// What came of the wish to protect a task no longer; none where there was no such wish.
        #[serde(skip_serializing_if = "Option::is_none")]
        protection: Option<Protection>,
    },
    /// The permit was not the caller's any more; nothing was changed.
    #[serde(rename_all = "camelCase")]
    Lost {
        /// Who holds the lock now.
        holders: Vec<String>,
        /// What came of the wish to protect a task no longer; none where there was no such wish.
        #[serde(skip_serializing_if = "Option::is_none")]
        protection: Option<Protection>,
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
    ) -> Result<CheckedRelease, InvalidRequest> {
        let request = parse::<Self>(json)?;
        let grant = request.grant.check()?;
        let protect = request.protect.as_ref().map(ServiceTask::check);
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
        Ok(CheckedRelease {
            lock: grant.lock,
            release,
            protect: protect.transpose()?,
        })
    }
}

impl From<Release> for Command {
    fn from(release: Release) -> Self {
        Self::Release(release)
    }
}
