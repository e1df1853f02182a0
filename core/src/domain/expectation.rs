//! The expectation that a lock has a success in time.

use super::time::{Seconds, Timestamp};

/// How often a run of the lock is expected to succeed (`expectEverySeconds`).
///
/// ```text
///   from                           from + every
///     |------------ every ------------|---------------- missing -----------------|
///   first grant, success, resume    the sweep notes it once                    success
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expectation {
    /// Longest time without a success.
    pub every: Seconds,
    /// When the time began: the latest success, the first grant with this expectation, or the latest
    /// resume of the lock.
    pub from: Timestamp,
    /// When the sweep found that no success came in time. The next success clears it.
    pub missed_at: Option<Timestamp>,
}

impl Expectation {
    /// An expectation whose time begins at `now`.
    #[must_use]
    pub const fn starting(every: Seconds, now: Timestamp) -> Self {
        Self {
            every,
            from: now,
            missed_at: None,
        }
    }

    /// From when on a success is missing.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.from.plus(self.every)
    }
}
