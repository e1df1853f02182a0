//! How the ECS tasks of a run are known.

use crate::domain::{HolderId, LockKey};
use sha2::{Digest, Sha256};

/// The ECS group of the tasks of one holder: `lockstep:<lock>:<holder hash>`.
///
/// Step Functions does not let callers of RunTask set `StartedBy`, so the group is what ties a
/// task to its run. The hash is the first 16 hex digits of SHA-256 of the holder: it keeps the
/// group short and free of the ARN's own colons.
#[must_use]
pub fn task_group(lock: &LockKey, holder: &HolderId) -> String {
    let hash = Sha256::digest(holder.as_str());
    let hex: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("lockstep:{lock}:{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_names_the_lock_and_a_hash_of_the_holder() {
        let lock = LockKey::new("nightly").unwrap();
        let holder = HolderId::new("abc").unwrap();

        // The start of SHA-256("abc"), from FIPS 180-2, appendix B.1.
        assert_eq!(
            task_group(&lock, &holder),
            "lockstep:nightly:ba7816bf8f01cfea"
        );
    }

    #[test]
    fn the_longest_lock_name_fits_into_a_group() {
        let lock = LockKey::new("x".repeat(LockKey::LENGTH_MAX)).unwrap();
        let holder = HolderId::new("abc").unwrap();

        assert!(task_group(&lock, &holder).len() <= 255);
    }
}
