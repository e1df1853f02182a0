//! A table in memory: the reference for the DynamoDB store.
//!
//! The table evaluates guards and updates as the domain defines them, so it shows what the expressions
//! of the DynamoDB store have to do. Tests run one conformance suite, and random sequences of commands,
//! on both.

use super::{
    Commit, DUE_PAGE, DueLock, DuePage, Found, HistoryPage, LockIndex, LockStore, LocksPage,
    StoreError, shard,
};
use crate::domain::{
    Act, Change, FencingToken, LockKey, LockRecord, Mode, Run, RunId, Timestamp, Waiter, WaiterId,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A table in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    locks: Mutex<BTreeMap<LockKey, LockItems>>,
    new_locks: Mutex<Option<Mode>>,
}

/// All items of one lock, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockItems {
    /// The record.
    pub record: Option<LockRecord>,
    /// The history of the lock, and the markers of its run keys.
    pub runs: BTreeMap<RunId, Run>,
    /// The acts on the lock, by the version of the record that each wrote.
    pub acts: BTreeMap<u64, Act>,
    /// The side items of waiters.
    pub waiters: BTreeMap<WaiterId, Waiter>,
}

impl LockItems {
    /// Writes `change` atomically.
    pub fn commit(&mut self, change: &Change) -> Commit {
        let mut found = Found::default();
        let mut failed = false;
        if !change.guard.holds(self.record.as_ref()) {
            failed = true;
            found.record = Some(self.record.clone());
        }
        for (guard, write) in &change.runs {
            let run = self.runs.get(&write.id);
            if !guard.holds(run) {
                failed = true;
                found.runs.insert(write.id.clone(), run.cloned());
            }
        }
        if let Some(drop) = &change.waiter {
            failed |= !drop.holds(self.waiters.get(&drop.id));
        }
        // As in a DynamoDB transaction, all guards are evaluated, and each failed guard returns its
        // item.
        if failed {
            return Commit::Conflict(found);
        }
        self.record = change.update.apply(self.record.as_ref());
        for (_, write) in &change.runs {
            let run = write.over(self.runs.get(&write.id));
            self.runs.insert(write.id.clone(), run);
        }
        let act = change.act.iter();
        self.acts.extend(act.map(|act| (act.version, act.clone())));
        if let Some(drop) = &change.waiter {
            self.waiters.remove(&drop.id);
        }
        Commit::Committed(self.record.clone().filter(|_| change.read_back))
    }

    /// Writes the side item of a waiter, unless a newer one of that waiter exists. Keeps the time of the
    /// first registration.
    pub fn register(&mut self, waiter: &Waiter) {
        let known = self.waiters.get(&waiter.id());
        if known.is_none_or(|known| known.since <= waiter.since) {
            let queued_at = known.map_or(waiter.queued_at, |known| known.queued_at);
            let waiter = Waiter {
                queued_at,
                ..waiter.clone()
            };
            self.waiters.insert(waiter.id(), waiter);
        }
    }
}

impl MemoryStore {
    /// Writes a record without a condition.
    pub fn put(&self, lock: LockKey, record: LockRecord) {
        self.lock().entry(lock).or_default().record = Some(record);
    }

    /// Writes a run without a condition.
    pub fn put_run(&self, lock: LockKey, id: RunId, run: Run) {
        self.lock().entry(lock).or_default().runs.insert(id, run);
    }

    /// Returns all items of `lock`.
    pub fn items(&self, lock: &LockKey) -> LockItems {
        self.lock().get(lock).cloned().unwrap_or_default()
    }

    fn new_locks_mode(&self) -> MutexGuard<'_, Option<Mode>> {
        self.new_locks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<LockKey, LockItems>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LockStore for MemoryStore {
    async fn commit(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        let mut locks = self.lock();
        Ok(locks.entry(lock.clone()).or_default().commit(change))
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        Ok(self.items(lock).record)
    }

    async fn new_locks(&self) -> Result<Option<Mode>, StoreError> {
        Ok(self.new_locks_mode().clone())
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        Ok(self.items(lock).runs.remove(run))
    }

    async fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> Result<HistoryPage, StoreError> {
        let most = most.max(1);
        let runs = self.items(lock).runs.into_iter();
        let by_token = runs.filter_map(|(id, run)| match id {
            RunId::Token(token) => Some((Reverse(token.to_string()), token, run)),
            RunId::Key(_) => None,
        });
        let after = after.map(|after| Reverse(after.to_string()));
        let behind = by_token.filter(|(order, ..)| Some(order) > after.as_ref());
        let mut behind: Vec<_> = behind.collect();
        behind.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let more = behind.len() > most;
        behind.truncate(most);
        let next = behind.last().filter(|_| more).map(|(_, token, _)| *token);
        let runs = behind.into_iter().map(|(.., run)| run).collect();
        Ok(HistoryPage {
            runs,
            unreadable: 0,
            next,
        })
    }

    async fn register(&self, lock: &LockKey, waiter: &Waiter) -> Result<(), StoreError> {
        let mut locks = self.lock();
        locks.entry(lock.clone()).or_default().register(waiter);
        Ok(())
    }

    async fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> Result<Option<Waiter>, StoreError> {
        Ok(self.items(lock).waiters.remove(waiter))
    }

    async fn due(
        &self,
        of: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        let locks = self.lock();
        let due = locks.iter().filter(|(lock, _)| shard(lock) == of);
        let due = due.filter_map(|(lock, items)| {
            let due = items.record.as_ref()?.due?;
            let lock = lock.clone();
            (due <= until).then_some(DueLock { due, lock })
        });
        let mut locks: Vec<_> = due.filter(|due| Some(due) > after).collect();
        locks.sort();
        let more = locks.len() > DUE_PAGE;
        locks.truncate(DUE_PAGE);
        let next = locks.last().filter(|_| more).cloned();
        Ok(DuePage {
            locks,
            next,
            ..DuePage::default()
        })
    }
}

impl LockIndex for MemoryStore {
    async fn locks(
        &self,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> Result<LocksPage, StoreError> {
        let all = self.lock();
        let of_prefix = all.iter().filter(|(lock, items)| {
            items.record.is_some() && lock.as_str().starts_with(prefix) && Some(*lock) > after
        });
        let mut locks: Vec<_> = of_prefix.map(|(lock, _)| lock.clone()).collect();
        let more = locks.len() > most;
        locks.truncate(most);
        Ok(LocksPage { locks, more })
    }

    async fn close_new_locks(&self, mode: Option<&Mode>) -> Result<Option<Mode>, StoreError> {
        Ok(std::mem::replace(
            &mut *self.new_locks_mode(),
            mode.cloned(),
        ))
    }

    async fn acts(&self, lock: &LockKey) -> Result<Vec<Act>, StoreError> {
        Ok(self.items(lock).acts.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::conformance::samples::{held, running};
    use crate::testing::now;
    use crate::testing::token;

    fn lock(name: &str) -> LockKey {
        LockKey::new(name).expect("a valid key")
    }

    #[test]
    fn a_table_in_memory_does_what_every_store_does() {
        let store = MemoryStore::default();

        now(super::super::conformance::run_all(&store, "memory"));
    }

    #[test]
    fn items_returns_what_put_wrote() {
        let (store, lock) = (MemoryStore::default(), lock("nightly"));
        let id = RunId::Token(token(7));

        store.put(lock.clone(), held());
        store.put_run(lock.clone(), id.clone(), running(7));

        let items = store.items(&lock);
        assert_eq!(items.record, Some(held()));
        assert_eq!(items.runs.get(&id), Some(&running(7)));
    }

    #[test]
    fn a_history_page_has_a_next_only_if_there_are_more_runs() {
        let (store, lock) = (MemoryStore::default(), lock("nightly"));
        for number in 1..=2 {
            store.put_run(lock.clone(), RunId::Token(token(number)), running(number));
        }

        for (most, next) in [(1, Some(token(2))), (2, None), (3, None)] {
            let page = now(store.history(&lock, None, most)).expect("a page");
            assert_eq!(page.next, next, "{most}");
        }
    }

    #[test]
    fn a_page_of_all_locks_has_more_only_if_there_are_more() {
        let store = MemoryStore::default();
        for name in ["a", "b", "c"] {
            store.put(lock(name), held());
        }

        for (most, more) in [(2, true), (3, false), (4, false)] {
            let page = now(store.locks("", None, most)).expect("a page");
            assert_eq!((page.locks.len(), page.more), (most.min(3), more), "{most}");
        }
    }

    #[test]
    fn a_page_of_the_locks_that_are_due_has_a_next_only_if_there_are_more() {
        let due = Timestamp::from_millis(5);
        let locks = (0..).map(|number| lock(&format!("lock-{number}")));
        let of_shard = locks.filter(|lock| shard(lock) == 0).take(DUE_PAGE + 1);
        let of_shard: Vec<_> = of_shard.collect();
        for (locks, more) in [
            (DUE_PAGE - 1, false),
            (DUE_PAGE, false),
            (DUE_PAGE + 1, true),
        ] {
            let store = MemoryStore::default();
            for lock in &of_shard[..locks] {
                let mut record = held();
                record.due = Some(due);
                store.put(lock.clone(), record);
            }

            let page = now(store.due(0, due, None)).expect("a page");

            assert_eq!(page.next.is_some(), more, "{locks}");
            assert_eq!(page.locks.len(), locks.min(50), "{locks}");
        }
    }
}
