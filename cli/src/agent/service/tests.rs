//! The service on a table in memory.

mod begin;
mod doubt;

use super::*;
use crate::agent::answer::Begun;
use crate::agent::wish::BeginRequest;
use crate::protect::Mode;
use crate::table::twin::{Fault, Twin};
use lockstep::contract::ReleaseOutcome;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// A service on `table`, in no task.
async fn service(table: &Twin) -> Arc<Service<Twin>> {
    protected(table, Protection::start(Mode::Off, None, LONG)).await
}

/// The same in a task with this protection.
async fn protected(table: &Twin, protection: Protection) -> Arc<Service<Twin>> {
    Arc::new(Service {
        locks: table.clone(),
        site: Site::find().await.unwrap(),
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
async fn begin(service: &Arc<Service<Twin>>) -> Result<Begun, Failure> {
    begin_for(service, json!({ "name": "export", "lock": "exports" })).await
}

/// The same, for this job.
async fn begin_for(service: &Arc<Service<Twin>>, wish: Value) -> Result<Begun, Failure> {
    let (tell, told) = oneshot::channel();
    let wish = serde_json::from_value(wish).unwrap();
    tokio::join!(Arc::clone(service).begin(wish, tell), told)
        .1
        .unwrap()
}

/// The name of the error, if it is one.
fn error(begun: &Result<Begun, Failure>) -> Value {
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
            crate::sys::clock::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what}");
}
