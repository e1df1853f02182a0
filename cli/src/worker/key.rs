//! What makes two messages the same work: the once key, and the lock that it falls under.

mod exact;

use super::queue::Message;
use exact::{FUNCTIONS, RULE, is_exact};
use jmespath::{Expression, Variable};
use lockstep::domain::RunKey;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Over how many locks the once keys of a queue are spread. A lock is one item of the table, and all
/// that is in flight under it is in that item: so each stays small, and few write to the same one.
const SHARDS: u8 = 64;

/// Longest expression for a once key, in bytes.
const LENGTH_MAX: usize = 1_024;
/// Deepest nesting of one: open brackets, and all `!` and `&`.
const DEPTH_MAX: usize = 64;

/// An expression that finds the once key in a body.
#[derive(Clone)]
pub(crate) struct OnceKey(Expression<'static>);

/// A message that has no once key: what is wrong, and where. Never what the body says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl OnceKey {
    /// Takes a JMESPath expression (<https://jmespath.org/specification.html>).
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        check_depth(text)?;
        let problem = |error: jmespath::JmespathError| {
            format!("{} at character {}", error.reason, error.offset + 1)
        };
        FUNCTIONS.compile(text).map(Self).map_err(problem)
    }

    /// The once key that `body` has.
    fn find(&self, body: &[u8]) -> Result<String, Malformed> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let kind = if error.is_eof() {
                "ends too early"
            } else {
                "is no JSON"
            };
            Malformed(format!("the body {kind} at line {line}, column {column}"))
        })?;
        let found = self.0.search(body).map_err(|error| {
            let why = format!("--once-key {self:?} cannot be applied: {}", error.reason);
            Malformed(why)
        })?;
        let is = |what: &str| Err(Malformed(format!("--once-key {self:?} finds {what}")));
        match &*found {
            Variable::String(key) if key.is_empty() => is("an empty text"),
            Variable::String(key) => Ok(key.clone()),
            Variable::Number(_) if !is_exact(&found) => is(&format!(
                "a number that may have been rounded, not {RULE}; sent as a text it can be a key"
            )),
            Variable::Number(key) => Ok(key.to_string()),
            Variable::Null => is("nothing"),
            Variable::Bool(_) => is("a truth value, not a text or number"),
            Variable::Array(_) => is("a list, not a text or number"),
            Variable::Object(_) | Variable::Expref(_) => is("an object, not a text or number"),
        }
    }
}

impl fmt::Debug for OnceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.as_str())
    }
}

/// Reading an expression, applying it and dropping it go as deep as it is nested, and a stack has an end.
///
/// # Errors
/// Which bound it is over, in one line.
fn check_depth(text: &str) -> Result<(), String> {
    if text.len() > LENGTH_MAX {
        return Err(format!("is over {LENGTH_MAX} bytes long"));
    }
    let (mut open, mut prefixes) = (0_usize, 0_usize);
    for c in text.chars() {
        match c {
            '[' | '(' | '{' => open += 1,
            ']' | ')' | '}' => open = open.saturating_sub(1),
            '!' | '&' => prefixes += 1,
            _ => {}
        }
        if open + prefixes > DEPTH_MAX {
            return Err(format!("is nested deeper than {DEPTH_MAX} levels"));
        }
    }
    Ok(())
}

/// The once key of `message`: what `expression` finds, or its id.
///
/// # Errors
/// [`Malformed`].
pub(crate) fn once_key(
    expression: Option<&OnceKey>,
    message: &Message,
) -> Result<String, Malformed> {
    let found = match expression {
        Some(expression) => expression.find(&message.body)?,
        None => message.id.clone(),
    };
    Ok(as_run_key(found))
}

/// A key that no run key may be is stood for by its hash.
fn as_run_key(key: String) -> String {
    match RunKey::new(key.as_str()) {
        Ok(_) => key,
        Err(_) => format!("sha256:{}", sha256(key.as_bytes())),
    }
}

/// The lock that a once key falls under: always the same one.
pub(crate) fn lock(prefix: &str, once_key: &str) -> String {
    shard(prefix, Sha256::digest(once_key.as_bytes())[0] % SHARDS)
}

/// One of the locks of a queue.
pub(crate) fn shard(prefix: &str, number: u8) -> String {
    format!("{prefix}/{number:02x}")
}

/// A hash in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // Writing to a String never fails.
        write!(text, "{byte:02x}").ok();
    }
    text
}

#[cfg(test)]
mod tests;
