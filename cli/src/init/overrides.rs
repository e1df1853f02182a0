//! `parameter_overrides` in the forms that SAM reads: a text of assignments, a list with one in each text, or a map.
//!
//! SAM reads more than that, such as files that a list includes. What is not known to mean the same to SAM is refused,
//! because the lists in it must not be lost
//! (<https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-cli-command-reference-sam-deploy.html>).

use regex_lite::Regex;
use toml_edit::{Array, Item, RawString, Value};

/// An assignment, as `init` and `sam deploy --guided` write it. SAM takes a value without quotes that is empty for none.
const ASSIGNMENT: &str = r#"([A-Za-z0-9]+)=("(?:\\.|[^"\\])*"|[^\s"'\\]+)"#;
/// The other way to write assignments: `ParameterKey=NAME,ParameterValue=VALUE`. If a text has one of these anywhere,
/// SAM reads nothing else of it.
const KEY: &str = "ParameterKey=";

/// Returns the parameters and their values in their order; `None` if SAM reads anything of it in another way.
pub(super) fn read(item: Option<&Item>) -> Option<Vec<(String, String)>> {
    match item {
        None => Some(Vec::new()),
        Some(Item::Value(Value::String(text))) => assignments(text.value()),
        Some(Item::Value(Value::Array(array))) => {
            array.iter().map(|one| assignment(one.as_str()?)).collect()
        }
        Some(map) => {
            let pairs = map.as_table_like()?.iter();
            let read = pairs.map(|(name, item)| {
                let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let value = text_of(item.as_value()?)?;
                is_name.then(|| (name.to_owned(), unquoted(&value)))
            });
            read.collect()
        }
    }
}

/// Returns the value of a map as SAM passes it on: a list as its entries with commas between them.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Boolean(is_so) => Some(if *is_so.value() { "True" } else { "False" }.into()),
        Value::Array(array) => {
            let entries: Option<Vec<_>> = array.iter().map(Value::as_str).collect();
            let entries = entries?.into_iter().filter(|entry| !entry.is_empty());
            Some(entries.map(str::trim).collect::<Vec<_>>().join(","))
        }
        _ => None,
    }
}

/// Gives the parameter `name` a value. All else stays as it is, except that a text becomes a list, and that a list has
/// one entry on a line.
pub(super) fn set(item: &mut Item, name: &str, value: &str) {
    if let Some(text) = item.as_value_mut()
        && let Some(all) = text.as_str().and_then(assignments)
    {
        let all = all.iter().map(|(name, value)| assigned(name, value));
        replace(text, Value::Array(all.collect()));
    }
    if let Some(array) = item.as_array_mut() {
        set_entry(array, name, value);
    } else if let Some(map) = item.as_table_like_mut() {
        match map.get_mut(name).and_then(Item::as_value_mut) {
            Some(old) => replace(old, value.into()),
            None => drop(map.insert(name, toml_edit::value(value))),
        }
    }
}

/// Replaces a value, and keeps the comments around it.
fn replace(old: &mut Value, mut new: Value) {
    new.decor_mut().clone_from(old.decor());
    *old = new;
}

fn set_entry(array: &mut Array, name: &str, value: &str) {
    let before = array.len();
    let text = assigned(name, value);
    let is_it = |one: &Value| {
        let known = one.as_str().and_then(assignment);
        known.is_some_and(|(known, _)| known == name)
    };
    let all = array.iter().enumerate();
    let at = all.filter(|(_, one)| is_it(one)).map(|(at, _)| at).last();
    match at {
        Some(at) => drop(array.replace(at, text)),
        None => array.push(text),
    }
    one_on_a_line(array, before);
}

/// Lays out a list with one entry on a line. A comment behind the last of the `before` entries that were there stays
/// behind it.
fn one_on_a_line(array: &mut Array, before: usize) {
    let comment = array.trailing().as_str().unwrap_or_default();
    let comment = comment.contains('#').then(|| comment.trim_end().to_owned());
    if let Some(comment) = &comment
        && let Some(first) = array.get_mut(before)
    {
        first.decor_mut().set_prefix(format!("{comment}\n    "));
    }
    let is_last = array.len() == before;
    for one in array.iter_mut() {
        let has_comment = |text: Option<&RawString>| {
            text.and_then(RawString::as_str)
                .is_some_and(|text| text.contains('#'))
        };
        if !has_comment(one.decor().prefix()) {
            one.decor_mut().set_prefix("\n    ");
        }
    }
    array.set_trailing_comma(true);
    array.set_trailing(match comment {
        Some(comment) if is_last => format!("{comment}\n"),
        _ => "\n".to_owned(),
    });
}

/// Returns an assignment as SAM reads it. Without the quotes, SAM ends a value at a space and drops an empty one.
pub(super) fn assigned(name: &str, value: &str) -> String {
    format!("{name}=\"{}\"", value.replace('"', "\\\""))
}

/// Splits an assignment into name and value.
fn assignment(text: &str) -> Option<(String, String)> {
    match &assignments(text)?[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// Splits assignments with spaces between them; returns `None` if the text has anything else.
fn assignments(text: &str) -> Option<Vec<(String, String)>> {
    if text.contains(KEY) {
        return None;
    }
    let one = Regex::new(&format!("^{ASSIGNMENT}(?: +|$)")).ok()?;
    let mut rest = text.trim_matches(' ');
    let mut all = Vec::new();
    while !rest.is_empty() {
        let found = one.captures(rest)?;
        all.push((found[1].to_owned(), unquoted(&found[2])));
        rest = &rest[found[0].len()..];
    }
    Some(all)
}

/// Returns a value without the quotes around it, and without the backslashes that SAM takes away.
fn unquoted(value: &str) -> String {
    let within = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let inner = within('"').or_else(|| within('\'')).unwrap_or(value);
    let plain = inner.replace("\\ ", " ").replace("\\\"", "\"");
    plain.replace("\\'", "'")
}
