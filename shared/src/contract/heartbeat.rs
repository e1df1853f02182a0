//! Request and response of heartbeat.

use super::grant::Grant;
use super::options::{LockOptions, heartbeat_time};
use super::parse::{InvalidRequest, object, object_or_null, parse, quoted, redrives};
use super::protect::{Protection, ServiceTask};
use lockstep_core::domain::{LockKey, Pace, Renew, Retention, Seconds, TaskArn, TaskToken};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Request of heartbeat: renew a lease.
///
/// Unknown fields are ignored, because the state machine that sends the request may be of a later version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatRequest {
    /// The `grant` of acquire-lock's response, unchanged.
    #[serde(deserialize_with = "object")]
    #[cfg_attr(feature = "schema", schemars(with = "Grant"))]
    pub grant: Grant,
    /// The task token of the state that keeps the lease; release ends that state with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 2048)))]
    pub task_token: Option<String>,
    /// How far the work has come, as any text. A text that differs from the last one counts as progress
    /// (`noProgressSeconds`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256)))]
    pub progress: Option<String>,
    /// Length of the lease from this heartbeat on. Given only together with `heartbeatSeconds`. By default
    /// the length does not change. A workflow sends a greater length the older its run is. So a heartbeat
    /// that would move the end of the lease back is out of date: a later heartbeat has renewed the lease
    /// already. It writes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = LockOptions::LEASE.least, max = LockOptions::LEASE.most)))]
    pub lease_seconds: Option<i64>,
    /// Time from this heartbeat to the next, at most `leaseSeconds` - 2. Given only together with
    /// `leaseSeconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = LockOptions::HEARTBEAT.least, max = LockOptions::HEARTBEAT.most)))]
    pub heartbeat_seconds: Option<i64>,
    /// How often the execution has been redriven: `Execution.RedriveCount` of the Context object. A higher
    /// count than that of the lease shows that the execution was redriven after its end, and runs again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub redrive_count: Option<i64>,
    /// The task of an ECS service to protect until the lease ends, rounded up to whole minutes. A refusal by
    /// ECS does not fail the heartbeat.
    #[serde(
        default,
        deserialize_with = "object_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ServiceTask>"))]
    pub protect: Option<ServiceTask>,
}

/// A checked [`HeartbeatRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedHeartbeat {
    /// The lock.
    pub lock: LockKey,
    /// The command.
    pub renew: Renew,
    /// The task to protect, if any.
    pub protect: Option<TaskArn>,
}

/// The rule for `progress`.
const PROGRESS_RULE: &str = "1 to 256 visible ASCII characters or spaces";

/// Response of heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum HeartbeatResponse {
    /// The lease has a new end.
    #[serde(rename_all = "camelCase")]
    Renewed {
        /// The new end of the lease.
        expires_at: String,
        /// The result of `protect`. Absent if the request has no `protect`.
        #[serde(skip_serializing_if = "Option::is_none")]
        protection: Option<Protection>,
    },
    /// No lease is left to renew: the run was released, or it lost its permit under the stale policy
    /// `yield` and continues without it.
    Ended,
}

impl HeartbeatRequest {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// As [`Self::check`], and for a missing or wrongly typed field.
    pub fn read(
        json: serde_json::Value,
        retention: Retention,
    ) -> Result<CheckedHeartbeat, InvalidRequest> {
        parse::<Self>(json)?.check(retention)
    }

    /// Checks every field. A heartbeat of a stale run under `yield` takes the permit from the run, and records
    /// this end of its grant in the history, which keeps the entry for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule. The error never contains a task token.
    pub fn check(self, retention: Retention) -> Result<CheckedHeartbeat, InvalidRequest> {
        let grant = self.grant.check()?;
        let hidden = |_| InvalidRequest::new("taskToken", "(hidden)", TaskToken::RULE);
        if let Some(progress) = &self.progress {
            check_progress(progress)?;
        }
        let protect = self.protect.as_ref().map(ServiceTask::check);
        let pace = pace(self.lease_seconds, self.heartbeat_seconds)?;
        let count = self.redrive_count;
        let redrives = count.map(|count| redrives("redriveCount", count, 0));
        let renew = Renew {
            redrives: redrives.transpose()?,
            resumes: false,
            holder: grant.holder,
            token: grant.token,
            pace,
            progress: self.progress,
            no_progress: grant.no_progress,
            retention,
            beat: self
                .task_token
                .map(TaskToken::new)
                .transpose()
                .map_err(hidden)?,
        };
        Ok(CheckedHeartbeat {
            lock: grant.lock,
            renew,
            protect: protect.transpose()?,
        })
    }
}

/// Checks that both times are given, or neither.
fn pace(lease: Option<i64>, heartbeat: Option<i64>) -> Result<Option<Pace>, InvalidRequest> {
    let given = |field, other, value: i64| {
        InvalidRequest::new(field, value, format!("given only together with {other}"))
    };
    match (lease, heartbeat) {
        (Some(lease), Some(heartbeat)) => {
            let length = Seconds::of(LockOptions::LEASE.check("leaseSeconds", lease)?);
            let heartbeat = heartbeat_time(heartbeat, length)?;
            Ok(Some(Pace { length, heartbeat }))
        }
        (None, None) => Ok(None),
        (Some(lease), None) => Err(given("leaseSeconds", "heartbeatSeconds", lease)),
        (None, Some(time)) => Err(given("heartbeatSeconds", "leaseSeconds", time)),
    }
}

fn check_progress(progress: &str) -> Result<(), InvalidRequest> {
    let visible = progress.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if visible && (1..=256).contains(&progress.len()) {
        return Ok(());
    }
    Err(InvalidRequest::new(
        "progress",
        quoted(progress),
        PROGRESS_RULE,
    ))
}
