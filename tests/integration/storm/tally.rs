//! The requests of the clients, and the tickets that the table has shown them.

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{
    Change, FencingToken, HolderId, LockKey, LockRecord, Mode, Run, RunId, Ticket, Timestamp,
    Waiter, WaiterId,
};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::store::{Commit, DueLock, DuePage, HistoryPage, LockStore, StoreError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// The requests of all clients of a storm together.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    attempts: AtomicU32,
    calls: AtomicU32,
    busy: AtomicU32,
    contended: AtomicU32,
    tickets: Mutex<BTreeMap<WaiterId, Ticket>>,
    /// How many clients needed this many requests until they had a place or a grant.
    entries: Mutex<BTreeMap<u32, u32>>,
}

/// The store of one client. `Commit::Busy` is counted apart: how often two requests meet depends on
/// the table.
#[derive(Debug)]
pub(crate) struct Counted {
    store: DynamoStore,
    tally: Arc<Tally>,
    own: AtomicU32,
}

/// Counts each attempt on the wire, the retries of the SDK included.
#[derive(Debug)]
pub(crate) struct Attempts(pub(crate) Arc<Tally>);

impl Intercept for Attempts {
    fn name(&self) -> &'static str {
        "attempts"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.attempts.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Tally {
    pub(crate) fn ticket(&self, holder: &HolderId) -> Option<Ticket> {
        let tickets = self.tickets.lock().unwrap();
        tickets.get(&WaiterId::of(holder)).copied()
    }

    /// Counts a client that has its place or its grant after this many requests.
    pub(crate) fn entered(&self, requests: u32) {
        *self.entries.lock().unwrap().entry(requests).or_default() += 1;
    }

    pub(crate) fn met_contention(&self) {
        self.contended.fetch_add(1, Ordering::Relaxed);
    }

    /// Prints the figures. Returns the most requests that one client took to enter.
    pub(crate) fn print(&self, what: &str, begin: Timestamp) -> u32 {
        let took = SystemClock.now().millis_since(begin);
        let entries = self.entries.lock().unwrap();
        let [attempts, calls, busy, contended] =
            [&self.attempts, &self.calls, &self.busy, &self.contended]
                .map(|count| count.load(Ordering::Relaxed));
        println!(
            "{what}: {took} ms, {calls} requests in all, and apart from them {busy} that met another \
             one, {} retries of the SDK, {contended} commands tried again; requests to enter and \
             clients: {entries:?}",
            attempts - calls - busy
        );
        *entries.keys().last().expect("somebody entered")
    }

    fn learn(&self, record: Option<&LockRecord>) {
        let queue = record.iter().flat_map(|record| record.queue.iter());
        let mut tickets = self.tickets.lock().unwrap();
        tickets.extend(queue.map(|(id, ticket)| (id.clone(), *ticket)));
    }
}

impl Counted {
    pub(crate) fn new(store: DynamoStore, tally: Arc<Tally>) -> Self {
        let own = AtomicU32::default();
        Self { store, tally, own }
    }

    /// Returns the requests of this client so far.
    pub(crate) fn requests(&self) -> u32 {
        self.own.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.own.fetch_add(1, Ordering::Relaxed);
        self.tally.calls.fetch_add(1, Ordering::Relaxed);
    }
}

impl LockStore for Counted {
    async fn commit(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        let done = self.store.commit(lock, change).await;
        match &done {
            Ok(Commit::Busy) => {
                self.tally.busy.fetch_add(1, Ordering::Relaxed);
                return done;
            }
            Ok(Commit::Committed(record)) => self.tally.learn(record.as_ref()),
            Ok(Commit::Conflict(found)) => {
                self.tally
                    .learn(found.record.as_ref().and_then(Option::as_ref));
            }
            Err(_) => {}
        }
        self.count();
        done
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        self.count();
        self.store.load(lock).await
    }

    async fn new_locks(&self) -> Result<Option<Mode>, StoreError> {
        self.count();
        self.store.new_locks().await
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        self.count();
        self.store.load_run(lock, run).await
    }

    async fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> Result<HistoryPage, StoreError> {
        self.count();
        self.store.history(lock, after, most).await
    }

    async fn register(&self, lock: &LockKey, waiter: &Waiter) -> Result<(), StoreError> {
        self.count();
        self.store.register(lock, waiter).await
    }

    async fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> Result<Option<Waiter>, StoreError> {
        self.count();
        self.store.load_waiter(lock, waiter).await
    }

    async fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        self.count();
        self.store.due(shard, until, after).await
    }
}
