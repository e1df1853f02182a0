//! The ECS task group that connects a task with its run.

use crate::domain::{HolderId, LockKey, WaiterId};

/// Prefix of every group of Lockstep.
const PREFIX: &str = "lockstep:";

/// Returns the ECS group of the tasks of one holder: `lockstep:<lock>:<holder hash>`.
///
/// Step Functions does not let callers of RunTask set `StartedBy`, so only the group connects a task
/// with its run. The hash is that of [`WaiterId`]. It keeps the group short and free of the colons of an
/// ARN.
#[must_use]
pub fn task_group(lock: &LockKey, holder: &HolderId) -> String {
    format!("{PREFIX}{lock}:{}", WaiterId::of(holder))
}

/// Returns the lock and the hash of the holder in `group`; `None` if [`task_group`] does not make such a
/// group.
///
/// The hash follows the last colon, because the name of a lock may contain colons.
#[must_use]
pub fn parse_group(group: &str) -> Option<(LockKey, String)> {
    let (lock, hash) = group.strip_prefix(PREFIX)?.rsplit_once(':')?;
    let lock = LockKey::new(lock).ok()?;
    let hash = WaiterId::new(hash).ok()?;
    Some((lock, hash.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of SHA-256("abc"), from FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea";

    fn group(lock: &str) -> String {
        let lock = LockKey::new(lock).unwrap();
        task_group(&lock, &HolderId::new("abc").unwrap())
    }

    #[test]
    fn a_group_names_the_lock_and_a_hash_of_the_holder() {
        assert_eq!(group("nightly"), format!("lockstep:nightly:{ABC}"));
    }

    #[test]
    fn the_longest_lock_name_fits_into_a_group() {
        assert!(group(&"x".repeat(LockKey::LENGTH_MAX)).len() <= 255);
    }

    #[test]
    fn a_group_is_read_back_whatever_the_lock_is_called() {
        for lock in [
            "nightly",
            "team/db:orders",
            "a:0123456789abcdef",
            "lockstep:x",
            ":",
        ] {
            let (read, hash) = parse_group(&group(lock)).unwrap();

            assert_eq!((read.as_str(), hash.as_str()), (lock, ABC));
        }
    }

    #[test]
    fn a_foreign_task_group_is_not_parsed() {
        for group in [
            "",
            "family:report",
            "service:api",
            "lockstep:",
            "lockstep:nightly",
            "lockstep:ba7816bf8f01cfea",
            "lockstep::ba7816bf8f01cfea",
            "lockstep:nightly:ba7816bf8f01cfe",
            "lockstep:nightly:BA7816BF8F01CFEA",
            "lockstep:nightly:ba7816bf8f01cfeg",
            "lockstep:not a lock:ba7816bf8f01cfea",
            "my-lockstep:nightly:ba7816bf8f01cfea",
        ] {
            assert_eq!(parse_group(group), None, "{group}");
        }
    }
}
