//! The responses of operate and view.

use super::view::{HistoryResponse, ListResponse, ShowResponse};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// The response to pausing or resuming locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModeResponse {
    /// Number of locks that this call has changed.
    pub done: usize,
    /// Number of locks that were as requested before this call.
    pub unchanged: usize,
    /// Locks of a prefix that are frozen, and were not changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub frozen: Vec<String>,
    /// Locks of a prefix that could not be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub failed: Vec<FailedLock>,
    /// With `drain`: whether no run holds any of the locks that this call paused, or found paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drained: Option<bool>,
    /// With `drain`: the paused locks that are still held, at most 100.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(default))]
    pub held: Vec<String>,
    /// With `all`, in the first response: the state of locks that have no record yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_locks: Option<NewLocks>,
    /// Present if the time limit of the call ended before all locks were changed. Send the same request with
    /// this value as `next` for the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The state of locks that have no record yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum NewLocks {
    /// They grant permits.
    Open,
    /// They are paused, because all locks were paused.
    Paused,
}

/// A lock that could not be changed.
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

/// The response to an eviction, or to the removal of a waiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EvictResponse {
    /// The lock.
    pub lock: String,
    /// The holder or waiter.
    pub holder: String,
    /// What happened to the holder or waiter.
    pub status: EvictStatus,
    /// The status as a sentence.
    pub message: String,
}

/// What happened to a holder or a waiter that an operator evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum EvictStatus {
    /// The holder no longer has a permit, and none of its work is known to be running.
    Evicted,
    /// The heartbeats of the holder are refused, and its work is being stopped. The permit is free once the
    /// work has stopped, without another call.
    Stopping,
    /// The holder no longer has a permit, but its work may still be running. Only the fencing token protects
    /// what the lock guards from that work.
    Abandoned,
    /// The waiter was removed from the queue.
    Dropped,
}

/// The response to ending a rest, or to forgetting a run key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClearResponse {
    /// The lock.
    pub lock: String,
    /// What happened to the rest or to the run key.
    pub status: ClearStatus,
    /// The status as a sentence.
    pub message: String,
}

/// What happened to a rest or to a run key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ClearStatus {
    /// The rest has ended.
    Cleared,
    /// The lock was not resting.
    Unchanged,
    /// The run key is free.
    Forgotten,
}

/// The response to starting a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StartResponse {
    /// The lock.
    pub lock: String,
    /// Whether a run was started.
    pub status: StartStatus,
    /// The ARN of the state machine.
    pub state_machine_arn: String,
    /// The execution or the schedule that the input comes from; absent in the response to a repeated request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The scheduled time that is filled into the input of a schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_time: Option<String>,
    /// The ARN of the new execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_arn: Option<String>,
    /// The run key of the run that is started again, or the `runKey` in the input of the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The response as a sentence.
    pub message: String,
}

/// Whether a run was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum StartStatus {
    /// With `dryRun`: a run would be started.
    WouldStart,
    /// A run was started, by this request or by an earlier one with the same id.
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
    /// A holder was evicted, or a waiter was removed from the queue.
    Evict(EvictResponse),
    /// A waiter was removed from the queue.
    DropWaiter(EvictResponse),
    /// The rest after the last grant was ended.
    ClearRest(ClearResponse),
    /// A run key was forgotten.
    Forget(ClearResponse),
    /// A run was started again, or would be.
    Start(StartResponse),
    /// The version of the function.
    Version(VersionResponse),
}

/// The version of the function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct VersionResponse {
    /// The version of its Cargo package, such as `1.2.0`.
    pub version: &'static str,
}

impl VersionResponse {
    /// The version of this code.
    pub const OWN: Self = Self {
        version: env!("CARGO_PKG_VERSION"),
    };
}
