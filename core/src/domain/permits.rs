//! The capacity of a lock.

use super::text::Invalid;

/// Number of runs that may hold a lock at once: a lock with 1 permit is a mutex, a lock with more is a
/// counting semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permits(u8);

impl Permits {
    /// One run at a time.
    pub const ONE: Self = Self(1);
    /// Maximum number of permits of a lock. It bounds the size of the record.
    pub const MAX: u8 = 100;
    /// The rule for capacities.
    pub const RULE: &'static str = "a whole number from 1 to 100";

    /// Creates a capacity that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(count: i64) -> Result<Self, Invalid> {
        match u8::try_from(count) {
            Ok(count) if (1..=Self::MAX).contains(&count) => Ok(Self(count)),
            _ => Err(Invalid { rule: Self::RULE }),
        }
    }

    /// Returns the number of permits.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns whether a permit is free while `held` are held.
    #[must_use]
    pub fn has_room(self, held: usize) -> bool {
        held < usize::from(self.0)
    }
}
