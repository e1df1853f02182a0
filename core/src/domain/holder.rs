//! Holders, and the task tokens of waiting states.

use super::text::{self, Invalid};
use std::fmt;

/// The name of a holder: an execution's ARN, with a `#suffix` if one execution holds several
/// permits; a task's `<task ARN>#<runtime id>/<job>`; or a name that the caller chooses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderId(String);

impl HolderId {
    /// The rule for holders.
    pub const RULE: &'static str =
        "1 to 512 visible ASCII characters without spaces, such as an execution ARN";

    /// Creates a holder that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(id: impl Into<String>) -> Result<Self, Invalid> {
        let id = id.into();
        text::check(&id, 512, text::visible, Self::RULE)?;
        Ok(Self(id))
    }

    /// Returns the holder as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HolderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The Step Functions task token of a waiting state, which SendTaskSuccess ends.
///
/// The token is a secret: `Debug` does not show it, and records contain it only sealed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskToken(String);

impl TaskToken {
    /// The rule for task tokens. 2048 is the API's maximum
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_SendTaskSuccess.html>).
    pub const RULE: &'static str = "1 to 2048 visible ASCII characters, as Step Functions gives it";

    /// Prefix of a sealed token. No other token has it, because task tokens are base64.
    const SEALED: &'static str = "sealed:";

    /// Longest text of a token in a record, in characters: 2048 bytes sealed, in base64.
    const OF_RECORD_MAX: usize = 3072;

    /// Creates a token that follows [`Self::RULE`] and is not sealed.
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(token: impl Into<String>) -> Result<Self, Invalid> {
        let token = token.into();
        text::check(&token, 2048, text::visible, Self::RULE)?;
        // Only a record contains a sealed token. A caller that sends one has copied it from there.
        match token.starts_with(Self::SEALED) {
            true => Err(Invalid { rule: Self::RULE }),
            false => Ok(Self(token)),
        }
    }

    /// Creates a token from the sealed `text`, without the prefix.
    #[must_use]
    pub fn sealed(text: &str) -> Self {
        Self(format!("{}{text}", Self::SEALED))
    }

    /// Creates a token from the text in a record: sealed, or as Step Functions issued it.
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn of_record(token: impl Into<String>) -> Result<Self, Invalid> {
        let token = token.into();
        text::check(&token, Self::OF_RECORD_MAX, text::visible, Self::RULE)?;
        Ok(Self(token))
    }

    /// Returns the sealed text, without its prefix; `None` if the token is not sealed.
    #[must_use]
    pub fn as_sealed(&self) -> Option<&str> {
        self.0.strip_prefix(Self::SEALED)
    }

    /// Returns the text of the token, for the AWS call that sends it and for the item that stores it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TaskToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskToken(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_has_no_spaces_and_no_control_characters() {
        for bad in ["", "a b", "a\nb", "ä", &"x".repeat(513)] {
            assert!(HolderId::new(bad).is_err(), "{bad:?}");
        }
        assert!(HolderId::new("arn:aws:states:eu-west-1:1:execution:m:x#2").is_ok());
    }
}
