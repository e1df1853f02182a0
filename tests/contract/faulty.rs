//! A table that fails, is slow, or does not respond.

use crate::functions::{Functions, key};
use lockstep::clock::ManualClock;
use lockstep::domain::{
    Act, Change, FencingToken, LockKey, LockRecord, Mode, Run, RunId, Timestamp, Waiter, WaiterId,
};
use lockstep::store::memory::MemoryStore;
use lockstep::store::{
    Commit, DueLock, DuePage, HistoryPage, LockIndex, LockStore, LocksPage, StoreError, shard,
};
use serde_json::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// The functions' table with a fault in it.
pub(crate) struct Faulty<'a> {
    table: &'a MemoryStore,
    clock: &'a ManualClock,
    /// The record of this lock cannot be read.
    corrupt: Option<LockKey>,
    /// The number of writes that still succeed. All later writes fail.
    writes: AtomicU32,
    /// The time that a read of a record or of a history takes.
    read_takes: Duration,
    /// The index of the sweep still has an old entry of this lock.
    old_entry: Option<LockKey>,
    /// The number of unreadable entries in shard 0 of the sweep's index, and of unreadable runs in each page
    /// of a history.
    unreadable: usize,
    /// The shards of the sweep's index that were read, in order.
    shards: Mutex<Vec<u8>>,
    /// What happens to a grant right after the next read of a record.
    behind: Mutex<Option<(&'a Functions, Value, Behind)>>,
    /// The number of the write that fails, from 1; 0 for none.
    failing: u32,
    /// The number of the write that is carried out and gets no response, from 1; 0 for none.
    unanswered: u32,
    /// Whether the next read of a record fails.
    is_unread: AtomicBool,
    /// The number of writes so far.
    written: AtomicU32,
    /// The number of requests that still get a response. Requests for due locks, lists of locks, acts and the
    /// mode of new locks do not count and always get one.
    responses: AtomicU32,
    /// Whether a request got no response.
    is_silent: AtomicBool,
    /// The side item of this waiter cannot be read.
    damaged: Option<WaiterId>,
    /// Whether no read of a record gets a response.
    is_mute: bool,
    /// The number of the request that gets no response, from 1; 0 for none.
    lost: u32,
    /// The number of requests so far. Those that `responses` leaves out do not count.
    requests: AtomicU32,
    /// What is carried out right before the request with this number, from 1.
    between: Mutex<Option<(u32, &'a Functions, Call)>>,
}

/// A call of the holder.
pub(crate) enum Call {
    Release(Value),
    Heartbeat(Value),
}

/// What happens to a grant right after a read.
#[derive(Clone, Copy)]
pub(crate) enum Behind {
    Released,
    Failed,
    Renewed,
}

impl<'a> Faulty<'a> {
    fn of(functions: &'a Functions) -> Self {
        Self {
            table: &functions.store,
            clock: &functions.clock,
            corrupt: None,
            writes: AtomicU32::new(u32::MAX),
            read_takes: Duration::ZERO,
            old_entry: None,
            unreadable: 0,
            shards: Mutex::default(),
            behind: Mutex::default(),
            failing: 0,
            unanswered: 0,
            is_unread: AtomicBool::new(false),
            written: AtomicU32::new(0),
            responses: AtomicU32::new(u32::MAX),
            is_silent: AtomicBool::new(false),
            damaged: None,
            is_mute: false,
            lost: 0,
            requests: AtomicU32::new(0),
            between: Mutex::default(),
        }
    }

    /// Returns a table in which `call` is carried out right before the request with this number, from 1.
    pub(crate) fn with_a_call_before(functions: &'a Functions, request: u32, call: Call) -> Self {
        Self {
            between: Mutex::new(Some((request, functions, call))),
            ..Self::of(functions)
        }
    }

    /// Returns a table in which no read of a record gets a response.
    pub(crate) fn mute(functions: &'a Functions) -> Self {
        Self {
            is_mute: true,
            ..Self::of(functions)
        }
    }

    /// Returns a table in which only the request with this number, from 1, gets no response.
    pub(crate) fn losing(functions: &'a Functions, request: u32) -> Self {
        Self {
            lost: request,
            ..Self::of(functions)
        }
    }

    /// Returns a table in which the side item of `waiter` cannot be read.
    pub(crate) fn damaged_waiter(functions: &'a Functions, waiter: WaiterId) -> Self {
        Self {
            damaged: Some(waiter),
            ..Self::of(functions)
        }
    }

    /// Returns a table in which `what` happens to `grant` right after the next read of a record.
    pub(crate) fn behind_a_read(functions: &'a Functions, grant: Value, what: Behind) -> Self {
        Self {
            behind: Mutex::new(Some((functions, grant, what))),
            ..Self::of(functions)
        }
    }

    /// Returns a table in which the write with this number, from 1, fails.
    pub(crate) fn failing(functions: &'a Functions, write: u32) -> Self {
        Self {
            failing: write,
            ..Self::of(functions)
        }
    }

    /// Returns a table in which the write with this number, from 1, is carried out and gets no response. The run
    /// of `grant` fails right after the next read of a record.
    pub(crate) fn unanswered(functions: &'a Functions, grant: Value, write: u32) -> Self {
        Self {
            unanswered: write,
            ..Self::behind_a_read(functions, grant, Behind::Failed)
        }
    }

    /// Returns a table in which the next read of a record fails.
    pub(crate) fn unread(functions: &'a Functions) -> Self {
        Self {
            is_unread: AtomicBool::new(true),
            ..Self::of(functions)
        }
    }

    /// Returns the shards of the sweep's index that were read, in order.
    pub(crate) fn shards(&self) -> Vec<u8> {
        self.shards.lock().unwrap().clone()
    }

    /// Returns a table in which the record of `lock` cannot be read.
    pub(crate) fn corrupt(functions: &'a Functions, lock: &str) -> Self {
        Self {
            corrupt: Some(key(lock)),
            ..Self::of(functions)
        }
    }

    /// Returns a table in which all writes after the first `writes` ones fail, as if the caller were cut off.
    pub(crate) fn cut_off_after(functions: &'a Functions, writes: u32) -> Self {
        Self {
            writes: writes.into(),
            ..Self::of(functions)
        }
    }

    /// Returns a table in which only the first `responses` requests get a response. Requests for due locks,
    /// lists of locks, acts and the mode of new locks do not count and always get one.
    pub(crate) fn silent_after(functions: &'a Functions, responses: u32) -> Self {
        Self {
            responses: responses.into(),
            ..Self::of(functions)
        }
    }

    /// Returns whether a request got no response.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::SeqCst)
    }

    /// Returns the number of requests so far. Those that `responses` leaves out do not count.
    pub(crate) fn asked(&self) -> u32 {
        self.requests.load(Ordering::SeqCst)
    }

    async fn respond(&self) {
        let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let between = self
            .between
            .lock()
            .unwrap()
            .take_if(|(at, ..)| *at == number);
        if let Some((_, functions, call)) = between {
            let _ = match call {
                Call::Release(event) => functions.release(event).await,
                Call::Heartbeat(event) => functions.heartbeat(event).await,
            };
        }
        if spent(&self.responses) || number == self.lost {
            self.stay_silent().await;
        }
    }

    async fn stay_silent(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
        std::future::pending::<()>().await;
    }

    /// Returns a table in which the sweep's index still has an old entry of `lock`.
    pub(crate) fn old_entry(functions: &'a Functions, lock: &str) -> Self {
        Self {
            old_entry: Some(key(lock)),
            ..Self::of(functions)
        }
    }

    /// Returns a table in which `unreadable` entries of the sweep's index cannot be read, and as many runs of
    /// each page of a history.
    pub(crate) fn unreadable_entries(functions: &'a Functions, unreadable: usize) -> Self {
        Self {
            unreadable,
            ..Self::of(functions)
        }
    }

    /// Returns a table in which a read of a record or of a history takes `read_takes`.
    pub(crate) fn slow(functions: &'a Functions, read_takes: Duration) -> Self {
        Self {
            read_takes,
            ..Self::of(functions)
        }
    }
}

impl LockStore for Faulty<'_> {
    async fn commit(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        self.respond().await;
        let number = self.written.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.failing {
            return Err(StoreError::Unavailable("this write fails".into()));
        }
        if spent(&self.writes) {
            return Err(StoreError::Unavailable("cut off".into()));
        }
        let commit = self.table.commit(lock, change).await;
        if number == self.unanswered {
            std::future::pending::<()>().await;
        }
        commit
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        self.respond().await;
        if self.is_mute {
            self.stay_silent().await;
        }
        self.clock.advance(self.read_takes);
        if self.is_unread.swap(false, Ordering::SeqCst) {
            return Err(StoreError::Unavailable("this read fails".into()));
        }
        if self.corrupt.as_ref() == Some(lock) {
            return Err(StoreError::Corrupt {
                item: format!("{lock} lock"),
                attribute: "holders".into(),
                problem: "is no map".into(),
            });
        }
        let record = self.table.load(lock).await;
        let behind = self.behind.lock().unwrap().take();
        if let Some((functions, grant, what)) = behind {
            match what {
                Behind::Released => functions.succeed(&grant).await,
                Behind::Failed => functions.finish(&grant, "failed").await,
                Behind::Renewed => functions.renew(&grant).await,
            };
        }
        record
    }

    async fn new_locks(&self) -> Result<Option<Mode>, StoreError> {
        self.table.new_locks().await
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        self.respond().await;
        self.table.load_run(lock, run).await
    }

    async fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> Result<HistoryPage, StoreError> {
        self.respond().await;
        self.clock.advance(self.read_takes);
        let mut page = self.table.history(lock, after, most).await?;
        page.unreadable = self.unreadable;
        Ok(page)
    }

    async fn register(&self, lock: &LockKey, waiter: &Waiter) -> Result<(), StoreError> {
        self.respond().await;
        self.table.register(lock, waiter).await
    }

    async fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> Result<Option<Waiter>, StoreError> {
        self.respond().await;
        if self.damaged.as_ref() == Some(waiter) {
            return Err(StoreError::Corrupt {
                item: format!("{lock} waiter#{waiter}"),
                attribute: "permits".into(),
                problem: "is missing".into(),
            });
        }
        self.table.load_waiter(lock, waiter).await
    }

    async fn due(
        &self,
        of: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        self.shards.lock().unwrap().push(of);
        let mut page = self.table.due(of, until, after).await?;
        let old = self.old_entry.iter().filter(|lock| shard(lock) == of);
        page.locks.extend(old.map(|lock| DueLock {
            due: Timestamp::from_millis(0),
            lock: lock.clone(),
        }));
        if of == 0 {
            page.unreadable = self.unreadable;
        }
        Ok(page)
    }
}

impl LockIndex for Faulty<'_> {
    async fn locks(
        &self,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> Result<LocksPage, StoreError> {
        self.table.locks(prefix, after, most).await
    }

    async fn close_new_locks(&self, mode: Option<&Mode>) -> Result<Option<Mode>, StoreError> {
        self.table.close_new_locks(mode).await
    }

    async fn acts(&self, lock: &LockKey) -> Result<Vec<Act>, StoreError> {
        self.table.acts(lock).await
    }
}

/// Decrements `left`. Returns `true` if it was 0.
fn spent(left: &AtomicU32) -> bool {
    let order = Ordering::SeqCst;
    let spend = |left: u32| left.checked_sub(1);
    left.fetch_update(order, order, spend).is_err()
}
