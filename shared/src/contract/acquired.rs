//! The response of acquire-lock.

use super::grant::Grant;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// What came of an acquire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum AcquireResponse {
    /// The caller holds a permit from now on.
    Granted(Granted),
    /// The caller held a permit before it asked: the same grant again.
    AlreadyHeld(Granted),
    /// The lock is full, or its last grant is too recent.
    Skipped(Skipped),
    /// The run key has had its success, or runs right now.
    Duplicate(Duplicate),
    /// The caller has a place in the queue.
    Queued(Queued),
    /// The caller waited until its `waitUntil` and has left the queue.
    GaveUp(GaveUp),
    /// The work of a redriven execution had succeeded: nothing is left to do.
    Finished(Finished),
}

/// A permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Granted {
    /// The receipt: pass it back with every heartbeat and with the release.
    pub grant: Grant,
    /// When the lease ends unless it is renewed.
    pub expires_at: String,
    /// Length of the lease: the time from a heartbeat to the end that it sets.
    pub lease_seconds: u32,
    /// Time between heartbeats.
    pub heartbeat_seconds: u32,
    /// The ECS group that the run's tasks belong to: `lockstep:<lock>:<holder hash>`.
    pub task_group: String,
    /// With `work.stateMachineArn`: the ARN of the execution that does the work, up to the hyphen and
    /// the number of redrives that follow it, as in `lockstep-<lock>-<token>` and `-0`. Start it under
    /// this name, so that its end frees the permit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_arn: Option<String>,
    /// The same for the container: environment variables in the form that ECS container overrides
    /// take, so that a workflow passes them on as they are.
    pub environment: Vec<EnvironmentVariable>,
    /// The dead holder whose permit this was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<String>,
}

/// One environment variable, spelled as in `ContainerOverrides[].Environment[]` of ecs:runTask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "PascalCase")]
pub struct EnvironmentVariable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The oldest grant of a lock that is held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Oldest {
    /// Who holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When that holder got its grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When its lease ends unless it is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// No permit, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The lock.
    pub lock: String,
    /// The oldest holder, if the lock has one.
    #[serde(flatten)]
    pub oldest: Oldest,
    /// How many hold a permit.
    pub held: usize,
    /// How many wait for one.
    pub queue_length: usize,
    /// Whether a permit is about to become free for a caller that waits a while: a holder is being stopped that no
    /// waiter waits for, or that may be an earlier attempt at the caller's own run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub ending: bool,
    /// Whether an operator has paused the lock.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub paused: bool,
    /// Earliest time of the next grant, when the lock is free but rests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// The same in a sentence, and how to clear it.
    pub message: String,
}

/// A place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Queued {
    /// The lock.
    pub lock: String,
    /// From 1: how many turns it takes.
    pub position: usize,
    /// How many wait, the caller counted.
    pub queue_length: usize,
    /// The oldest holder, if the lock has one.
    #[serde(flatten)]
    pub oldest: Oldest,
    /// The same in a sentence.
    pub message: String,
}

/// No permit after the longest time that the caller wanted to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GaveUp {
    /// The lock.
    pub lock: String,
    /// How many wait still.
    pub queue_length: usize,
    /// The oldest holder, if the lock has one.
    #[serde(flatten)]
    pub oldest: Oldest,
    /// The same in a sentence.
    pub message: String,
}

/// A run whose work had succeeded before its execution was redriven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The lock.
    pub lock: String,
    /// The same in a sentence.
    pub message: String,
}

/// The run of a key that is taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Duplicate {
    /// The lock.
    pub lock: String,
    /// The run key.
    pub run_key: String,
    /// Who has run it, or runs it.
    pub holder: String,
    /// The fencing token of that run.
    pub token: i64,
    /// When that run got its grant.
    pub since: String,
    /// When it succeeded; none while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The same in a sentence.
    pub message: String,
}
