//! The response of acquire-lock.

use super::grant::Grant;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// Response of acquire-lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum AcquireResponse {
    /// The caller holds a permit from now on.
    Granted(Granted),
    /// The caller already held a permit. The response has the same grant.
    AlreadyHeld(Granted),
    /// No permit, and no wait: the lock is full, paused or at rest (`minIntervalSeconds`), or its queue is
    /// full.
    Skipped(Skipped),
    /// A run with the same run key has succeeded, or is under way.
    Duplicate(Duplicate),
    /// The caller waits in the queue.
    Queued(Queued),
    /// The wait has ended without a permit: at the caller's `waitUntil`, or because an operator removed the
    /// caller from the queue.
    GaveUp(GaveUp),
    /// The work succeeded before its execution was redriven. Nothing is left to do.
    Finished(Finished),
}

/// Response to a caller that holds a permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Granted {
    /// What identifies the grant in later requests. Pass it back unchanged with every heartbeat and with the release.
    pub grant: Grant,
    /// When the lease ends unless it is renewed.
    pub expires_at: String,
    /// Length of the lease. A heartbeat moves the end of the lease to this long after itself.
    pub lease_seconds: u32,
    /// Time between two heartbeats.
    pub heartbeat_seconds: u32,
    /// The ECS group of the run's tasks: `lockstep:<lock>:<holder hash>`. Pass it to RunTask as `Group`.
    pub task_group: String,
    /// With `work.stateMachineArn`: the ARN of the execution that does the work, without the hyphen and the
    /// number of redrives at its end. The name of that execution is the last part of this ARN with
    /// `-0` behind it, and with `-1` after the first redrive. Start it under that name, so that its end frees
    /// the permit. Do not build the name from the lock: characters of a lock are escaped in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_arn: Option<String>,
    /// The grant as environment variables for the container, in the form that the container overrides of
    /// RunTask take, so that a workflow passes them on unchanged.
    pub environment: Vec<EnvironmentVariable>,
    /// The dead holder that acquire-lock freed this permit from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<String>,
}

/// One environment variable, spelled as in `ContainerOverrides[].Environment[]` of ecs:runTask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "PascalCase")]
pub struct EnvironmentVariable {
    /// The name of the variable.
    pub name: String,
    /// The value of the variable.
    pub value: String,
}

/// The oldest grant of a lock that is held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Oldest {
    /// The holder with the oldest grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When that holder got its grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When the lease of that holder ends unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// Response to a caller that gets no permit and does not wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The lock.
    pub lock: String,
    /// The oldest holder, if the lock has one.
    #[serde(flatten)]
    pub oldest: Oldest,
    /// Number of holders.
    pub held: usize,
    /// Number of waiters.
    pub queue_length: usize,
    /// Whether a caller that waits gets a permit when a holder has stopped: more holders are ending than runs
    /// wait, or an ending holder may be an earlier attempt at the caller's own run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub ending: bool,
    /// Whether an operator has paused the lock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub paused: bool,
    /// Earliest time of the next grant, if the lock is free but at rest (`minIntervalSeconds`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// The reason in a sentence. At a full lock also when the permit becomes free, and the command that stops
    /// the oldest holder, if it is an execution or a task.
    pub message: String,
}

/// Response to a caller that waits in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Queued {
    /// The lock.
    pub lock: String,
    /// The caller's place in the queue. The first waiter has 1.
    pub position: usize,
    /// Number of waiters, including the caller.
    pub queue_length: usize,
    /// The oldest holder, if the lock has one.
    #[serde(flatten)]
    pub oldest: Oldest,
    /// The response in a sentence.
    pub message: String,
}

/// Response to a caller whose wait ended without a permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GaveUp {
    /// The lock.
    pub lock: String,
    /// Number of waiters that remain. 0, without a count, if another call removed the caller from the queue.
    pub queue_length: usize,
    /// The oldest holder, if the lock has one.
    #[serde(flatten)]
    pub oldest: Oldest,
    /// The response in a sentence.
    pub message: String,
}

/// Response to a redriven execution whose work succeeded before the redrive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The lock.
    pub lock: String,
    /// The response in a sentence.
    pub message: String,
}

/// Response to a caller whose run key another run has taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Duplicate {
    /// The lock.
    pub lock: String,
    /// The run key.
    pub run_key: String,
    /// The holder of the run that has taken the run key.
    pub holder: String,
    /// The fencing token of that run.
    pub token: i64,
    /// When that run got its grant.
    pub since: String,
    /// When that run succeeded. Absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The response in a sentence.
    pub message: String,
}
