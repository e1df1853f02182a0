//! Fencing tokens.

use super::time::Timestamp;
use std::fmt;

/// A number that grows with every grant of a lock. It never repeats and never decreases.
///
/// The token of a grant is the time of the grant in milliseconds, or the last token plus one if that is
/// larger because a clock has stepped back. So the token
///
/// - is known before the write,
/// - keeps growing after an idle record was deleted, and
/// - contains the time of the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    /// The token before the first grant of a lock.
    pub const NONE: Self = Self(0);
    /// Largest token, 2^53 - 1: the largest whole number that JSON parsers read without loss.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// Creates a token from the number of a grant.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// Returns the token of a grant at `now` that follows the token `last`.
    #[must_use]
    pub fn next(last: Self, now: Timestamp) -> Self {
        Self(now.millis().max(last.0 + 1))
    }

    /// Returns the number itself.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Returns when the grant was made. If the clock had stepped back, the result is later by that much.
    #[must_use]
    pub const fn granted_at(self) -> Timestamp {
        Timestamp::from_millis(self.0)
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
