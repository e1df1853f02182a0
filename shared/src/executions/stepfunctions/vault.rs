//! The key of the task tokens, as one execution environment of a function keeps it.
//!
//! ```text
//!  seal ─▶ the kept key; read again if it is older than KEY_REUSE_TIME
//!  open ─▶ the kept key ── fails ──▶ the key, read again, at most once in REREAD_INTERVAL
//! ```
//! An environment may live for hours. In that time the table may get another key, if the item of the key is
//! deleted, or the table is restored.

use crate::clock::{Clock, SystemClock};
use crate::executions::ExecutionsError;
use crate::executions::seal::{KEY_LEN, Seal};
use crate::store::dynamodb::DynamoStore;
use lockstep_core::domain::{LockKey, Seconds, TaskToken, Timestamp};
use lockstep_core::store::StoreError;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long tokens are sealed with a key before the key is read again.
const KEY_REUSE_TIME: Seconds = Seconds::of(300);

/// Shortest time between two reads of the key after a token that could not be opened. Anyone who can write to
/// the table can store such a token, and must not cause a read for each.
const REREAD_INTERVAL: Seconds = Seconds::of(60);

/// Reads and keeps the key of the task tokens, an item of the lock table that only the functions may read.
#[derive(Clone, Debug)]
pub(super) struct Vault {
    table: DynamoStore,
    known: Arc<Mutex<Option<Known>>>,
}

/// The key that was read, and when.
#[derive(Clone, Debug)]
struct Known {
    seal: Arc<Seal>,
    read_at: Timestamp,
    /// When the key was last read because a token could not be opened.
    tried_at: Option<Timestamp>,
}

impl Vault {
    pub(super) fn new(table: DynamoStore) -> Self {
        let known = Arc::default();
        Self { table, known }
    }

    /// Seals `token` for a record of `lock`. Reads the key if it is not known, and again after [`KEY_REUSE_TIME`].
    pub(super) async fn seal(
        &self,
        lock: &LockKey,
        token: &TaskToken,
    ) -> Result<TaskToken, ExecutionsError> {
        let now = SystemClock.now();
        let seal = match self.known() {
            Some(known) if now < known.read_at.plus(KEY_REUSE_TIME) => known.seal,
            // If the table does not answer, the key that is known is still used.
            Some(known) => self.read(None).await.unwrap_or(known.seal),
            None => self.read(None).await?,
        };
        Ok(seal.seal(lock, token))
    }

    /// Opens `token`. If the known key does not open it, the key is read again, at most once in
    /// [`REREAD_INTERVAL`]. Returns `None` if no key opens the token.
    pub(super) async fn open(
        &self,
        lock: &LockKey,
        token: &TaskToken,
    ) -> Result<Option<TaskToken>, ExecutionsError> {
        let Some(known) = self.known() else {
            return Ok(self.read(None).await?.open(lock, token));
        };
        let opened = known.seal.open(lock, token);
        let now = SystemClock.now();
        let tried = known
            .tried_at
            .is_some_and(|tried| now < tried.plus(REREAD_INTERVAL));
        if opened.is_some() || tried {
            return Ok(opened);
        }
        Ok(self.read(Some(now)).await?.open(lock, token))
    }

    /// Reads the key, or creates it if there is none.
    pub(super) async fn read(
        &self,
        tried_at: Option<Timestamp>,
    ) -> Result<Arc<Seal>, ExecutionsError> {
        // A fresh key is sent along, for a table that has no key. If two functions do so at the same time,
        // the table keeps the key that was written first, and both get it.
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
        let seal = Arc::new(Seal::new(&key));
        *self.lock() = Some(Known {
            seal: Arc::clone(&seal),
            read_at: SystemClock.now(),
            tried_at,
        });
        Ok(seal)
    }

    fn known(&self) -> Option<Known> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
