//! The response of operate and view.

use super::view::{HistoryResponse, ListResponse, ShowResponse};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// What came of pausing or resuming locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModeResponse {
    /// Number of locks that this call has changed.
    pub done: usize,
    /// Number of locks that were as requested.
    pub unchanged: usize,
    /// Locks of a prefix that are frozen, and were left as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub frozen: Vec<String>,
    /// Locks of a prefix that could not be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub failed: Vec<FailedLock>,
    /// With `drain`: whether nothing holds the locks that this call paused, or found paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drained: Option<bool>,
    /// With `drain`: those of them that are held, at most a hundred.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub held: Vec<String>,
    /// With `all`, in the first response: how locks begin that have no record yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_locks: Option<NewLocks>,
    /// The time of the call was over: send the same request with it as `next` for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How locks begin that have no record yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum NewLocks {
    /// They grant permits.
    Open,
    /// They are paused, as all locks are.
    Paused,
}

/// A lock that an act has not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FailedLock {
    /// The lock.
    pub lock: String,
    /// The name of the error.
    pub error: String,
    /// What happened.
    pub message: String,
}

/// What came of an eviction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EvictResponse {
    /// The lock.
    pub lock: String,
    /// The holder or waiter.
    pub holder: String,
    /// What became of it.
    pub status: EvictStatus,
    /// The same for people.
    pub message: String,
}

/// What became of a holder that an operator evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum EvictStatus {
    /// It has no permit any more, and none of its work runs.
    Evicted,
    /// Its heartbeats are refused and its work is being stopped. Its permit is free once the work
    /// has stopped, without another call.
    Stopping,
    /// It has no permit any more, and whether its work has stopped is not known. Only the fencing token keeps that
    /// work from what the lock guards.
    Abandoned,
    /// It has left the queue.
    Dropped,
}

/// What came of ending a rest, or of having a run key forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClearResponse {
    /// The lock.
    pub lock: String,
    /// What became of it.
    pub status: ClearStatus,
    /// The same for people.
    pub message: String,
}

/// What became of a rest or of a run key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ClearStatus {
    /// The rest has ended.
    Cleared,
    /// The lock did not rest.
    Unchanged,
    /// The run key is free.
    Forgotten,
}

/// What came of starting a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StartResponse {
    /// The lock.
    pub lock: String,
    /// Whether a run was started.
    pub status: StartStatus,
    /// The state machine.
    pub state_machine_arn: String,
    /// The execution or the schedule whose input the run has; not for a repetition of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The scheduled time that the input of a schedule is filled in with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_time: Option<String>,
    /// The new execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_arn: Option<String>,
    /// The run key of the run that is started again; of a schedule, the `runKey` of its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The same for people.
    pub message: String,
}

/// Whether a run was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum StartStatus {
    /// With `dryRun`: it would be started.
    WouldStart,
    /// It was started.
    Started,
}

/// The response to an act.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum ActResponse {
    /// One page of locks.
    List(ListResponse),
    /// One lock.
    Show(Box<ShowResponse>),
    /// One page of history.
    History(HistoryResponse),
    /// Locks were closed.
    Pause(ModeResponse),
    /// Locks were opened.
    Resume(ModeResponse),
    /// A holder was evicted.
    Evict(EvictResponse),
    /// A waiter was taken out of the queue.
    DropWaiter(EvictResponse),
    /// The rest after the last grant was ended.
    ClearRest(ClearResponse),
    /// A run key was forgotten.
    Forget(ClearResponse),
    /// A run was started again.
    Start(StartResponse),
    /// The version of the code.
    Version(VersionResponse),
}

/// The version of the code that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct VersionResponse {
    /// The version, as of the packages.
    pub version: &'static str,
}

impl VersionResponse {
    /// The version of this code.
    pub const OWN: Self = Self {
        version: env!("CARGO_PKG_VERSION"),
    };
}
