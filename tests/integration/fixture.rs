//! A lock on DynamoDB Local, seen through a wire that counts, at a time that stands still.

use lockstep::clock::ManualClock;
use lockstep::domain::{
    Acquire, Command, FencingToken, HolderId, LockKey, Outcome, Permits, Release, Renew, RunKey,
    RunOutcome, Seconds, TaskToken, Timestamp,
};
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::dynamodb::DynamoStore;
use lockstep_tests::dynamodb_local::{Retries, Table, client};
use lockstep_tests::wire::Wire;
use std::time::Duration;

/// When the tests begin: 2026-01-01T00:00:00Z.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// What can be asked of a lock, without the wrapping.
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

pub(crate) struct Fixture {
    pub(crate) table: Table,
    pub(crate) wire: Wire,
    pub(crate) lock: LockKey,
    protocol: Protocol<DynamoStore, ManualClock>,
}

impl Fixture {
    pub(crate) async fn new(test: &str) -> Self {
        Self::with(test, Retries::AsDeployed).await
    }

    pub(crate) async fn with(test: &str, retries: Retries) -> Self {
        let table = Table::new(test).await;
        let wire = Wire::to(table.endpoint).await;
        let client = client(wire.endpoint(), retries).await;
        let store = DynamoStore::new(client, table.name.clone());
        Self {
            table,
            wire,
            lock: LockKey::new("nightly-report").unwrap(),
            protocol: Protocol::new(store, ManualClock::at(START), 1),
        }
    }

    /// A fixture whose lock was acquired and released before, and is free for two.
    pub(crate) async fn used(test: &str) -> Self {
        let fixture = Self::new(test).await;
        let token = fixture.granted(acquire("earlier")).await;
        fixture.done(release("earlier", token)).await;
        fixture.settle();
        fixture
    }

    pub(crate) async fn execute(&self, command: impl Ask) -> Result<Done, ProtocolError> {
        let done = self.protocol.execute(&self.lock, &command.ask()).await;
        self.protocol.clock().advance(Duration::from_millis(5));
        done
    }

    /// Carries out a command that must not fail.
    pub(crate) async fn done(&self, command: impl Ask) -> Done {
        let command = command.ask();
        let done = self.execute(command.clone()).await;
        done.unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Acquires, and gives the token of the grant.
    pub(crate) async fn granted(&self, acquire: Acquire) -> FencingToken {
        let done = self.done(acquire).await;
        assert!(
            matches!(done.outcome, Outcome::Granted { .. }),
            "{:?}",
            done.outcome
        );
        done.outcome.token().unwrap()
    }

    pub(crate) fn advance(&self, length: Duration) {
        self.protocol.clock().advance(length);
    }

    /// Forgets the requests so far.
    pub(crate) fn settle(&self) {
        drop(self.wire.take_counts());
    }

    /// The requests since the last look, as `operation count` sorted by name.
    pub(crate) fn requests(&self) -> Vec<String> {
        let counts = self.wire.take_counts().into_iter();
        counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect()
    }
}

pub(crate) fn holder(name: &str) -> HolderId {
    let machine = "arn:aws:states:eu-west-1:123456789012:execution:nightly";
    HolderId::new(format!("{machine}:{name}")).unwrap()
}

pub(crate) fn run_key() -> RunKey {
    RunKey::new("arn:aws:scheduler:eu-west-1:123456789012:schedule/nightly#2026-01-01").unwrap()
}

pub(crate) fn beat() -> TaskToken {
    TaskToken::new("AQCEAAAAKgAAAAMAAAAAAAAAAc8heartbeat").unwrap()
}

pub(crate) fn acquire(name: &str) -> Acquire {
    Acquire {
        holder: holder(name),
        permits: Permits::ONE,
        lease: Seconds::of(60),
        max_run: None,
        min_interval: None,
        run_key: None,
        retention: Seconds::of(86_400),
    }
}

pub(crate) fn acquire_tick(name: &str) -> Acquire {
    Acquire {
        run_key: Some(run_key()),
        ..acquire(name)
    }
}

pub(crate) fn renew(name: &str, token: FencingToken) -> Renew {
    Renew {
        holder: holder(name),
        token,
        run_key: None,
        beat: Some(beat()),
    }
}

pub(crate) fn release(name: &str, token: FencingToken) -> Release {
    Release {
        holder: holder(name),
        token,
        run_key: None,
        outcome: RunOutcome::Succeeded,
        retention: Seconds::of(86_400),
    }
}

pub(crate) fn release_tick(name: &str, token: FencingToken) -> Release {
    Release {
        run_key: Some(run_key()),
        ..release(name, token)
    }
}
