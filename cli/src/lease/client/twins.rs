//! A client on ports in memory, for tests, and a lock table in memory whose writes fail as a test chooses.

use super::LockClient;
use crate::log::StderrSink;
use crate::platform::clock::{pause, sleep};
use lockstep::clock::SystemClock;
use lockstep::domain::{
    Change, FencingToken, LockKey, LockRecord, Mode, Retention, Run, RunId, RunOutcome, Seconds,
    Timestamp, Waiter, WaiterId,
};
use lockstep::events::memory::MemoryEvents;
use lockstep::executions::memory::MemoryExecutions;
use lockstep::protocol::Protocol;
use lockstep::service::Deps;
use lockstep::store::memory::{LockItems, MemoryStore};
use lockstep::store::{Commit, DueLock, DuePage, HistoryPage, LockStore, StoreError};
use lockstep::tasks::memory::MemoryTasks;
use lockstep::telemetry::Metrics;
use std::collections::VecDeque;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The fault of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The write is carried out, and its response takes a second.
    Slow,
    /// The write is carried out, and its response takes this long, also on the clock that leases are counted
    /// on.
    Late(Duration),
    /// The write is carried out, and its response is lost.
    AnswerLost,
    /// The write is not carried out, and fails.
    Silence,
    /// The write is not carried out, and never returns.
    Hangs,
    /// The write panics.
    Panics,
}

/// A table in memory with faults.
#[derive(Debug, Default)]
pub(crate) struct FaultyStore {
    table: MemoryStore,
    /// The faults of the next writes. A fault of a write that is carried out stays until a write whose guard
    /// holds.
    faults: Mutex<VecDeque<Fault>>,
    /// Number of releases that are still to fail.
    lost_releases: AtomicUsize,
}

/// The ports of a process, in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twins {
    store: Arc<FaultyStore>,
    executions: Arc<MemoryExecutions>,
    tasks: Arc<MemoryTasks>,
    events: Arc<MemoryEvents>,
}

/// The types of the ports of [`Twins`].
pub(crate) type InMemory = (
    Arc<FaultyStore>,
    SystemClock,
    Arc<MemoryExecutions>,
    Arc<MemoryTasks>,
    Arc<MemoryEvents>,
    StderrSink,
);

impl Twins {
    /// Creates twins whose table has these faults in its first writes.
    pub(crate) fn faulty(faults: impl IntoIterator<Item = Fault>) -> Self {
        let twins = Self::default();
        twins.store.faults.lock().unwrap().extend(faults);
        twins
    }

    /// Returns a client on these twins.
    pub(crate) fn client(&self) -> LockClient<InMemory> {
        let deps = || Deps {
            protocol: Protocol::new(Arc::clone(&self.store), SystemClock, 1),
            executions: Arc::clone(&self.executions),
            tasks: Arc::clone(&self.tasks),
            events: Arc::clone(&self.events),
            metrics: Metrics::new(StderrSink::closed(), "locks", false),
            table: "locks".into(),
            retention: Retention::both(Seconds::of(86_400)),
            run_events: false,
        };
        LockClient {
            deps: deps(),
            quiet: deps(),
            renewing: deps(),
        }
    }

    /// Makes the next `count` releases fail.
    pub(crate) fn lose_releases(&self, count: usize) {
        self.store.lost_releases.store(count, Ordering::SeqCst);
    }

    /// Returns how many injected faults are left.
    pub(crate) fn faults(&self) -> usize {
        self.store.faults.lock().unwrap().len()
    }

    /// Returns all items of `lock`.
    pub(crate) fn items(&self, lock: &str) -> LockItems {
        self.store.table.items(&LockKey::new(lock).unwrap())
    }

    /// Returns the record of `lock`, which must have been granted.
    pub(crate) fn record(&self, lock: &str) -> LockRecord {
        self.items(lock).record.unwrap()
    }

    /// Returns how the runs of `lock` ended, the oldest first.
    pub(crate) fn ends(&self, lock: &str) -> Vec<RunOutcome> {
        let runs = self.items(lock).runs.into_iter();
        let ended = runs.filter(|(id, _)| matches!(id, RunId::Token(_)));
        let ends = ended.filter_map(|(_, run)| run.end);
        ends.map(|end| end.outcome).collect()
    }

    /// Returns the reasons of the failed runs about which people get a message.
    pub(crate) fn failures(&self) -> Vec<String> {
        let events = self.events.published().into_iter();
        let failed = events.filter_map(|event| event.failed);
        failed.map(|failed| failed.reason()).collect()
    }
}

impl FaultyStore {
    /// Returns the fault of this write, if the write is not to be carried out.
    fn before(&self, change: &Change) -> Option<Fault> {
        let is_release = change.runs.iter().any(|(_, write)| write.run.end.is_some());
        let spend = |left: usize| left.checked_sub(1);
        let (order, lost) = (Ordering::SeqCst, &self.lost_releases);
        if is_release && lost.fetch_update(order, order, spend).is_ok() {
            return Some(Fault::Silence);
        }
        self.pop(|fault| matches!(fault, Fault::Silence | Fault::Hangs | Fault::Panics))
    }

    fn pop(&self, wanted: impl FnOnce(&mut Fault) -> bool) -> Option<Fault> {
        self.faults.lock().unwrap().pop_front_if(wanted)
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable("injected fault".into())
}

impl LockStore for FaultyStore {
    async fn commit(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        match self.before(change) {
            Some(Fault::Hangs) => pending::<()>().await,
            Some(Fault::Panics) => panic!("injected fault"),
            Some(_) => return Err(unavailable()),
            None => {}
        }
        let committed = self.table.commit(lock, change).await?;
        if let Commit::Committed(_) = committed {
            match self.pop(|fault| !matches!(fault, Fault::Silence)) {
                Some(Fault::Slow) => sleep(Duration::from_secs(1)).await,
                Some(Fault::Late(length)) => pause(length),
                Some(_) => return Err(unavailable()),
                None => {}
            }
        }
        Ok(committed)
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        self.table.load(lock).await
    }

    async fn new_locks(&self) -> Result<Option<Mode>, StoreError> {
        self.table.new_locks().await
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        self.table.load_run(lock, run).await
    }

    async fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> Result<HistoryPage, StoreError> {
        self.table.history(lock, after, most).await
    }

    async fn register(&self, lock: &LockKey, waiter: &Waiter) -> Result<(), StoreError> {
        self.table.register(lock, waiter).await
    }

    async fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> Result<Option<Waiter>, StoreError> {
        self.table.load_waiter(lock, waiter).await
    }

    async fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        self.table.due(shard, until, after).await
    }
}
