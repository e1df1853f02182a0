//! Parses and checks requests. An error names field, value and rule.
//!
//! The person who reads an error is often not the one who wrote the request. So the error is complete without
//! the request: it has the field, the value that was given, and what the value must be. A value of more than
//! 200 characters is shortened, because a state machine may pass a whole input by mistake.

mod fields;
mod objects;

pub use fields::fields_of;
pub(super) use objects::{object, object_or_null};

use lockstep_core::domain::{Invalid, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt::{self, Write as _};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A request that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRequest {
    /// The field, with its path; empty for the request as a whole.
    pub field: String,
    /// The value that was given, shortened; empty where none was.
    pub value: String,
    /// What the field must be. If `field` or `value` is empty: what is wrong.
    pub rule: String,
}

impl InvalidRequest {
    /// Creates the error for a `value` of `field` that breaks `rule`, a phrase that follows "must be".
    pub fn new(field: &str, value: impl fmt::Display, rule: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            value: shorten(&value.to_string()),
            rule: rule.into(),
        }
    }
}

impl fmt::Display for InvalidRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, value, rule } = self;
        match (field.is_empty(), value.is_empty()) {
            (true, _) => write!(f, "the request is not valid: {rule}"),
            (false, true) => write!(f, "field {field} is not valid: {rule}"),
            (false, false) => write!(f, "field {field} is {value}, but must be {rule}"),
        }
    }
}

impl std::error::Error for InvalidRequest {}

/// Reads a request from JSON.
///
/// # Errors
/// [`InvalidRequest`] for a missing, unknown or wrongly typed field.
#[expect(
    clippy::needless_pass_by_value,
    reason = "callers have no use for it afterwards"
)]
pub fn parse<T: DeserializeOwned>(json: Value) -> Result<T, InvalidRequest> {
    if json.is_array() {
        return Err(InvalidRequest {
            field: String::new(),
            value: String::new(),
            rule: "it is an array, but must be an object".into(),
        });
    }
    serde_path_to_error::deserialize(&json).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." {
            String::new()
        } else {
            shorten(&path)
        };
        let rule = error.inner().to_string();
        match whole(&json, &path, &rule) {
            Some((value, expected)) => InvalidRequest::new(&field, value, expected),
            None => InvalidRequest {
                field,
                value: String::new(),
                rule: shorten(&rule),
            },
        }
    })
}

/// Returns the object or array that stands where a value of another type is expected, and the name of that
/// type.
///
/// serde's error has only the type of the given value. Returns `None` for every other error, and for
/// `taskToken`, whose value is a secret.
fn whole<'a>(json: &'a Value, path: &str, why: &str) -> Option<(&'a Value, &'static str)> {
    let expected = why
        .strip_prefix("invalid type: map, expected ")
        .or_else(|| why.strip_prefix("invalid type: sequence, expected "))?;
    let expected = match expected {
        "i64" | "u32" | "u64" => "a whole number",
        "a string" => "a string",
        "a boolean" => "true or false",
        objects::RULE => objects::RULE,
        _ => return None,
    };
    let mut parts = path.split('.').filter(|part| !part.is_empty());
    let value = parts.try_fold(json, |value, part| value.get(part))?;
    (!path.ends_with("taskToken")).then_some((value, expected))
}

/// Reads the value of the member `parent`, as [`parse`] does.
///
/// # Errors
/// As [`parse`], with the whole path of the field.
pub(crate) fn parse_in<T: DeserializeOwned>(
    parent: &str,
    json: Value,
) -> Result<T, InvalidRequest> {
    parse(json).map_err(|error: InvalidRequest| {
        let field = match error.field.as_str() {
            "" => parent.to_owned(),
            field => format!("{parent}.{field}"),
        };
        InvalidRequest { field, ..error }
    })
}

/// Reads an object that has the fields of `A` and the fields of `B`.
///
/// serde's `flatten` does the same, but accepts unknown fields, and its errors name no field.
///
/// # Errors
/// As [`parse`].
pub fn parse_both<A: DeserializeOwned, B: DeserializeOwned>(
    json: Value,
) -> Result<(A, B), InvalidRequest> {
    let Value::Object(all) = json else {
        return Ok((parse(json.clone())?, parse(json)?));
    };
    let (first, second) = (fields_of::<A>(), fields_of::<B>());
    let known = || first.iter().chain(second);
    if let Some(name) = all.keys().find(|name| !known().any(|known| known == name)) {
        let known: Vec<_> = known().map(|known| format!("`{known}`")).collect();
        let rule = format!(
            "unknown field `{name}`, expected one of {}",
            known.join(", ")
        );
        return Err(InvalidRequest {
            field: shorten(name),
            value: String::new(),
            rule: shorten(&rule),
        });
    }
    let is_first = |(name, _): &(String, Value)| first.contains(&name.as_str());
    let (first, second): (Map<_, _>, Map<_, _>) = all.into_iter().partition(is_first);
    Ok((parse(first.into())?, parse(second.into())?))
}

/// Reads an RFC 3339 time.
///
/// # Errors
/// [`InvalidRequest`] with the name of the field.
pub fn parse_time(field: &str, text: &str) -> Result<Timestamp, InvalidRequest> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok();
    time.and_then(|time| u64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok())
        .map(Timestamp::from_millis)
        .ok_or_else(|| {
            let rule = "a time as in 2026-03-01T06:00:00Z (RFC 3339)";
            InvalidRequest::new(field, quoted(text), rule)
        })
}

/// Checks a text by the constructor of its type.
///
/// # Errors
/// [`InvalidRequest`] with the name of the field.
pub fn text<T>(
    field: &str,
    text: &str,
    new: fn(String) -> Result<T, Invalid>,
) -> Result<T, InvalidRequest> {
    new(text.to_owned()).map_err(|invalid| InvalidRequest::new(field, quoted(text), invalid.rule))
}

/// One year in seconds, the longest Standard execution
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html>).
pub(super) const YEAR: u32 = 31_536_000;

/// Returns the first `VALUE_MAX` characters of `text` in quotes, with everything that is not visible ASCII escaped.
/// Nothing shows that a longer text was cut.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.chars()
            .take(VALUE_MAX)
            .flat_map(char::escape_default)
            .collect::<String>()
    )
}

/// Maximum number of characters of a value that an error repeats.
const VALUE_MAX: usize = 200;

fn shorten(text: &str) -> String {
    let total = text.chars().count();
    if total <= VALUE_MAX {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(VALUE_MAX / 2).collect();
    let _ = write!(short, "… ({total} characters)");
    short
}

/// Checks a number of redrives
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/redrive-executions.html>: at most 1,000).
pub(crate) fn redrives(field: &str, count: i64, least: u32) -> Result<u32, InvalidRequest> {
    let in_range = u32::try_from(count).ok();
    let in_range = in_range.filter(|count| (least..=1000).contains(count));
    in_range.ok_or_else(|| {
        let rule = format!("a whole number of redrives from {least} to 1000");
        InvalidRequest::new(field, count, rule)
    })
}
