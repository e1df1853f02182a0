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

/// Give a permit back.
///
/// A machine makes this request, of this version or of the next: fields that are not known are
/// ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReleaseRequest {
    /// The receipt of the grant.
    #[serde(deserialize_with = "object")]
    #[cfg_attr(feature = "schema", schemars(with = "Grant"))]
    pub grant: Grant,
    /// How the work ended. Only a success keeps the run key taken.
    #[serde(deserialize_with = "word")]
    pub outcome: ReleaseOutcome,
    /// The task of an ECS service that needs no protection any more. It is a wish: a refusal does
    /// not fail the release.
    #[serde(
        default,
        deserialize_with = "object_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ServiceTask>"))]
    pub protect: Option<ServiceTask>,
    /// Why the work failed, for the message on the run. A value that is no failure is ignored.
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
    /// The task to protect no longer, if any.
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
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
    /// It is cut off and may still be stopping: the lock stays held until its tasks are seen to have
    /// stopped.
    Stopping,
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
    /// The work is being stopped; the permit is free when that is done.
    #[serde(rename_all = "camelCase")]
    Ending {
        /// What came of the wish to protect a task no longer; none where there was no such wish.
        #[serde(skip_serializing_if = "Option::is_none")]
        protection: Option<Protection>,
    },
    /// The permit was not the caller's any more. A success keeps the run key taken all the same, if
    /// no other run has taken it meanwhile.
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
