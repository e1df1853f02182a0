//! The key of the task tokens, read once per execution environment of a function.

use crate::executions::ExecutionsError;
use crate::executions::seal::{KEY_LEN, Seal};
use crate::store::dynamodb::DynamoStore;
use lockstep_core::store::StoreError;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::{Arc, OnceLock};

/// Reads and caches the key of the task tokens: an item of the lock table that only the functions
/// may read.
#[derive(Clone, Debug)]
pub(super) struct Vault {
    table: DynamoStore,
    seal: Arc<OnceLock<Seal>>,
}

impl Vault {
    pub(super) fn new(table: DynamoStore) -> Self {
        let seal = Arc::default();
        Self { table, seal }
    }

    /// Returns the seal. The first call reads the key, or creates it if there is none.
    pub(super) async fn key(&self) -> Result<&Seal, ExecutionsError> {
        if let Some(seal) = self.seal.get() {
            return Ok(seal);
        }
        // Offered with the read: the first function that needs a key makes one, and if two do at
        // the same moment, the table keeps the first and returns it to both.
        let mut fresh = [0; KEY_LEN];
        let filled = SystemRandom::new().fill(&mut fresh);
        filled.map_err(|_| ExecutionsError::Unavailable("no random bytes for a key".into()))?;
        let key = self
            .table
            .token_key(fresh)
            .await
            .map_err(|error| match error {
                StoreError::Denied(_) => ExecutionsError::Denied(error.to_string()),
                _ => ExecutionsError::Unavailable(error.to_string()),
            })?;
        Ok(self.seal.get_or_init(|| Seal::new(&key)))
    }
}
