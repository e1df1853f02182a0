//! The functions as a caller sees them: JSON in, JSON or a named error out. Their table is in
//! memory, so that "nothing was written" can be checked.

use lockstep::clock::ManualClock;
use lockstep::domain::{HolderId, LockKey, LockRecord, Permits, RunId, Seconds, Timestamp};
use lockstep::error::Error;
use lockstep::executions::memory::MemoryExecutions;
use lockstep::protocol::Protocol;
use lockstep::store::LockStore;
use lockstep::store::memory::MemoryStore;
use lockstep::telemetry::{MetricSink, Metrics};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Mutex;

/// All functions on one table in memory.
pub(crate) struct Functions {
    pub(crate) store: MemoryStore,
    pub(crate) clock: ManualClock,
    pub(crate) executions: MemoryExecutions,
    pub(crate) metrics: Lines,
}

/// Metric lines, kept.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Vec<String>>);

impl Lines {
    pub(crate) fn all(&self) -> Vec<Value> {
        let lines = self.0.lock().unwrap();
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl MetricSink for &Lines {
    fn write(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

pub(crate) type Answer = Result<Value, Error>;

impl Functions {
    pub(crate) fn new() -> Self {
        Self {
            store: MemoryStore::default(),
            clock: ManualClock::at(Timestamp::from_millis(1_772_344_800_000)),
            executions: MemoryExecutions::default(),
            metrics: Lines::default(),
        }
    }

    fn protocol(&self) -> Protocol<&MemoryStore, &ManualClock> {
        Protocol::new(&self.store, &self.clock, 1)
    }

    pub(crate) async fn acquire(&self, event: Value) -> Answer {
        let deps = acquire_lock::Deps {
            protocol: self.protocol(),
            metrics: Metrics::new(&self.metrics, false),
            table: "locks".into(),
            run_retention: Seconds::of(86_400),
        };
        to_json(acquire_lock::handle(&deps, event).await)
    }

    pub(crate) async fn heartbeat(&self, event: Value) -> Answer {
        let deps = heartbeat::Deps {
            protocol: self.protocol(),
            executions: &self.executions,
            metrics: Metrics::new(&self.metrics, false),
        };
        to_json(heartbeat::handle(&deps, event).await)
    }

    pub(crate) async fn release(&self, event: Value) -> Answer {
        let deps = release_lock::Deps {
            protocol: self.protocol(),
            executions: &self.executions,
            metrics: Metrics::new(&self.metrics, false),
            run_retention: Seconds::of(86_400),
        };
        to_json(release_lock::handle(&deps, event).await)
    }

    pub(crate) async fn check_running(&self, event: Value) -> Answer {
        to_json(check_running_executions::handle(&self.executions, event).await)
    }

    pub(crate) async fn record(&self, lock: &str) -> Option<LockRecord> {
        self.store.load(&LockKey::new(lock).unwrap()).await.unwrap()
    }

    /// A grant of `lock` to `holder`, as its receipt.
    pub(crate) async fn granted(&self, lock: &str, holder: &str) -> Value {
        let answer = self
            .acquire(json!({ "lock": lock, "holder": holder }))
            .await
            .unwrap();
        assert_eq!(answer["status"], "granted", "{answer}");
        answer["grant"].clone()
    }
}

fn to_json<T: Serialize>(answer: Result<T, Error>) -> Answer {
    answer.map(|response| serde_json::to_value(response).unwrap())
}

#[tokio::test]
async fn a_grant_renews_and_releases_and_the_lock_is_free() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;

    let beat = functions
        .heartbeat(json!({ "grant": grant }))
        .await
        .unwrap();
    let end = functions
        .release(json!({ "grant": grant, "outcome": "succeeded" }))
        .await
        .unwrap();

    assert_eq!(beat["status"], "renewed");
    assert_eq!(end["status"], "released");
    assert!(
        functions
            .record("nightly")
            .await
            .unwrap()
            .holders
            .is_empty()
    );
}

#[tokio::test]
async fn releasing_twice_is_harmless_and_says_so() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    let release = json!({ "grant": grant, "outcome": "succeeded" });

    let first = functions.release(release.clone()).await.unwrap();
    let second = functions.release(release).await.unwrap();

    assert_eq!(first["alreadyReleased"], false);
    assert_eq!(second["status"], "released");
    assert_eq!(second["alreadyReleased"], true);
}

#[tokio::test]
async fn a_release_ends_the_state_that_keeps_the_lease_exactly_once() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    let beat = json!({ "grant": grant, "taskToken": "AQC-secret" });
    functions.heartbeat(beat).await.unwrap();
    let release = json!({ "grant": grant, "outcome": "succeeded" });

    functions.release(release.clone()).await.unwrap();
    functions.release(release).await.unwrap();

    let ended: Vec<_> = functions.executions.ended();
    assert_eq!(
        ended.iter().map(|token| token.reveal()).collect::<Vec<_>>(),
        ["AQC-secret"]
    );
}

#[tokio::test]
async fn a_beat_that_comes_after_the_release_ends_its_own_state_instead_of_losing_the_lease() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", "run-1").await;
    functions
        .release(json!({ "grant": grant, "outcome": "succeeded" }))
        .await
        .unwrap();

    let beat = json!({ "grant": grant, "taskToken": "AQC-late" });
    let answer = functions.heartbeat(beat).await.unwrap();

    assert_eq!(answer["status"], "ended");
    assert_eq!(functions.executions.ended()[0].reveal(), "AQC-late");
}

#[tokio::test]
async fn a_late_finisher_cannot_touch_its_successor() {
    let functions = Functions::new();
    let old = functions.granted("nightly", "run-1").await;
    functions.clock.advance(std::time::Duration::from_secs(62));
    let new = functions.granted("nightly", "run-2").await;

    let beat = functions
        .heartbeat(json!({ "grant": old }))
        .await
        .unwrap_err();
    let end = functions
        .release(json!({ "grant": old, "outcome": "succeeded" }))
        .await
        .unwrap();

    assert_eq!(beat.name().as_str(), "Lockstep.LeaseLost");
    assert!(beat.message().contains("run-2"), "{}", beat.message());
    assert_eq!(end, json!({ "status": "lost", "holders": ["run-2"] }));
    let record = functions.record("nightly").await.unwrap();
    let token = record.holders[&HolderId::new("run-2").unwrap()].token;
    assert_eq!(token.number(), new["token"].as_u64().unwrap());
}

#[tokio::test]
async fn one_success_per_run_key_and_a_failure_frees_the_key() {
    let functions = Functions::new();
    let ask = |holder: &str| json!({ "lock": "nightly", "holder": holder, "runKey": "tick-6" });
    let first = functions.acquire(ask("run-1")).await.unwrap();
    functions
        .release(json!({ "grant": first["grant"], "outcome": "failed" }))
        .await
        .unwrap();
    functions.clock.advance(std::time::Duration::from_secs(1));

    let second = functions.acquire(ask("run-2")).await.unwrap();
    functions
        .release(json!({ "grant": second["grant"], "outcome": "succeeded" }))
        .await
        .unwrap();
    let third = functions.acquire(ask("run-3")).await.unwrap();

    assert_eq!(second["status"], "granted");
    assert_eq!(third["status"], "duplicate");
    assert_eq!(third["holder"], "run-2");
    let key = RunId::Key(lockstep::domain::RunKey::new("tick-6").unwrap());
    let run = functions
        .store
        .load_run(&LockKey::new("nightly").unwrap(), &key)
        .await
        .unwrap();
    assert_eq!(run.unwrap().holder.as_str(), "run-2");
}

#[tokio::test]
async fn metrics_tell_grants_skips_takeovers_and_held_time() {
    let functions = Functions::new();
    functions.granted("nightly", "run-1").await;
    functions
        .acquire(json!({ "lock": "nightly", "holder": "run-2" }))
        .await
        .unwrap();
    functions.clock.advance(std::time::Duration::from_secs(62));
    let grant = functions.granted("nightly", "run-3").await;
    functions.clock.advance(std::time::Duration::from_secs(5));
    functions
        .release(json!({ "grant": grant, "outcome": "succeeded" }))
        .await
        .unwrap();

    let lines = functions.metrics.all();

    assert_eq!(lines[0]["Acquired"], 1.0);
    assert_eq!(lines[1]["Skipped"], 1.0);
    assert_eq!(lines[2]["TakenOver"], 1.0);
    assert_eq!(lines[3]["HeldSeconds"], 5.0);
}

#[tokio::test]
async fn capacity_can_change_once_nobody_holds_the_lock() {
    let functions = Functions::new();
    let ask = |holder: &str| json!({ "lock": "api", "holder": holder, "permits": 3 });
    let grant = functions.granted("api", "run-1").await;

    let held = functions.acquire(ask("run-2")).await.unwrap_err();
    functions
        .release(json!({ "grant": grant, "outcome": "succeeded" }))
        .await
        .unwrap();
    let free = functions.acquire(ask("run-2")).await.unwrap();

    assert_eq!(held.name().as_str(), "Lockstep.PermitsMismatch");
    assert_eq!(free["status"], "granted");
    assert_eq!(
        functions.record("api").await.unwrap().permits,
        Permits::new(3).unwrap()
    );
}
