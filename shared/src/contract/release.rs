//! Request and response of release-lock.

use super::failure::{WorkFailure, lenient};
use super::grant::Grant;
use super::options::word;
use super::parse::{InvalidRequest, object, object_or_null, parse};
use super::protect::{Protection, ServiceTask};
use lockstep_core::domain::{
    Command, ExitStep, FencingToken, HolderId, LockKey, Mark, Release, Retention, RunKey,
    RunOutcome, TaskArn,
};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Request of release-lock: give a permit back.
///
/// Unknown fields are ignored, because the state machine that sends the request may be of a later version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReleaseRequest {
    /// The `grant` of acquire-lock's response, unchanged.
    #[serde(deserialize_with = "object")]
    #[cfg_attr(feature = "schema", schemars(with = "Grant"))]
    pub grant: Grant,
    /// How the work ended. The run key stays taken only after a success.
    #[serde(deserialize_with = "word")]
    pub outcome: ReleaseOutcome,
    /// The task of an ECS service whose protection ends. A refusal by ECS does not fail the release.
    #[serde(
        default,
        deserialize_with = "object_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ServiceTask>"))]
    pub protect: Option<ServiceTask>,
    /// Why the work failed, for the message about the run. A value of another shape is ignored.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub failure: Option<WorkFailure>,
}

/// A checked [`ReleaseRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRelease {
    /// The lock.
    pub lock: LockKey,
    /// The holder.
    pub holder: HolderId,
    /// The fencing token of its grant.
    pub token: FencingToken,
    /// The command.
    pub command: Command,
    /// The task whose protection ends, if any.
    pub protect: Option<TaskArn>,
    /// The run key of the grant.
    pub run_key: Option<RunKey>,
    /// Why the work failed, if that was reported.
    pub failure: Option<WorkFailure>,
}

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ReleaseOutcome {
    /// The work succeeded.
    Succeeded,
    /// The work failed.
    Failed,
    /// The work was cut off and may still be stopping. The permit stays held until Lockstep sees that the
    /// work has stopped.
    Stopping,
}

/// Response of release-lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum ReleaseResponse {
    /// The permit is free.
    #[serde(rename_all = "camelCase")]
    Released {
        /// How long the run held its permit.
        held_seconds: f64,
        /// Whether an earlier call freed the permit, so that this call changed nothing.
        already_released: bool,
        /// The result of `protect`. Absent if the request has no `protect`.
        #[serde(skip_serializing_if = "Option::is_none")]
        protection: Option<Protection>,
    },
    /// The work is being stopped. The permit becomes free when the work has stopped.
    #[serde(rename_all = "camelCase")]
    Ending {
        /// The result of `protect`. Absent if the request has no `protect`.
        #[serde(skip_serializing_if = "Option::is_none")]
        protection: Option<Protection>,
    },
    /// The caller no longer held the permit. The run key of a success stays taken, unless another run has
    /// taken it in the meantime.
    #[serde(rename_all = "camelCase")]
    Lost {
        /// The holders of the lock now.
        holders: Vec<String>,
        /// The result of `protect`. Absent if the request has no `protect`.
        #[serde(skip_serializing_if = "Option::is_none")]
        protection: Option<Protection>,
    },
}

impl ReleaseRequest {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// As [`Self::check`], and for a missing or wrongly typed field.
    pub fn read(
        json: serde_json::Value,
        retention: Retention,
    ) -> Result<CheckedRelease, InvalidRequest> {
        parse::<Self>(json)?.check(retention)
    }

    /// Checks every field. The history keeps the run for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedRelease, InvalidRequest> {
        let grant = self.grant.check()?;
        let protect = self.protect.as_ref().map(ServiceTask::check);
        let (holder, token) = (grant.holder, grant.token);
        let release = |outcome| Release {
            holder: holder.clone(),
            token,
            run_key: grant.run_key.clone(),
            expect_every: grant.expect_every,
            outcome,
            retention,
        };
        let command = match self.outcome {
            ReleaseOutcome::Succeeded => release(RunOutcome::Succeeded).into(),
            ReleaseOutcome::Failed => release(RunOutcome::Failed).into(),
            ReleaseOutcome::Stopping => Command::Mark(Mark {
                holder: holder.clone(),
                token,
                seen: None,
                step: ExitStep::Ending,
            }),
        };
        Ok(CheckedRelease {
            lock: grant.lock,
            holder,
            token,
            command,
            protect: protect.transpose()?,
            run_key: grant.run_key,
            failure: self.failure.map(WorkFailure::bounded),
        })
    }
}
