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
    /// Have the oldest holder stopped, and go first in the queue.
    Replace,
}

/// What a run does that would wait, when as many wait as the queue takes.
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
    /// Wait at the end of the queue until the lock is resumed and the turn comes.
    Wait,
    /// Fail with `Lockstep.LockPaused`.
    Fail,
}

/// What becomes of the runs that are skipped while the lock is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CatchUp {
    /// They are left out.
    #[default]
    None,
    /// One of them, the first, waits for the resume and runs then; the others are left out.
    Once,
}

/// How an execution ends that does not get the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OnSkip {
    /// It succeeds, with the answer of acquire-lock as its output.
    #[default]
    Succeed,
    /// It fails with `Lockstep.LockHeld`.
    Fail,
}

/// What happens to a run that stops renewing, overruns or hangs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Stale {
    /// It is stopped; the permit is free once its work is seen to have stopped.
    #[default]
    Terminate,
    /// It loses the permit and runs on.
    Yield,
    /// The lock is frozen until an operator resumes it.
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
