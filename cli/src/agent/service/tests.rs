//! The service on a table in memory.

mod begin;

use super::*;
use crate::agent::answer::Begun;
use crate::agent::table::twin::{Fault, Twin};
use crate::agent::wish::BeginRequest;
use crate::protect::Mode;
use serde_json::json;
use std::sync::Arc;
use tokio::time::timeout;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

/// A service on `table`, in no task.
async fn service(table: &Twin) -> Arc<Service<Twin>> {
    Arc::new(Service {
        locks: table.clone(),
        site: Site::find().await.unwrap(),
        protection: Protection::start(Mode::Off, None, LONG),
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
    service.begin(&wish()).await
}
