//! Checks names that come from outside, and hashes them.

use sha2::{Digest, Sha256};

/// The error for a value that breaks the rule of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct Invalid {
    /// The rule, as a phrase that follows "must be".
    pub rule: &'static str,
}

/// Start of a context attribute. EventBridge Scheduler replaces `<aws.scheduler.scheduled-time>` and
/// similar attributes in the input of a schedule, and leaves an attribute that it does not know
/// unchanged
/// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html>).
/// An unchanged attribute would make the same run key in every run.
const PLACEHOLDER: &str = "<aws.";
const PLACEHOLDER_RULE: &str = "a value without <aws.: EventBridge Scheduler does not know this attribute, and left it as it is";

/// Checks that `value` has 1 to `max` bytes, that each of them is `allowed`, and that it contains no
/// [`PLACEHOLDER`].
pub(crate) fn check(
    value: &str,
    max: usize,
    allowed: fn(u8) -> bool,
    rule: &'static str,
) -> Result<(), Invalid> {
    if value.contains(PLACEHOLDER) {
        let rule = PLACEHOLDER_RULE;
        return Err(Invalid { rule });
    }
    let fits = (1..=max).contains(&value.len()) && value.bytes().all(allowed);
    if fits { Ok(()) } else { Err(Invalid { rule }) }
}

/// Returns the first `bytes` bytes of the SHA-256 of `text`, as hex digits.
pub(crate) fn hash(text: &str, bytes: usize) -> String {
    let hash = Sha256::digest(text);
    hash.iter()
        .take(bytes)
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// Returns whether `byte` is a visible ASCII character: no space, no control character, nothing that a
/// terminal or a log could hide.
pub(crate) fn visible(byte: u8) -> bool {
    byte.is_ascii_graphic()
}
