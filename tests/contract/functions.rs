//! The functions as a caller sees them: JSON in, and JSON or a named error out. The table, Step Functions,
//! ECS and the event bus are in memory, so that tests can check every request to them.

use crate::schema::assert_keeps_schema;
use lockstep::clock::{Clock, ManualClock};
use lockstep::contract::EventKind;
use lockstep::domain::{
    Command, FencingToken, LockKey, LockRecord, Outcome, Retention, Run, RunId, RunKey, Seconds,
    TaskToken, Timestamp,
};
use lockstep::error::Error;
use lockstep::events::EventDetail;
use lockstep::events::memory::MemoryEvents;
use lockstep::executions::memory::MemoryExecutions;
use lockstep::protocol::Protocol;
use lockstep::service::{Deps, acquire, check_running, heartbeat, reap, release};
use lockstep::store::memory::MemoryStore;
use lockstep::store::{LockIndex, LockStore};
use lockstep::tasks::memory::MemoryTasks;
use lockstep::telemetry::{MetricSink, Metrics};
use lockstep_operate::acts;
use lockstep_operate::contract::Surface;
use lockstep_tests::schedules::MemorySchedules;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;

/// All functions on one table in memory.
pub(crate) struct Functions {
    pub(crate) store: MemoryStore,
    pub(crate) clock: ManualClock,
    pub(crate) executions: MemoryExecutions,
    pub(crate) schedules: MemorySchedules,
    pub(crate) tasks: MemoryTasks,
    pub(crate) events: MemoryEvents,
    pub(crate) metrics: Lines,
    /// Whether the start and the end of each run are published as events.
    pub(crate) run_events: bool,
    pub(crate) retention: Retention,
}

/// The metric lines that were written.
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

type InMemory<'a, S> = (
    S,
    &'a ManualClock,
    &'a MemoryExecutions,
    &'a MemoryTasks,
    &'a MemoryEvents,
    &'a Lines,
);

/// The retention of these functions.
pub(crate) const RETENTION: Retention = Retention {
    history: Seconds::of(172_800),
    run_keys: Seconds::of(86_400),
};

impl Functions {
    /// Returns the functions with an empty table, at 2026-03-01T06:00:00Z.
    pub(crate) fn new() -> Self {
        Self {
            store: MemoryStore::default(),
            clock: ManualClock::at(Timestamp::from_millis(1_772_344_800_000)),
            executions: MemoryExecutions::default(),
            schedules: MemorySchedules::default(),
            tasks: MemoryTasks::default(),
            events: MemoryEvents::default(),
            metrics: Lines::default(),
            run_events: false,
            retention: RETENTION,
        }
    }

    pub(crate) fn deps_on<S: LockStore>(&self, store: S) -> Deps<InMemory<'_, S>> {
        Deps {
            protocol: Protocol::new(store, &self.clock, 1),
            executions: &self.executions,
            tasks: &self.tasks,
            events: &self.events,
            metrics: Metrics::new(&self.metrics, "locks", false),
            table: "locks".into(),
            retention: self.retention,
            run_events: self.run_events,
        }
    }

    pub(crate) async fn acquire(&self, event: Value) -> Answer {
        self.acquire_on(&self.store, event).await
    }

    pub(crate) async fn acquire_on<S: LockStore>(&self, store: S, event: Value) -> Answer {
        let answer = acquire::handle(&self.deps_on(store), event.clone()).await;
        checked("acquire-lock", &event, answer)
    }

    pub(crate) async fn heartbeat(&self, event: Value) -> Answer {
        self.heartbeat_on(&self.store, event).await
    }

    pub(crate) async fn heartbeat_on<S: LockStore>(&self, store: S, event: Value) -> Answer {
        let answer = heartbeat::handle(&self.deps_on(store), event.clone()).await;
        checked("heartbeat", &event, answer)
    }

    pub(crate) async fn release(&self, event: Value) -> Answer {
        self.release_on(&self.store, event).await
    }

    pub(crate) async fn release_on<S: LockStore>(&self, store: S, event: Value) -> Answer {
        let answer = release::handle(&self.deps_on(store), event.clone()).await;
        checked("release-lock", &event, answer)
    }

    pub(crate) async fn reap(&self, event: Value) -> Answer {
        self.reap_on(&self.store, event).await
    }

    pub(crate) async fn reap_on<S: LockStore>(&self, store: S, event: Value) -> Answer {
        let report = reap::handle(&self.deps_on(store), event).await;
        report.map(|report| serde_json::to_value(report).unwrap())
    }

    pub(crate) async fn check_running(&self, event: Value) -> Answer {
        let answer = check_running::handle(&self.executions, event.clone()).await;
        checked("check-running-executions", &event, answer)
    }

    pub(crate) async fn operate(&self, event: Value) -> Answer {
        self.operate_on(&self.store, event).await
    }

    pub(crate) async fn operate_on<S: LockIndex>(&self, store: S, event: Value) -> Answer {
        let deps = self.deps_on(store);
        let answer = acts::handle(&deps, &self.schedules, Surface::Operate, event.clone()).await;
        checked("operate", &event, answer)
    }

    pub(crate) async fn view(&self, event: Value) -> Answer {
        let deps = self.deps_on(&self.store);
        let answer = acts::handle(&deps, &self.schedules, Surface::View, event.clone()).await;
        checked("operate", &event, answer)
    }

    /// Carries out a command directly, with the effects that remain after its commit.
    pub(crate) async fn command(&self, lock: &str, command: Command) -> Outcome {
        let deps = self.deps_on(&self.store);
        deps.execute(&key(lock), &command).await.unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn record(&self, lock: &str) -> Option<LockRecord> {
        self.store.load(&key(lock)).await.unwrap()
    }

    /// Returns the holders of `lock`, oldest grant first.
    pub(crate) async fn holders(&self, lock: &str) -> Vec<String> {
        let record = self.record(lock).await;
        let holders = record.map(|record| record.oldest_first());
        let holders = holders.unwrap_or_default().into_iter();
        holders.map(|(holder, _)| holder.to_string()).collect()
    }

    /// Returns the run of `grant` in the history of its lock.
    pub(crate) fn run_of(&self, grant: &Value) -> Option<Run> {
        let token = grant["token"].as_u64().expect("a receipt has a token");
        let id = RunId::Token(FencingToken::from_number(token));
        let mut items = self.store.items(&key(grant["lock"].as_str().unwrap()));
        items.runs.remove(&id)
    }

    /// Returns the marker of a run key.
    pub(crate) fn marker(&self, lock: &str, run_key: &str) -> Option<Run> {
        let id = RunId::Key(RunKey::new(run_key).unwrap());
        self.store.items(&key(lock)).runs.remove(&id)
    }

    /// Returns the output with which the state of `token` was ended. Returns `None` if it was not ended.
    pub(crate) fn output(&self, token: &str) -> Option<Value> {
        let output = self.executions.output(&task_token(token))?;
        Some(serde_json::from_str(&output).expect("an output is JSON"))
    }

    /// Acquires `lock` for `holder`, and returns the receipt of the grant.
    pub(crate) async fn granted(&self, lock: &str, holder: &str) -> Value {
        self.granted_with(json!({ "lock": lock, "holder": holder }))
            .await
    }

    /// Sends `request` to acquire-lock, and returns the receipt of the grant.
    pub(crate) async fn granted_with(&self, request: Value) -> Value {
        let answer = self.acquire(request).await.unwrap();
        assert_eq!(answer["status"], "granted", "{answer}");
        answer["grant"].clone()
    }
}

pub(crate) fn key(lock: &str) -> LockKey {
    LockKey::new(lock).unwrap()
}

pub(crate) fn task_token(token: &str) -> TaskToken {
    TaskToken::new(token).unwrap()
}

/// Checks every event of every test: it keeps its schema, has a holder unless it is about the lock itself,
/// and has a reason and an advice.
impl Drop for Functions {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for event in self.events.published() {
            let detail = serde_json::to_value(EventDetail::from(&event)).unwrap();
            assert_keeps_schema("event.detail.json", &detail);
            let of_lock = [
                EventKind::LockPaused,
                EventKind::LockResumed,
                EventKind::RunMissing,
                EventKind::RestCleared,
                EventKind::RunForgotten,
            ];
            let of_lock = of_lock.contains(&event.kind);
            assert!(event.holder.is_some() || of_lock, "{detail}");
            assert!(
                !event.reason.is_empty() && !event.advice.is_empty(),
                "{detail}"
            );
        }
    }
}

/// Checks that an answered request and its answer keep their schemas, and returns the answer.
fn checked<T: Serialize>(function: &str, request: &Value, answer: Result<T, Error>) -> Answer {
    let answer = serde_json::to_value(answer?).unwrap();
    assert_keeps_schema(&format!("{function}.request.json"), request);
    assert_keeps_schema(&format!("{function}.response.json"), &answer);
    Ok(answer)
}
