//! The service on a lock table in memory.

mod begin;
mod end;
mod reconcile;

use super::*;
use crate::agent::request::BeginRequest;
use crate::agent::response::Begun;
use crate::lease::table::memory::{Fault, MemoryTable};
use crate::protect::Mode;
use lockstep::contract::ReleaseOutcome;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Longer than any step of these tests.
const LONG: Duration = Duration::from_secs(20);

/// A service on `table`, outside ECS.
async fn service(table: &MemoryTable) -> Arc<Service<MemoryTable>> {
    protected(table, Protection::start(Mode::Off, None, LONG)).await
}

/// A service on `table`, in a task with this protection.
async fn protected(table: &MemoryTable, protection: Protection) -> Arc<Service<MemoryTable>> {
    Arc::new(Service {
        locks: table.clone(),
        identity: HolderIdentity::find().await.unwrap(),
        protection,
        lease: Duration::from_secs(60),
        grace: Duration::from_secs(25),
        registry: Mutex::default(),
        changed: watch::Sender::default(),
    })
}

fn request() -> BeginRequest {
    serde_json::from_value(json!({ "name": "export", "lock": "exports" })).unwrap()
}

/// The result of a client's request for a job.
async fn begin(service: &Arc<Service<MemoryTable>>) -> Result<Begun, ApiError> {
    begin_for(service, json!({ "name": "export", "lock": "exports" })).await
}

/// As [`begin`], with this request.
async fn begin_for(service: &Arc<Service<MemoryTable>>, request: Value) -> Result<Begun, ApiError> {
    let (reply, response) = oneshot::channel();
    let request = serde_json::from_value(request).unwrap();
    tokio::join!(Arc::clone(service).begin(request, reply), response)
        .1
        .unwrap()
}

/// The name of the error, if it is one.
fn error(begun: &Result<Begun, ApiError>) -> Value {
    let error = begun.as_ref().err();
    error.map_or(Value::Null, |error| {
        serde_json::to_value(error).unwrap()["error"].take()
    })
}

/// One release, as failed.
fn failed() -> [(String, ReleaseOutcome); 1] {
    [("exports".into(), ReleaseOutcome::Failed)]
}

/// Waits until the permit of a failed job is released.
async fn released(table: &MemoryTable) {
    until("its release", || table.released() == failed()).await;
}

/// Waits until no grant is unconfirmed.
async fn confirmed(service: &Service<MemoryTable>) {
    let count = || service.registry().capacity.unconfirmed_count();
    until("no unconfirmed grant", || count() == 0).await;
}

/// Waits until `holds`.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let waited = timeout(10 * LONG, async {
        while !holds() {
            crate::platform::clock::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what}");
}
