//! The policies that a run chooses.

use lockstep_core::domain::StalePolicy;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run does when it finds the lock full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Overlap {
    /// Answer `skipped`.
    #[default]
    Skip,
    /// Fail with `Lockstep.LockHeld`.
    Fail,
    /// Wait at the end of the queue.
    Queue,
    /// Have the oldest holder stopped, and wait at the front of the queue. A run replaces neither its own
    /// execution nor the one that started it, and no holder of a lock that is paused or at rest.
    Replace,
}

/// What a run that would wait does when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum WhenQueueFull {
    /// Fail with `Lockstep.QueueFull`.
    #[default]
    Fail,
    /// Answer `skipped`.
    Skip,
}

/// What a run does when it finds the lock paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OnPaused {
    /// Answer `skipped` with `paused`.
    Skip,
    /// Wait at the end of the queue, and run after the lock is resumed.
    Wait,
    /// Fail with `Lockstep.LockPaused`.
    Fail,
}

/// Catch-up policy for the runs that are skipped while the lock is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CatchUp {
    /// None of them runs.
    #[default]
    None,
    /// The first of them waits and runs after the lock is resumed. The others do not run. Given only with
    /// `onPaused` `skip` or `wait`.
    Once,
}

/// How an execution that gets no permit ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OnSkip {
    /// The execution succeeds, with the answer of acquire-lock as its output.
    #[default]
    Succeed,
    /// The execution fails with `Lockstep.LockHeld`.
    Fail,
}

/// What happens to a stale run: one that stops renewing its lease, or exceeds `maxRunSeconds` or
/// `noProgressSeconds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Stale {
    /// The run is stopped, with its task or its workflow. Its permit becomes free when Lockstep sees that
    /// its work has stopped.
    #[default]
    Terminate,
    /// The run loses its permit and runs on.
    Yield,
    /// The run goes on, and the lock is frozen until an operator resumes it.
    Hold,
}

impl From<Stale> for StalePolicy {
    fn from(stale: Stale) -> Self {
        match stale {
            Stale::Terminate => Self::Terminate,
            Stale::Yield => Self::Yield,
            Stale::Hold => Self::Hold,
        }
    }
}
