//! The executions that operators start.

use super::LockKey;
use super::text::hash;

/// The name of the execution that an operator's request with this `id` starts for `lock`.
///
/// Names of executions are those of a state machine, of which many locks may have the same. So the name has a hash of the
/// lock: requests for two locks start two executions, also with the same id.
#[must_use]
pub fn start_name(lock: &LockKey, id: &str) -> String {
    format!("started-{}-{id}", hash(lock.as_str(), 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_of_another_lock_has_another_name() {
        let name = |lock: &str| start_name(&LockKey::new(lock).unwrap(), "x");

        assert_eq!(name("nightly"), name("nightly"));
        assert_ne!(name("nightly"), name("weekly"));
        let longest = start_name(&LockKey::new("a").unwrap(), &"x".repeat(40));
        assert!(longest.len() <= 80, "{longest}");
    }
}
