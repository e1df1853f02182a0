//! The once key of a message, which is equal for messages with the same work, and the lock that belongs to
//! it.

mod check;
mod exact;

use exact::{FUNCTIONS, RULE, is_exact};
use jmespath::{Expression, Variable};
use lockstep::domain::RunKey;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Number of locks over which the once keys of a queue are spread. A lock is one item of the table, which has
/// all runs in flight under that lock: several locks keep each item small, with few concurrent writers.
const SHARDS: u8 = 64;

/// Longest expression for a once key, in bytes.
const LENGTH_MAX: usize = 1_024;
/// Deepest nesting of an expression: the number of open brackets plus the number of all `!` and `&`.
const DEPTH_MAX: usize = 64;

/// A JMESPath expression that finds the once key in the body of a message.
#[derive(Clone)]
pub(crate) struct OnceKey(Expression<'static>);

/// Why a message has no once key, and at which place in its body. The text never contains a part of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl OnceKey {
    /// Compiles a JMESPath expression (<https://jmespath.org/specification.html>), and refuses one that would
    /// be wrong for every message. Besides the functions of JMESPath, an expression may call `from_json`,
    /// which parses the JSON in a string, such as the body of a message that SNS has delivered
    /// (<https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>).
    ///
    /// # Errors
    /// Describes the problem and its place, in one line.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        check_depth(text)?;
        let problem = |error: jmespath::JmespathError| {
            format!("{} at character {}", error.reason, error.offset + 1)
        };
        let compiled = FUNCTIONS.compile(text).map_err(problem)?;
        check::check(compiled.as_ast())?;
        let key = Self(compiled);
        // If messages without the field had a key, all of them would have the same one: the first would run,
        // and the others would be deleted.
        match (key.find(b"{}"), key.find(br#"{"of no message": 1}"#)) {
            (Ok(found), Ok(other)) if found == other => Err(format!(
                "finds {found:?} in every message that lacks its fields"
            )),
            _ => Ok(key),
        }
    }

    /// Returns the once key of `body`.
    fn find(&self, body: &[u8]) -> Result<String, Malformed> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let kind = if error.is_eof() {
                "ends too early"
            } else {
                "is not valid JSON"
            };
            Malformed(format!("the body {kind} at line {line}, column {column}"))
        })?;
        let found = self.0.search(body).map_err(|error| {
            let why = format!("--once-key {self:?} cannot be applied: {}", error.reason);
            Malformed(why)
        })?;
        let finds = |what: &str| Err(Malformed(format!("--once-key {self:?} finds {what}")));
        match &*found {
            Variable::String(key) if key.is_empty() => finds("an empty string"),
            Variable::String(key) => Ok(key.clone()),
            Variable::Number(_) if !is_exact(&found) => finds(&format!(
                "a number that may have been rounded, not {RULE}; sent as a string it can be a key"
            )),
            Variable::Number(key) => Ok(key.to_string()),
            Variable::Null => finds("nothing"),
            Variable::Bool(_) => finds("a boolean, not a string or number"),
            Variable::Array(_) => finds("an array, not a string or number"),
            Variable::Object(_) | Variable::Expref(_) => finds("an object, not a string or number"),
        }
    }
}

impl fmt::Debug for OnceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.as_str())
    }
}

/// Checks the length and the nesting of an expression. Parsing, evaluating and dropping it use the stack for
/// each level.
///
/// # Errors
/// Names the bound that the expression exceeds, in one line.
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

/// Returns the once key of a message: the value that `expression` finds in its `body`, or `id` without an
/// expression. A value that is not a valid run key is replaced by its hash.
///
/// # Errors
/// [`Malformed`], if the expression finds no key.
pub(crate) fn once_key(
    expression: Option<&OnceKey>,
    id: &str,
    body: &[u8],
) -> Result<String, Malformed> {
    let found = match expression {
        Some(expression) => expression.find(body)?,
        None => id.to_owned(),
    };
    Ok(as_run_key(found))
}

/// Returns `key` if it is a valid run key, otherwise its SHA-256 hash as `sha256:<hex>`.
fn as_run_key(key: String) -> String {
    match RunKey::new(key.as_str()) {
        Ok(_) => key,
        Err(_) => format!("sha256:{}", sha256(key.as_bytes())),
    }
}

/// Returns the name of the lock of a once key: one of the [`SHARDS`] locks with this `prefix`, always the
/// same for the same key.
pub(crate) fn lock(prefix: &str, once_key: &str) -> String {
    shard(prefix, Sha256::digest(once_key.as_bytes())[0] % SHARDS)
}

/// Returns the name of the lock with this number among the locks of a queue, such as `orders/07`.
pub(crate) fn shard(prefix: &str, number: u8) -> String {
    format!("{prefix}/{number:02x}")
}

/// Returns the SHA-256 hash of `bytes` in hexadecimal digits.
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
