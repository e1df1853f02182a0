//! The service on a lock table in memory.

mod begin;
mod end;
mod reconcile;

use super::*;
use crate::agent::request::BeginRequest;
use crate::agent::response::Begun;
use crate::lease::client::twins::{Fault, InMemory, Twins};
use crate::protect::Mode;
use lockstep::domain::RunOutcome;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The lock of the jobs.
const LOCK: &str = "exports";

/// Longer than any step of these tests.
const LONG: Duration = Duration::from_secs(20);

/// Returns a service on `twins`, outside ECS.
async fn service(twins: &Twins) -> Arc<Service<InMemory>> {
    protected(twins, Protection::start(Mode::Off, None, LONG)).await
}

/// Returns a service on `twins`, in a task with this protection.
async fn protected(twins: &Twins, protection: Protection) -> Arc<Service<InMemory>> {
    Arc::new(Service {
        locks: twins.client(),
        identity: HolderIdentity::find().await.unwrap(),
        protection,
        lease: Duration::from_secs(60),
        grace: Duration::from_secs(25),
        registry: Mutex::default(),
        changed: watch::Sender::default(),
    })
}

fn request() -> BeginRequest {
    serde_json::from_value(json!({ "name": "export", "lock": LOCK })).unwrap()
}

/// Returns the result of a client's request for a job.
async fn begin(service: &Arc<Service<InMemory>>) -> Result<Begun, ApiError> {
    begin_for(service, json!({ "name": "export", "lock": LOCK })).await
}

/// Returns the result of this request.
async fn begin_for(service: &Arc<Service<InMemory>>, request: Value) -> Result<Begun, ApiError> {
    let (reply, response) = oneshot::channel();
    let request = serde_json::from_value(request).unwrap();
    tokio::join!(Arc::clone(service).begin(request, reply), response)
        .1
        .unwrap()
}

/// Returns the name of the error, or null for a result that is none.
fn error(begun: &Result<Begun, ApiError>) -> Value {
    let error = begun.as_ref().err();
    error.map_or(Value::Null, |error| {
        serde_json::to_value(error).unwrap()["error"].take()
    })
}

/// Waits until the permit of a failed job is released.
async fn released(twins: &Twins) {
    until("its release", || twins.ends(LOCK) == [RunOutcome::Failed]).await;
}

/// Waits until no grant is unconfirmed.
async fn confirmed(service: &Service<InMemory>) {
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
