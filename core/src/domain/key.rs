//! Names of locks, and run keys.

use super::text::{self, Invalid};
use std::fmt;

/// The name of a lock: the partition key of all its items.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockKey(String);

impl LockKey {
    /// Length of the longest name, in bytes. It keeps `lockstep:<lock>:<hash>` below the 255 characters
    /// that ECS allows for the group of a task.
    pub const LENGTH_MAX: usize = 128;
    /// The rule for names.
    pub const RULE: &'static str =
        "1 to 128 characters out of A-Z a-z 0-9 and . _ - / : (no spaces, ASCII only)";

    /// Creates a name that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`], if `name` breaks the rule.
    pub fn new(name: impl Into<String>) -> Result<Self, Invalid> {
        let name = name.into();
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._-/:".contains(&b);
        text::check(&name, Self::LENGTH_MAX, allowed, Self::RULE)?;
        Ok(Self(name))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Idempotency key of a run, such as the ARN of a schedule and the scheduled time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey(String);

impl RunKey {
    /// The rule for run keys.
    pub const RULE: &'static str = "1 to 512 visible ASCII characters without spaces, such as \
                                    <schedule ARN>#<scheduled time>";

    /// Creates a key that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(key: impl Into<String>) -> Result<Self, Invalid> {
        let key = key.into();
        text::check(&key, 512, text::visible, Self::RULE)?;
        Ok(Self(key))
    }

    /// Returns the key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
