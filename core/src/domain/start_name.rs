//! The executions that operators start.

use super::LockKey;
use super::text::hash;

/// The name of the execution that an operator's request with this `id` starts for `lock`; `what` is the rest of the
/// request.
///
/// An execution's name is unique within its state machine, and many locks may share one. The hash of the request in the
/// name keeps two requests apart that have the same id or come at the same time.
#[must_use]
pub fn start_name(lock: &LockKey, what: &[&str], id: &str) -> String {
    let request = [&[lock.as_str()], what].concat().join("\n");
    format!("started-{}-{id}", hash(&request, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_request_has_another_name() {
        let name = |lock: &str, what| start_name(&LockKey::new(lock).unwrap(), what, "x");

        assert_eq!(name("nightly", &["a", ""]), name("nightly", &["a", ""]));
        assert_ne!(name("nightly", &[]), name("weekly", &[]));
        assert_ne!(name("nightly", &["a", ""]), name("nightly", &["", "a"]));
        let longest = start_name(&LockKey::new("a").unwrap(), &[], &"x".repeat(40));
        assert!(longest.len() <= 80, "{longest}");
    }
}
