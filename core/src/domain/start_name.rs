//! The executions that operators start.

use super::LockKey;
use super::text::hash;

/// Returns the name of the execution that an operator's request `start` with this `id` starts for
/// `lock`. `what` contains the other fields of the request.
///
/// The name of an execution is unique within its state machine, and many locks may share one state
/// machine. The name contains a hash of the request, so that two different requests with the same id
/// start two executions.
#[must_use]
pub fn start_name(lock: &LockKey, what: &[&str], id: &str) -> String {
    let request = [&[lock.as_str()], what].concat().join("\n");
    format!("started-{}-{id}", hash(&request, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_requests_start_executions_with_different_names() {
        let name = |lock: &str, what| start_name(&LockKey::new(lock).unwrap(), what, "x");

        assert_eq!(name("nightly", &["a", ""]), name("nightly", &["a", ""]));
        assert_ne!(name("nightly", &[]), name("weekly", &[]));
        assert_ne!(name("nightly", &["a", ""]), name("nightly", &["", "a"]));
        let longest = start_name(&LockKey::new("a").unwrap(), &[], &"x".repeat(40));
        assert!(longest.len() <= 80, "{longest}");
    }
}
