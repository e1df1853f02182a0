//! The service on a table in memory.

mod begin;
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

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// A service on `table`, in no task.
async fn service(table: &MemoryTable) -> Arc<Service<MemoryTable>> {
    protected(table, Protection::start(Mode::Off, None, LONG)).await
}

/// The same in a task with this protection.
async fn protected(table: &MemoryTable, protection: Protection) -> Arc<Service<MemoryTable>> {
    Arc::new(Service {
        locks: table.clone(),
        site: HolderIdentity::find().await.unwrap(),
        protection,
        lease: Duration::from_secs(60),
        grace: Duration::from_secs(25),
        book: Mutex::default(),
        changed: watch::Sender::default(),
    })
}

fn wish() -> BeginRequest {
    serde_json::from_value(json!({ "name": "export", "lock": "exports" })).unwrap()
}

/// What a client is told that asks for a job.
async fn begin(service: &Arc<Service<MemoryTable>>) -> Result<Begun, ApiError> {
    begin_for(service, json!({ "name": "export", "lock": "exports" })).await
}

/// The same, for this job.
async fn begin_for(service: &Arc<Service<MemoryTable>>, wish: Value) -> Result<Begun, ApiError> {
    let (tell, told) = oneshot::channel();
    let wish = serde_json::from_value(wish).unwrap();
    tokio::join!(Arc::clone(service).begin(wish, tell), told)
        .1
        .unwrap()
}

/// The name of the error, if it is one.
fn error(begun: &Result<Begun, ApiError>) -> Value {
    let failure = begun.as_ref().err();
    failure.map_or(Value::Null, |failure| {
        serde_json::to_value(failure).unwrap()["error"].take()
    })
}

/// The permit was given back, as failed.
fn failed() -> [(String, ReleaseOutcome); 1] {
    [("exports".into(), ReleaseOutcome::Failed)]
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
