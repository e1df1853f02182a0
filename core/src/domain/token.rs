//! Fencing tokens.

use super::time::Timestamp;
use std::fmt;

/// A number that grows with every grant of a lock: it never repeats and never decreases.
///
/// A grant's token is its time in milliseconds or the last token plus one, whichever is larger: a
/// clock may step back. It is therefore known before the write, keeps growing after an idle record
/// was deleted, and contains the time of the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    /// The token of a lock that was never granted.
    pub const NONE: Self = Self(0);
    /// Largest token: the largest whole number that JSON readers keep exact (2^53 - 1).
    pub const MAX: Self = Self((1 << 53) - 1);

    /// A token that was issued before.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// The token of a grant at `now`, after `last`.
    #[must_use]
    pub fn next(last: Self, now: Timestamp) -> Self {
        Self(now.millis().max(last.0 + 1))
    }

    /// The number itself.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// When the grant was made; too late by as much as a clock had stepped back.
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
