//! One check for every name that comes from outside.

/// A value that breaks the rule of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct Invalid {
    /// What the type asks for, as a phrase that follows "must be".
    pub rule: &'static str,
}

/// Checks that `value` has 1 to `max` bytes, each of them `allowed`.
pub(crate) fn check(
    value: &str,
    max: usize,
    allowed: fn(u8) -> bool,
    rule: &'static str,
) -> Result<(), Invalid> {
    let fits = (1..=max).contains(&value.len()) && value.bytes().all(allowed);
    if fits { Ok(()) } else { Err(Invalid { rule }) }
}

/// Visible ASCII: no space, no control character, nothing a terminal or a log could hide.
pub(crate) fn visible(byte: u8) -> bool {
    byte.is_ascii_graphic()
}
