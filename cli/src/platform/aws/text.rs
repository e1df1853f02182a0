//! The text of an error, in one line.

use aws_credential_types::provider::error::{CredentialsError, TokenError};
use std::error::Error;
use std::iter::successors;

/// Longest text of an error, in characters.
const TEXT_MAX: usize = 400;

/// Returns an error and its causes, the outermost first.
pub(super) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// Returns the messages of an error and its causes, in one line. Leaves out a cause whose message is already
/// in the line, and the words with which the SDK names the class of its own errors.
pub(crate) fn line(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    for cause in causes(error) {
        let is_class = cause.is::<CredentialsError>() || cause.is::<TokenError>();
        let is_class = is_class && cause.source().is_some();
        let text = first_line(&cause.to_string());
        if is_class || text.is_empty() || line.contains(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line.chars().take(TEXT_MAX).collect()
}

pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    line.chars().take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_without_repetitions() {
        let inner = CredentialsError::provider_error("no answer\nand more");
        let outer = CredentialsError::unhandled(inner);

        assert_eq!(line(&outer), "no answer");
    }
}
