//! How the latest runs of a lock ended, in responses.

use lockstep_core::domain::{LockRecord, Timestamp, rfc3339};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// How the latest runs of a lock ended, and whether a success is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OutcomesView {
    /// When a run last succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_success_at: Option<String>,
    /// When a run last failed, was found dead, or was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure_at: Option<String>,
    /// How often a run is expected to succeed, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_every_seconds: Option<u32>,
    /// The time by which the next success is expected; absent while the lock is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_by: Option<String>,
    /// The time since which a success is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_since: Option<String>,
}

impl OutcomesView {
    /// Returns the outcomes in `record` at `now`.
    #[must_use]
    pub fn of(record: &LockRecord, now: Timestamp) -> Self {
        let expectation = record.expectation;
        let noted = expectation.filter(|expected| expected.missed_at.is_some());
        let due = record
            .success_due()
            .or(noted.map(|expected| expected.deadline()));
        let missing = due.filter(|due| noted.is_some() || *due <= now);
        Self {
            last_success_at: record.last_success.map(rfc3339),
            last_failure_at: record.last_failure.map(rfc3339),
            expect_every_seconds: expectation.map(|expected| expected.every.get()),
            expected_by: due.filter(|_| missing.is_none()).map(rfc3339),
            missing_since: missing.map(rfc3339),
        }
    }
}
