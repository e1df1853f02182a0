//! A client: one run after the other through the handlers of the functions, as `lockstep run` uses
//! them.

use super::clock::ClientClock;
use super::planted::Mischief;
use super::recorder::{Recorder, UnderWay};
use super::transport::Line;
use crate::fixture::NoLines;
use fastrand::Rng;
use lockstep::clock::Clock;
use lockstep::contract::ErrorName;
use lockstep::domain::{Timestamp, rfc3339};
use lockstep::error::Error;
use lockstep::events::memory::MemoryEvents;
use lockstep::executions::memory::MemoryExecutions;
use lockstep::service::{Deps, acquire, heartbeat, reap, release};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::tasks::memory::MemoryTasks;
use serde::Serialize;
use serde_json::{Value, json, to_value};
use std::sync::Arc;
use std::time::Duration;

/// The ports of a client: the table is real, and no holder is an execution or a task.
pub(super) type Ports = (
    DynamoStore,
    ClientClock,
    MemoryExecutions,
    MemoryTasks,
    MemoryEvents,
    NoLines,
);

/// How often a client repeats a call before it gives up.
const TRIES: u32 = 12;

/// One client.
pub(super) struct Client {
    pub(super) number: usize,
    pub(super) deps: Deps<Ports>,
    pub(super) line: Arc<Line>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) mischief: Arc<Mischief>,
    pub(super) dice: Rng,
    /// One heartbeat in this many is late.
    pub(super) silence: u8,
    /// The true time at which the client stops, whatever it does then.
    pub(super) end: u64,
}

/// One run, from its first request.
struct Run {
    lock: &'static str,
    holder: String,
    permits: i64,
    /// Until when the run waits; `None` if it does not wait.
    patience: Option<Timestamp>,
}

impl Client {
    /// Runs on one of `locks` after another, until the end.
    pub(super) async fn work(mut self, locks: &[(&'static str, i64)]) {
        let mut number = 0;
        while !self.is_over() {
            let (lock, permits) = locks[self.dice.usize(..locks.len())];
            let patience = self.dice.u64(1000..8000);
            let patience = Timestamp::from_millis(self.deps.now().millis() + patience);
            let run = Run {
                lock,
                holder: format!("client-{}-run-{number}", self.number),
                permits,
                patience: self.dice.bool().then_some(patience),
            };
            if let Some(grant) = self.enter(&run).await {
                self.hold(&run, &grant).await;
            }
            self.pause(100..600).await;
            number += 1;
        }
    }

    /// Sweeps until the end. A sweep answers no client, so it is not recorded.
    pub(super) async fn sweep(mut self) {
        while !self.is_over() {
            let _failed = reap::handle(&self.deps, json!({ "sweep": true })).await;
            self.pause(500..2500).await;
        }
    }

    /// Asks until a permit is granted, or until none is to be expected.
    async fn enter(&mut self, run: &Run) -> Option<Value> {
        for _ in 0..TRIES {
            let answer = self.acquire(run).await;
            match answer.as_ref().and_then(|answer| answer["status"].as_str()) {
                Some("granted" | "alreadyHeld") => return answer.map(|mut a| a["grant"].take()),
                Some("queued") => self.pause(200..1000).await,
                Some(_) => return None,
                None => {}
            }
            // Some clients die.
            if self.is_over() || self.dice.u8(..20) == 0 {
                return None;
            }
        }
        None
    }

    /// Renews for a while and releases. Some fall silent for longer than their lease, and some die.
    async fn hold(&mut self, run: &Run, grant: &Value) {
        for _ in 0..self.dice.u8(..6) {
            let silent = self.dice.u8(..self.silence) == 0;
            let wait = if silent { 4000..7000 } else { 300..1800 };
            self.pause(wait).await;
            let is_lost = self.heartbeat(run, grant).await == Some(json!("lost"));
            if self.is_over() || is_lost && self.dice.bool() {
                return;
            }
        }
        self.pause(50..800).await;
        if self.is_over() || self.dice.u8(..10) == 0 {
            return;
        }
        for _ in 0..TRIES {
            if self.release(run, grant).await.is_some() {
                break;
            }
        }
        match self.dice.u8(..8) {
            0 => drop(self.heartbeat(run, grant).await),
            1 => drop(self.release(run, grant).await),
            _ => {}
        }
    }

    async fn acquire(&mut self, run: &Run) -> Option<Value> {
        let permits = self
            .mischief
            .planted
            .map_or(run.permits, |planted| planted.permits(run.permits));
        let mut event = json!({
            "lock": run.lock, "holder": run.holder, "permits": permits,
            "leaseSeconds": 3, "heartbeatSeconds": 1,
        });
        let mut about = json!({ "call": "acquire", "queue": run.patience.is_some() });
        if let Some(until) = run.patience {
            event["overlap"] = json!("queue");
            event["waitUntil"] = json!(rfc3339(until));
            about["waitUntil"] = json!(until.millis());
        }
        let began = self.begin(run, about);
        let answer = acquire::handle(&self.deps, event).await;
        self.end(run, began, answer)
    }

    async fn heartbeat(&mut self, run: &Run, grant: &Value) -> Option<Value> {
        let began = self.begin(run, json!({ "call": "heartbeat", "token": grant["token"] }));
        let event = json!({ "grant": self.whole(run, grant) });
        let answer = heartbeat::handle(&self.deps, event).await;
        let lost = |answer: Value| match answer["error"].is_null() {
            true => answer["status"].clone(),
            false => json!("lost"),
        };
        self.end(run, began, answer).map(lost)
    }

    async fn release(&mut self, run: &Run, grant: &Value) -> Option<Value> {
        let began = self.begin(run, json!({ "call": "release", "token": grant["token"] }));
        let event = json!({ "grant": self.whole(run, grant), "outcome": "succeeded" });
        let answer = release::handle(&self.deps, event).await;
        self.end(run, began, answer)
    }

    /// Returns the receipt of a grant. A planted fault may have left only its token.
    fn whole(&self, run: &Run, grant: &Value) -> Value {
        json!({ "lock": run.lock, "holder": run.holder, "token": grant["token"] })
    }

    fn begin(&self, run: &Run, mut about: Value) -> (Value, Arc<UnderWay>) {
        let time = self.clock().time;
        let under_way = UnderWay::none(time);
        self.line.begin(&under_way);
        about["client"] = json!(self.number);
        about["lock"] = json!(run.lock);
        about["holder"] = json!(run.holder);
        about["invoked"] = json!(time.micros());
        (about, under_way)
    }

    /// Records the end of a call. Returns the answer, or `None` if it is unknown.
    fn end(
        &self,
        run: &Run,
        (mut about, under_way): (Value, Arc<UnderWay>),
        answer: Result<impl Serialize, Error>,
    ) -> Option<Value> {
        let answer = match answer {
            Ok(answer) => Some(to_value(answer).expect("an answer is JSON")),
            Err(error) if error.name() == ErrorName::LeaseLost => {
                Some(json!({ "error": error.name().as_str() }))
            }
            Err(error) => {
                // A planted fault may damage the record.
                let expected = error.name().is_retryable() || self.mischief.planted.is_some();
                assert!(expected, "{}: {error}", run.holder);
                None
            }
        };
        let now = self.deps.now();
        let answer = answer.map(|answer| self.mischief.distort(run.lock, answer, now));
        about["returned"] = json!(self.clock().time.micros());
        about["answer"] = json!(answer);
        let told = answer
            .as_ref()
            .map(|answer| [&answer["status"], &answer["error"]]);
        let told = told.and_then(|fields| fields.into_iter().find_map(Value::as_str));
        let call = about["call"].as_str().unwrap_or_default();
        self.line
            .count(format!("{call} {}", told.unwrap_or("unknown")));
        self.recorder.add(about, under_way);
        answer
    }

    /// Waits for some milliseconds of the history's time.
    async fn pause(&mut self, millis: std::ops::Range<u64>) {
        let length = Duration::from_millis(self.dice.u64(millis));
        self.clock().sleep(length).await;
    }

    fn is_over(&self) -> bool {
        self.clock().time.micros() >= self.end
    }

    fn clock(&self) -> ClientClock {
        *self.deps.clock()
    }
}
