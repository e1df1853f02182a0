//! The calls of the clients and their answers, as JSON lines for `tests/linear/check`.

use super::clock::TrueTime;
use lockstep::clock::{Clock, SystemClock};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The requests of one operation on their way to the table.
#[derive(Debug)]
pub(super) struct UnderWay {
    time: TrueTime,
    requests: AtomicU64,
    /// When the last of these requests had arrived, or was lost, in microseconds.
    settled: AtomicU64,
    /// How many requests may take effect after their sender has given up.
    strays: AtomicU64,
}

/// The response to a request. Unless it is received before it is dropped, the request is a stray.
#[derive(Debug)]
pub(super) struct Awaited(Option<Arc<UnderWay>>);

/// One request. It is under way until it is dropped.
#[derive(Debug)]
pub(super) struct Parcel(Arc<UnderWay>);

impl UnderWay {
    pub(super) fn none(time: TrueTime) -> Arc<Self> {
        Arc::new(Self {
            time,
            requests: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            strays: AtomicU64::new(0),
        })
    }

    pub(super) fn send(self: &Arc<Self>) -> Parcel {
        self.requests.fetch_add(1, Ordering::SeqCst);
        Parcel(Arc::clone(self))
    }
}

impl Awaited {
    /// Notes that the sender has the response, or knows that there is none.
    pub(super) fn received(mut self) {
        self.0 = None;
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(under_way) = &self.0 {
            under_way.strays.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Parcel {
    /// Returns the response to this request.
    pub(super) fn response(&self) -> Awaited {
        Awaited(Some(Arc::clone(&self.0)))
    }

    /// Returns a copy of this request, which is under way too.
    pub(super) fn again(&self) -> Self {
        self.0.send()
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let now = self.0.time.micros();
        self.0.settled.fetch_max(now, Ordering::SeqCst);
        self.0.requests.fetch_sub(1, Ordering::SeqCst);
    }
}

/// All operations of a history.
#[derive(Debug)]
pub(super) struct Recorder {
    header: Value,
    entries: Mutex<Vec<(Value, Arc<UnderWay>)>>,
}

impl Recorder {
    /// Returns an empty history of `locks` with their permits. Clocks differ from the true time by
    /// at most `skew` milliseconds.
    pub(super) fn of(locks: &[(&str, i64)], skew: i64) -> Self {
        let permits = locks.iter().map(|(lock, n)| ((*lock).to_owned(), json!(n)));
        let permits = Value::Object(permits.collect());
        Self {
            header: json!({ "locks": permits, "leaseMillis": 3000, "skewMillis": skew }),
            entries: Mutex::default(),
        }
    }

    /// Adds an operation, whose requests may still be under way.
    pub(super) fn add(&self, operation: Value, under_way: Arc<UnderWay>) {
        self.entries.lock().unwrap().push((operation, under_way));
    }

    /// Waits until all requests have arrived, and returns the history.
    pub(super) async fn finish(self) -> String {
        let entries = self.entries.into_inner().unwrap();
        for (_, under_way) in &entries {
            while under_way.requests.load(Ordering::SeqCst) > 0 {
                SystemClock.sleep(Duration::from_millis(5)).await;
            }
        }
        let mut lines = vec![self.header.to_string()];
        for (number, (mut operation, under_way)) in entries.into_iter().enumerate() {
            let returned = operation["returned"].as_u64().expect("a time");
            let settled = under_way.settled.load(Ordering::SeqCst).max(returned);
            operation["op"] = json!(number);
            operation["settled"] = json!(settled);
            operation["strays"] = json!(under_way.strays.load(Ordering::SeqCst));
            lines.push(operation.to_string());
        }
        lines.join("\n")
    }
}
