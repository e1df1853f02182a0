//! Evidence that an execution belongs to a lock: its own input or its definition names the lock.
//!
//! Freeing a permit needs evidence that its holder is dead. Stopping an execution needs this proof as well,
//! because the caller of acquire-lock chooses the name of the holder, and could name any execution. Only
//! someone who starts an execution or writes its workflow can put the name of the lock into its input or
//! definition.

use lockstep_core::domain::LockKey;
use serde_json::Value;

/// The member that names a lock, in the requests of acquire-lock and in the input of exclusive-run.
const MEMBER: &str = "lock";

/// Returns whether `json` has a member `lock`, at any depth, whose value is the name of `lock`, as a text or
/// as a constant JSONata expression.
#[must_use]
pub fn names(json: &Value, lock: &LockKey) -> bool {
    match json {
        Value::Object(members) => members.iter().any(|(name, value)| {
            let is_it = name == MEMBER && value.as_str().is_some_and(|text| is_name(text, lock));
            is_it || names(value, lock)
        }),
        Value::Array(items) => items.iter().any(|item| names(item, lock)),
        _ => false,
    }
}

fn is_name(text: &str, lock: &LockKey) -> bool {
    let expression = text
        .strip_prefix("{%")
        .and_then(|text| text.strip_suffix("%}"));
    let constant = expression.map(str::trim).and_then(|constant| {
        let quotes = ['\'', '"'];
        let mut inner = quotes
            .iter()
            .filter_map(|quote| constant.strip_prefix(*quote)?.strip_suffix(*quote));
        inner.next()
    });
    constant.unwrap_or(text) == lock.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lock_is_named_by_a_member_of_that_name_at_any_depth() {
        let lock = LockKey::new("nightly").unwrap();
        for (json, named) in [
            (json!({ "lock": "nightly" }), true),
            (json!({ "lock": "nightly/2" }), false),
            (json!({ "lock": 7, "other": "nightly" }), false),
            (json!({ "detail": [{ "lock": "nightly" }] }), true),
            (json!({ "Payload": { "lock": "{% 'nightly' %}" } }), true),
            (json!({ "Payload": { "lock": "{%\"nightly\"%}" } }), true),
            (json!({ "Payload": { "lock": "{% $lock %}" } }), false),
            (json!("nightly"), false),
        ] {
            assert_eq!(names(&json, &lock), named, "{json}");
        }
    }
}
