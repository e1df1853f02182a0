//! The key of the task tokens, as an execution environment of a function knows it.
//!
//! ```text
//!  seal ─▶ the key, read again after KNOWN_FOR
//!  open ─▶ the key ── fails ──▶ the key, read again, at most each OPEN_AGAIN ──▶ or not
//! ```
//! An environment may live for hours, and the key may be made anew meanwhile: its item was deleted, or the table was
//! restored.

use crate::clock::{Clock, SystemClock};
use crate::executions::ExecutionsError;
use crate::executions::seal::{KEY_LEN, Seal};
use crate::store::dynamodb::DynamoStore;
use lockstep_core::domain::{LockKey, Seconds, TaskToken, Timestamp};
use lockstep_core::store::StoreError;
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long tokens are sealed with a key before it is read again.
const KNOWN_FOR: Seconds = Seconds::of(300);

/// Shortest time between two reads because a token could not be opened: any writer of the table can store such a token.
const OPEN_AGAIN: Seconds = Seconds::of(60);

/// Reads and keeps the key of the task tokens: an item of the lock table that only the functions
/// may read.
#[derive(Clone, Debug)]
pub(super) struct Vault {
    table: DynamoStore,
    known: Arc<Mutex<Option<Known>>>,
}

/// The key as it was read.
#[derive(Clone, Debug)]
struct Known {
    seal: Arc<Seal>,
    read_at: Timestamp,
    /// When it was read last because a token could not be opened.
    tried_at: Option<Timestamp>,
}

impl Vault {
    pub(super) fn new(table: DynamoStore) -> Self {
        let known = Arc::default();
        Self { table, known }
    }

    /// Seals `token` for a record of `lock`. Reads the key if it is not known, and again after [`KNOWN_FOR`].
    pub(super) async fn seal(
        &self,
        lock: &LockKey,
        token: &TaskToken,
    ) -> Result<TaskToken, ExecutionsError> {
        let now = SystemClock.now();
        let seal = match self.known() {
            Some(known) if now < known.read_at.plus(KNOWN_FOR) => known.seal,
            // A table without an answer does not void a key that was good until now.
            Some(known) => self.read(None).await.unwrap_or(known.seal),
            None => self.read(None).await?,
        };
        Ok(seal.seal(lock, token))
    }

    /// Opens `token`. Where the known key does not open it, the key is read again; `None` if that does not either.
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
            .is_some_and(|tried| now < tried.plus(OPEN_AGAIN));
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
