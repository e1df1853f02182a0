//! The check of every name that comes from outside.

use sha2::{Digest, Sha256};

/// A value that breaks the rule of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct Invalid {
    /// What the type requires, as a phrase that follows "must be".
    pub rule: &'static str,
}

/// EventBridge Scheduler replaces `<aws.scheduler.scheduled-time>` and similar attributes in the
/// input of a schedule, and leaves a name that it does not know unchanged
/// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html>).
/// Unchanged, it would be the same in every run.
const PLACEHOLDER: &str = "<aws.";
const PLACEHOLDER_RULE: &str =
    "a value without <aws.: EventBridge Scheduler has not replaced this attribute";

/// Checks that `value` has 1 to `max` bytes, each of them `allowed`, and no placeholder among them.
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

/// The first `bytes` bytes of the SHA-256 of `text`, as hex digits.
pub(crate) fn hash(text: &str, bytes: usize) -> String {
    let hash = Sha256::digest(text);
    hash.iter()
        .take(bytes)
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// Visible ASCII: no space, no control character, nothing a terminal or a log could hide.
pub(crate) fn visible(byte: u8) -> bool {
    byte.is_ascii_graphic()
}
