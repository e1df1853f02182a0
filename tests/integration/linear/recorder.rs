//! What the clients asked and were told, as JSON lines for `tests/linear/check`.

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
    /// When the latest of them had arrived, or was lost.
    settled: AtomicU64,
}

/// One request. It is under way until it is dropped.
#[derive(Debug)]
pub(super) struct Parcel(Arc<UnderWay>);

impl UnderWay {
    pub(super) fn none(time: TrueTime) -> Arc<Self> {
        let (requests, settled) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self {
            time,
            requests,
            settled,
        })
    }

    pub(super) fn send(self: &Arc<Self>) -> Parcel {
        self.requests.fetch_add(1, Ordering::SeqCst);
        Parcel(Arc::clone(self))
    }
}

impl Parcel {
    /// A copy of the same request.
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
    /// A history of `locks` with their permits, whose clocks differ from the true time by at most `skew` milliseconds.
    pub(super) fn of(locks: &[(&str, i64)], skew: i64) -> Self {
        let permits = locks.iter().map(|(lock, n)| ((*lock).to_owned(), json!(n)));
        let permits = Value::Object(permits.collect());
        Self {
            header: json!({ "locks": permits, "leaseMillis": 3000, "skewMillis": skew }),
            entries: Mutex::default(),
        }
    }

    /// Adds one operation, whose requests may be under way.
    pub(super) fn add(&self, operation: Value, under_way: Arc<UnderWay>) {
        self.entries.lock().unwrap().push((operation, under_way));
    }

    /// The history, once all requests have arrived.
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
            lines.push(operation.to_string());
        }
        lines.join("\n")
    }
}
