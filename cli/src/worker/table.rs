//! A look at the lock table, without a message to try it with.

use lockstep::domain::LockKey;
use lockstep::store::{LockStore, StoreError};

/// Whether the table answers. Reads the record of `lock`, one of the worker's own: a task role may
/// leave it no others (infra/examples/worker.yaml).
///
/// # Errors
/// [`StoreError`]
pub(crate) async fn look(table: &impl LockStore, lock: &LockKey) -> Result<(), StoreError> {
    answers(table.load(lock).await.map(drop))
}

/// A record that cannot be read is the matter of those whose lock it is.
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
    fn a_table_with_a_record_that_cannot_be_read_answers_and_a_silent_one_does_not() {
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
