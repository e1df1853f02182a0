//! What makes two messages the same work: the once key, and the lock that it falls under.

use super::queue::Message;
use jmespath::{Expression, Variable};
use lockstep::domain::RunKey;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};

/// Over how many locks the once keys of a queue are spread. A lock is one item of the table, and all
/// that is in flight under it is in that item: so each stays small, and few write to the same one.
const SHARDS: u8 = 64;

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
        let problem = |error: jmespath::JmespathError| {
            format!("{} at character {}", error.reason, error.offset + 1)
        };
        jmespath::compile(text).map(Self).map_err(problem)
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
    let shard = Sha256::digest(once_key.as_bytes())[0] % SHARDS;
    format!("{prefix}/{shard:02x}")
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
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn key(expression: Option<&str>, body: &str) -> Result<String, Malformed> {
        let expression = expression.map(|text| OnceKey::compile(text).unwrap());
        once_key(expression.as_ref(), &Message::sample(body))
    }

    #[test]
    fn without_an_expression_the_id_of_the_message_is_the_key_and_any_body_will_do() {
        assert_eq!(key(None, "\u{1}no JSON"), Ok("id-1".into()));
    }

    #[test]
    fn a_text_or_number_is_a_key() {
        let body = r#"{"order": {"id": "A-7", "number": 12}, "lines": [{"n": 1.5}]}"#;

        assert_eq!(key(Some("order.id"), body), Ok("A-7".into()));
        assert_eq!(key(Some("order.number"), body), Ok("12".into()));
        assert_eq!(key(Some("lines[0].n"), body), Ok("1.5".into()));
        let both = "join('/', [order.id, to_string(order.number)])";
        assert_eq!(key(Some(both), body), Ok("A-7/12".into()));
    }

    #[test]
    fn a_key_that_no_run_key_may_be_is_hashed_and_stays_the_same() {
        let long = format!(r#"{{"id": "{}"}}"#, "x".repeat(513));
        for body in [r#"{"id": "größe 7"}"#, r#"{"id": "a b"}"#, &long] {
            let found = key(Some("id"), body).unwrap();

            assert!(found.starts_with("sha256:") && found.len() == 71, "{found}");
            assert_eq!(Ok(found), key(Some("id"), body));
        }
    }

    #[test]
    fn what_is_wrong_is_told_by_its_place_and_never_by_the_body() {
        for (expression, body, wrong) in [
            ("id", "secret", "no JSON at line 1, column 1"),
            ("id", "{\"secret\": [1,", "ends too early at line 1"),
            ("id", "", "ends too early at line 1, column 0"),
            ("id", r#"{"secret": 1}"#, "finds nothing"),
            ("id", r#"{"id": ""}"#, "finds an empty text"),
            ("id", r#"{"id": ["secret"]}"#, "finds a list"),
            ("id", r#"{"id": {"secret": 1}}"#, "finds an object"),
            ("id", r#"{"id": true}"#, "finds a truth value"),
            ("length(id)", r#"{"id": 5}"#, "expects type"),
        ] {
            let Malformed(told) = key(Some(expression), body).unwrap_err();

            assert!(
                told.contains(wrong) && !told.contains("secret"),
                "{body}: {told}"
            );
        }
    }

    #[test]
    fn a_bad_expression_is_told_with_its_place_in_one_line() {
        let problem = OnceKey::compile("order.[").unwrap_err();

        assert!(
            problem.contains("character") && problem.lines().count() == 1,
            "{problem}"
        );
    }

    #[test]
    fn keys_are_spread_over_all_shards_and_each_has_its_own() {
        let locks: HashSet<_> = (0..2_000)
            .map(|n| lock("orders", &format!("k{n}")))
            .collect();

        assert_eq!(locks.len(), usize::from(SHARDS));
        assert_eq!(lock("orders", "k1"), lock("orders", "k1"));
        assert!(locks.contains("orders/00") && locks.contains("orders/3f"));
    }
}
