//! A lock on DynamoDB Local, behind a wire that counts requests. Its clock advances by 5 ms a
//! command.

mod commands;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
pub(crate) use commands::{
    acquire, acquire_tick, audit_note, beat, drop_waiter, evict, holder, note_task, paced, place,
    recover, release, release_tick, renew, run_key, turn, wait, woken,
};
use lockstep::clock::{Clock, ManualClock};
use lockstep::domain::{
    Acquire, Command, FencingToken, LockKey, LockRecord, Outcome, Recover, Release, Renew,
    Timestamp, Waiter, WaiterId,
};
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::store::dynamodb::DynamoStore;
use lockstep::telemetry::MetricSink;
use lockstep_tests::dynamodb_local::{Retries, Table, client};
use lockstep_tests::units::Item;
use lockstep_tests::wire::Wire;
use std::time::Duration;

/// When the tests begin: 2026-01-01T00:00:00Z.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A sink that drops metric lines.
#[derive(Debug)]
pub(crate) struct NoLines;

impl MetricSink for NoLines {
    fn write(&self, _: &str) {}
}

/// A command, or the fields of one that still have to be wrapped.
pub(crate) trait Ask {
    fn ask(self) -> Command;
}

impl Ask for Command {
    fn ask(self) -> Command {
        self
    }
}

impl Ask for Acquire {
    fn ask(self) -> Command {
        Command::Acquire(self)
    }
}

impl Ask for Renew {
    fn ask(self) -> Command {
        Command::Renew(self)
    }
}

impl Ask for Release {
    fn ask(self) -> Command {
        Command::Release(self)
    }
}

impl Ask for Recover {
    fn ask(self) -> Command {
        Command::Recover(self)
    }
}

pub(crate) struct Fixture {
    pub(crate) table: Table,
    pub(crate) wire: Wire,
    pub(crate) lock: LockKey,
    /// A client straight to the table, past the wire.
    pub(crate) client: Client,
    protocol: Protocol<DynamoStore, ManualClock>,
}

impl Fixture {
    pub(crate) async fn new(test: &str) -> Self {
        Self::with(test, Retries::AsDeployed).await
    }

    pub(crate) async fn with(test: &str, retries: Retries) -> Self {
        let table = Table::new(test).await;
        let wire = Wire::to(table.endpoint).await;
        let through = client(wire.endpoint(), retries).await;
        let store = DynamoStore::new(through, table.name.clone());
        Self {
            client: table.client().await,
            table,
            wire,
            lock: LockKey::new("nightly-report").unwrap(),
            protocol: Protocol::new(store, ManualClock::at(START), 1),
        }
    }

    /// Returns a fixture whose lock was acquired and released once. No request counts yet.
    pub(crate) async fn used(test: &str) -> Self {
        let fixture = Self::new(test).await;
        let token = fixture.granted(acquire("earlier")).await;
        fixture.done(release("earlier", token)).await;
        fixture.settle();
        fixture
    }

    /// Returns a [`used`](Self::used) lock that `a` holds, and the token of the grant. No request
    /// counts yet.
    pub(crate) async fn held(test: &str) -> (Self, FencingToken) {
        let fixture = Self::used(test).await;
        let token = fixture.granted(acquire("a")).await;
        fixture.settle();
        (fixture, token)
    }

    pub(crate) async fn execute(&self, command: impl Ask) -> Result<Done, ProtocolError> {
        let done = self.protocol.execute(&self.lock, &command.ask()).await;
        self.protocol.clock().advance(Duration::from_millis(5));
        done
    }

    /// Executes a command that must not fail.
    pub(crate) async fn done(&self, command: impl Ask) -> Done {
        let command = command.ask();
        let done = self.execute(command.clone()).await;
        done.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Executes a command that must not fail, and returns only its outcome.
    pub(crate) async fn outcome(&self, command: impl Ask) -> Outcome {
        self.done(command).await.outcome
    }

    /// Acquires, and returns the token of the grant.
    pub(crate) async fn granted(&self, acquire: Acquire) -> FencingToken {
        let done = self.done(acquire).await;
        assert!(
            matches!(done.outcome, Outcome::Granted { .. }),
            "{:?}",
            done.outcome
        );
        done.outcome.token().unwrap()
    }

    /// Puts waiters into the queue in this order. No request counts yet.
    pub(crate) async fn queued(&self, names: &[&str]) {
        for name in names {
            place(&self.outcome(wait(name)).await);
        }
        self.settle();
    }

    /// Returns the table as the protocol sees it.
    pub(crate) fn store(&self) -> &DynamoStore {
        self.protocol.store()
    }

    /// Returns the record of the lock.
    pub(crate) async fn record(&self) -> LockRecord {
        let record = self.store().load(&self.lock).await.unwrap();
        record.expect("a record")
    }

    /// Returns the recovery of a holder whose execution was seen to have ended, under its present
    /// lease.
    pub(crate) async fn recovery(&self, name: &str, token: FencingToken) -> Recover {
        let record = self.record().await;
        let lease = record.lease(&holder(name), token).expect("it holds");
        Recover {
            seen: lease.version(),
            ..recover(name, token)
        }
    }

    /// Returns the side item of a waiter.
    pub(crate) async fn waiter(&self, name: &str) -> Option<Waiter> {
        let id = WaiterId::of(&holder(name));
        let waiter = self.store().load_waiter(&self.lock, &id).await;
        waiter.unwrap()
    }

    /// Returns all locks of a shard that are due at any time, and how many entries cannot be read.
    pub(crate) async fn all_due(&self, shard: u8) -> (Vec<LockKey>, usize) {
        let (mut found, mut unreadable, mut after) = (Vec::new(), 0, None);
        loop {
            let page = self
                .store()
                .due(shard, Timestamp::MAX, after.as_ref())
                .await;
            let page = page.unwrap();
            found.extend(page.locks.into_iter().map(|due| due.lock));
            unreadable += page.unreadable;
            after = page.next;
            if after.is_none() {
                return (found, unreadable);
            }
        }
    }

    /// Reads an item of the lock past the protocol.
    pub(crate) async fn item(&self, sort: &str) -> Item {
        let request = self.client.get_item().table_name(&self.table.name);
        let request = request.set_key(Some(self.key(sort))).consistent_read(true);
        request.send().await.unwrap().item.expect("the item")
    }

    /// Writes an item past the protocol.
    pub(crate) async fn put(&self, item: Item) {
        let request = self.client.put_item().table_name(&self.table.name);
        request.set_item(Some(item)).send().await.unwrap();
    }

    /// Returns the key of an item of the lock.
    pub(crate) fn key(&self, sort: &str) -> Item {
        let pairs = [("pk", self.lock.as_str()), ("sk", sort)];
        let text = |text: &str| AttributeValue::S(text.into());
        pairs
            .map(|(name, value)| (name.to_owned(), text(value)))
            .into()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.protocol.clock().now()
    }

    pub(crate) fn advance(&self, length: Duration) {
        self.protocol.clock().advance(length);
    }

    /// Resets the counts of requests.
    pub(crate) fn settle(&self) {
        drop(self.wire.take_counts());
    }

    /// Returns the requests since the last call as `operation count`, sorted by name.
    pub(crate) fn requests(&self) -> Vec<String> {
        let counts = self.wire.take_counts().into_iter();
        counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect()
    }
}
