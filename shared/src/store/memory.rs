//! A table in memory: the reference that the real store must agree with.

use super::{Commit, Found, LockStore, StoreError};
use crate::domain::{Change, LockKey, LockRecord, Run, RunId};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A table in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    records: BTreeMap<LockKey, LockRecord>,
    runs: BTreeMap<(LockKey, RunId), Run>,
}

impl MemoryStore {
    /// Puts a record there, whatever it replaces.
    pub fn put(&self, lock: LockKey, record: LockRecord) {
        self.lock().records.insert(lock, record);
    }

    /// Puts a run there, whatever it replaces.
    pub fn put_run(&self, lock: LockKey, id: RunId, run: Run) {
        self.lock().runs.insert((lock, id), run);
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LockStore for MemoryStore {
    async fn commit(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        let mut tables = self.lock();
        let record = tables.records.get(lock);
        let mut failed = false;
        let mut found = Found::default();
        if !change.guard.holds(record) {
            failed = true;
            found.record = Some(record.cloned());
        }
        for (index, (guard, write)) in change.runs.iter().enumerate() {
            let run = tables.runs.get(&(lock.clone(), write.id.clone()));
            if !guard.holds(run) {
                failed = true;
                found.run = found.run.or_else(|| run.filter(|_| index == 0).cloned());
            }
        }
        if failed {
            return Ok(Commit::Conflict(found));
        }
        let after = change.update.apply(record);
        if let Some(after) = after.clone() {
            tables.records.insert(lock.clone(), after);
        }
        for (_, write) in &change.runs {
            tables
                .runs
                .insert((lock.clone(), write.id.clone()), write.run.clone());
        }
        Ok(Commit::Committed(after.filter(|_| change.read_back)))
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        Ok(self.lock().records.get(lock).cloned())
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        Ok(self.lock().runs.get(&(lock.clone(), run.clone())).cloned())
    }
}
