//! A probe of the lock table that needs no message.

use lockstep::domain::LockKey;
use lockstep::store::{LockStore, StoreError};

/// Checks that the table answers, by reading the record of `lock`. This has to be one of the worker's own
/// locks, because the task role may allow no others (infra/examples/worker.yaml).
///
/// # Errors
/// [`StoreError`]
pub(crate) async fn probe(table: &impl LockStore, lock: &LockKey) -> Result<(), StoreError> {
    answers(table.load(lock).await.map(drop))
}

/// Returns whether the table has answered. A corrupt record counts as an answer, because it affects only its
/// own lock.
fn answers(read: Result<(), StoreError>) -> Result<(), StoreError> {
    match read {
        Err(StoreError::Corrupt { .. }) => Ok(()),
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrupt_record_counts_as_an_answer_and_other_errors_do_not() {
        let corrupt = StoreError::Corrupt {
            item: "orders/00 lock".into(),
            attribute: "version".into(),
            problem: "is none".into(),
        };

        assert_eq!(answers(Err(corrupt)), Ok(()));
        for error in [
            StoreError::Throttled,
            StoreError::Unavailable,
            StoreError::Denied,
        ] {
            let error = error("x".into());
            assert_eq!(answers(Err(error.clone())), Err(error));
        }
    }
}
