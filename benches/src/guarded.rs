//! Lockstep as a subject: the use cases of the functions, from JSON to a response.

use aws_sdk_dynamodb::Client;
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::{AcquireResponse, Grant, HeartbeatResponse, ReleaseResponse};
use lockstep::domain::LockKey;
use lockstep::error::Error;
use lockstep::events::memory::MemoryEvents;
use lockstep::executions::memory::MemoryExecutions;
use lockstep::protocol::Protocol;
use lockstep::service::{Deps, acquire, heartbeat, release};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::tasks::memory::MemoryTasks;
use lockstep::telemetry::{MetricSink, Metrics};
use lockstep::testing::RETENTION;
use serde_json::{Value, json};

/// The table is real. What no pair calls is in memory.
type LocalPorts<C> = (
    DynamoStore,
    C,
    MemoryExecutions,
    MemoryTasks,
    MemoryEvents,
    NoLines,
);

/// Takes metric lines, which are made as in a function, and prints none.
#[derive(Debug)]
struct NoLines;

impl MetricSink for NoLines {
    fn write(&self, line: &str) {
        std::hint::black_box(line);
    }
}

/// The use cases of Lockstep on a table.
#[derive(Debug)]
pub struct Guarded<C: Clock = SystemClock> {
    deps: Deps<LocalPorts<C>>,
}

impl Guarded {
    /// The use cases on `table`.
    #[must_use]
    pub fn new(client: Client, table: &str) -> Self {
        Self::with_clock(client, table, SystemClock, SystemClock.now().millis())
    }
}

impl<C: Clock> Guarded<C> {
    /// The use cases on `table`, by `clock`. The `seed` spreads the backoff of clients that conflict.
    #[must_use]
    pub fn with_clock(client: Client, table: &str, clock: C, seed: u64) -> Self {
        let store = DynamoStore::new(client, table.into());
        let deps = Deps {
            protocol: Protocol::new(store, clock, seed),
            executions: MemoryExecutions::default(),
            tasks: MemoryTasks::default(),
            events: MemoryEvents::default(),
            metrics: Metrics::new(NoLines, "locks", false),
            table: table.into(),
            retention: RETENTION,
            run_events: false,
        };
        Self { deps }
    }

    /// The table's adapter.
    pub fn store(&self) -> &DynamoStore {
        self.deps.store()
    }

    /// Requests a permit with `request`.
    ///
    /// # Panics
    /// When acquire-lock fails.
    pub async fn ask(&self, request: Value) -> AcquireResponse {
        let answer = self.try_ask(request).await;
        answer.unwrap_or_else(|error| panic!("acquire-lock: {error}"))
    }

    /// As [`Self::ask`], where acquire-lock may fail.
    ///
    /// # Errors
    /// The error of the function.
    pub async fn try_ask(&self, request: Value) -> Result<AcquireResponse, Error> {
        acquire::handle(&self.deps, request).await
    }

    /// Acquires the lock, unless it is held.
    pub async fn acquire(&self, lock: &str, holder: &str) -> Option<Grant> {
        match self.ask(request(lock, holder)).await {
            AcquireResponse::Granted(granted) => Some(granted.grant),
            _ => None,
        }
    }

    /// Renews the lease as exclusive-run does, which names the length of the lease: without it the request reads the lease
    /// first. `more` has more fields of the request.
    ///
    /// # Panics
    /// When heartbeat fails.
    pub async fn renew(&self, grant: &Grant, more: Value) -> HeartbeatResponse {
        let mut event = more;
        event["grant"] = json!(grant);
        event["leaseSeconds"] = json!(60);
        event["heartbeatSeconds"] = json!(20);
        let answer = heartbeat::handle(&self.deps, event).await;
        answer.unwrap_or_else(|error| panic!("heartbeat: {error}"))
    }

    /// Releases the lock after a success.
    ///
    /// # Panics
    /// When release-lock fails, or the lease was lost.
    pub async fn release(&self, grant: &Grant) {
        let answer = self.try_release(grant).await;
        let freed = matches!(answer, Ok(ReleaseResponse::Released { .. }));
        assert!(freed, "release-lock: {answer:?}");
    }

    /// As [`Self::release`], where release-lock may fail.
    ///
    /// # Errors
    /// The error of the function.
    pub async fn try_release(&self, grant: &Grant) -> Result<ReleaseResponse, Error> {
        let event = json!({ "grant": grant, "outcome": "succeeded" });
        release::handle(&self.deps, event).await
    }

    /// Acquires a free lock and releases it.
    ///
    /// # Panics
    /// When the lock is held.
    pub async fn pair(&self, lock: &str) {
        let grant = self.acquire(lock, &execution("1")).await;
        self.release(&grant.expect("a free lock")).await;
    }
}

/// A request for a lock that is skipped when the lock is held.
#[must_use]
pub fn request(lock: &str, holder: &str) -> Value {
    json!({ "lock": lock, "holder": holder })
}

/// The ARN of an execution, as a holder.
#[must_use]
pub fn execution(name: &str) -> String {
    format!("arn:aws:states:eu-west-1:123456789012:execution:nightly-report:{name}")
}

/// A lock's name as its key.
///
/// # Panics
/// When the name is not valid.
#[must_use]
pub fn key(lock: &str) -> LockKey {
    LockKey::new(lock).expect("a valid name of a lock")
}
