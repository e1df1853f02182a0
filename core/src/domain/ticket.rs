//! The tickets and the short names of waiters.

use super::holder::HolderId;
use super::text::{self, Invalid};
use std::fmt;

/// The number that orders the waiters of a lock. The waiter with the smallest ticket is next.
///
/// The tickets of waiters that join the end of the queue count up from 1. A run that replaces a holder
/// joins the front of the queue: such tickets count down from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(i64);

impl Ticket {
    /// The ticket before the first waiter joins.
    pub const ZERO: Self = Self(0);

    /// Creates a ticket from the number in a record.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Returns the number itself.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }

    /// Returns the ticket of the next waiter at the end of the queue.
    #[must_use]
    pub const fn behind(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the ticket of the next waiter at the front of the queue.
    #[must_use]
    pub const fn ahead(self) -> Self {
        Self(self.0 - 1)
    }
}

/// The short name of a waiter: the first 16 hex digits of SHA-256 of the holder's name.
///
/// A queue of 500 full ARNs would take half of the 400 KB that DynamoDB allows for an item. The waiter's
/// side item contains the full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(String);

impl WaiterId {
    /// The rule for short names.
    pub const RULE: &'static str = "16 hex digits";

    /// Returns the short name of `holder`.
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

    /// Returns the short name as text.
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
