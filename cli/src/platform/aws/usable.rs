//! Finds credentials that no request can be signed with. The SDK does not check them, and panics when it puts
//! them into headers.

use aws_credential_types::provider::{self, error::CredentialsError};
use std::error::Error;
use std::fmt;

/// What is wrong with a part of credentials: the access key id, the secret access key or the session token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is empty.
    Empty,
    /// It has a control character, such as the line end of a file, or a character outside ASCII.
    NotPlain,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::NotPlain => {
                "must have ASCII characters only, and no control character such as a line end"
            }
        })
    }
}

/// Credentials that cannot be used.
#[derive(Debug)]
pub(super) struct Unusable {
    part: &'static str,
    fault: Fault,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} {}", self.part, self.fault)
    }
}

impl Error for Unusable {}

/// Returns the credentials, if a request can be signed with them.
pub(super) fn checked(found: provider::Result) -> provider::Result {
    let found = found?;
    let parts = [
        ("access key id", Some(found.access_key_id())),
        ("secret access key", Some(found.secret_access_key())),
        (
            "session token",
            found.session_token().filter(|token| !token.is_empty()),
        ),
    ];
    for (part, value) in parts {
        if let Some(fault) = value.and_then(fault) {
            return Err(CredentialsError::provider_error(Unusable { part, fault }));
        }
    }
    Ok(found)
}

/// Returns what is wrong with a part, if anything is.
pub(super) fn fault(part: &str) -> Option<Fault> {
    if part.is_empty() {
        return Some(Fault::Empty);
    }
    let is_plain = part.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    (!is_plain).then_some(Fault::NotPlain)
}
