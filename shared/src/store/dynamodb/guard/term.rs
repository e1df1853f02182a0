//! Renders the terms of conditions.

use super::super::expression::Expression;
use super::super::item::integer;

/// Joins `clauses` with AND. A clause that contains an OR needs its own parentheses.
pub(super) fn all(clauses: &[String]) -> String {
    clauses.join(" AND ")
}

pub(super) fn missing(e: &mut Expression, path: &[&str]) -> String {
    format!("attribute_not_exists({})", e.path(path))
}

pub(super) fn is_type(e: &mut Expression, path: &[&str], of: &str) -> String {
    format!("attribute_type({}, {})", e.path(path), e.text(of))
}

/// Returns the condition that an optional attribute is absent, or of its type.
pub(super) fn missing_or(e: &mut Expression, path: &[&str], of: &str) -> String {
    format!("({} OR {})", missing(e, path), is_type(e, path, of))
}

/// Returns the condition that an attribute is this number. Equality compares the type as well, so no
/// [`is_type`] is needed.
pub(super) fn number_is(e: &mut Expression, path: &[&str], number: u64) -> String {
    format!("{} = {}", e.path(path), e.number(number))
}

pub(super) fn integer_is(e: &mut Expression, path: &[&str], number: i64) -> String {
    let number = e.value(integer(number));
    format!("{} = {number}", e.path(path))
}

pub(super) fn text_is_not(e: &mut Expression, path: &[&str], text: &str) -> String {
    format!("{} <> {}", e.path(path), e.text(text))
}

pub(super) fn text_is(e: &mut Expression, path: &[&str], text: &str) -> String {
    format!("{} = {}", e.path(path), e.text(text))
}
