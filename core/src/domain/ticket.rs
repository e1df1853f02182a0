//! The tickets and the short names of waiters.

use super::holder::HolderId;
use super::text::{self, Invalid};
use std::fmt;

/// Number of a waiter in the queue of a lock: the smallest one is next.
///
/// Arrivals count up from 1. A run that replaces the holder goes first in the queue: its ticket
/// counts down from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(i64);

impl Ticket {
    /// The ticket before the first arrival.
    pub const ZERO: Self = Self(0);

    /// A ticket that was issued before.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// The number itself.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    /// The ticket behind this one.
    #[must_use]
    pub const fn behind(self) -> Self {
        Self(self.0 + 1)
    }

    /// The ticket ahead of this one.
    #[must_use]
    pub const fn ahead(self) -> Self {
        Self(self.0 - 1)
    }
}

/// Short name of a waiter: the first 16 hex digits of SHA-256 of the holder.
///
/// A queue of 500 whole ARNs would be half of the largest item that DynamoDB allows. The waiter's
/// side item contains the full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(String);

impl WaiterId {
    /// The rule for short names.
    pub const RULE: &'static str = "16 hex digits";

    /// The short name of `holder`.
    #[must_use]
    pub fn of(holder: &HolderId) -> Self {
        Self(text::hash(holder.as_str(), 8))
    }

    /// Creates a short name that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(id: impl Into<String>) -> Result<Self, Invalid> {
        let id = id.into();
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        text::check(&id, 16, hex, Self::RULE)?;
        match id.len() < 16 {
            true => Err(Invalid { rule: Self::RULE }),
            false => Ok(Self(id)),
        }
    }

    /// The short name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WaiterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_is_known_by_the_start_of_the_hash_of_its_name() {
        let holder = HolderId::new("abc").unwrap();

        // The start of SHA-256("abc"), from FIPS 180-2, appendix B.1.
        assert_eq!(WaiterId::of(&holder).as_str(), "ba7816bf8f01cfea");
    }

    #[test]
    fn a_short_name_has_sixteen_hex_digits() {
        for bad in [
            "",
            "ba7816bf8f01cfe",
            "ba7816bf8f01cfeaa",
            "BA7816BF8F01CFEA",
        ] {
            assert!(WaiterId::new(bad).is_err(), "{bad:?}");
        }
    }
}
