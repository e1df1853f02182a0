//! How often a lock is expected to have a success.

use super::time::{Seconds, Timestamp};

/// How often a run of the lock is expected to succeed (`expectEverySeconds`).
///
/// ```text
///   from                           from + every
///     |------------ every ------------|---------------- missing -----------------|
///   first grant, success, resume    the sweep reports it once                  success
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expectation {
    /// Longest time without a success.
    pub every: Seconds,
    /// When the time began: at the latest success, at the first grant with this expectation, or at the
    /// latest end of a pause.
    pub from: Timestamp,
    /// When the sweep found that no success came in time. The next success, or the end of a pause,
    /// clears it.
    pub missed_at: Option<Timestamp>,
}

impl Expectation {
    /// Creates an expectation whose time begins at `now`.
    #[must_use]
    pub const fn starting(every: Seconds, now: Timestamp) -> Self {
        Self {
            every,
            from: now,
            missed_at: None,
        }
    }

    /// Returns the time from which a success is missing.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.from.plus(self.every)
    }
}
