//! The JSON Schemas of the contract, made from its types: requests, responses, and the `detail` of
//! events.

use lockstep::contract::{
    AcquireRequest, AcquireResponse, ActRequest, ActResponse, CheckRunningRequest,
    CheckRunningResponse, ExclusiveRunInput, HeartbeatRequest, HeartbeatResponse, ReleaseRequest,
    ReleaseResponse,
};
use lockstep::events::EventDetail;
use schemars::{Schema, schema_for};
use std::path::PathBuf;

/// Every schema: its file name, and what it says.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("acquire-lock.request.json", schema_for!(AcquireRequest)),
        ("acquire-lock.response.json", schema_for!(AcquireResponse)),
        ("heartbeat.request.json", schema_for!(HeartbeatRequest)),
        ("heartbeat.response.json", schema_for!(HeartbeatResponse)),
        ("release-lock.request.json", schema_for!(ReleaseRequest)),
        ("release-lock.response.json", schema_for!(ReleaseResponse)),
        (
            "check-running-executions.request.json",
            schema_for!(CheckRunningRequest),
        ),
        (
            "check-running-executions.response.json",
            schema_for!(CheckRunningResponse),
        ),
        ("operate.request.json", schema_for!(ActRequest)),
        ("operate.response.json", schema_for!(ActResponse)),
        ("event.detail.json", schema_for!(EventDetail)),
        ("exclusive-run.input.json", schema_for!(ExclusiveRunInput)),
    ]
}

/// The text of a schema file.
pub fn text(schema: &Schema) -> String {
    // Another crate of the build may have serde_json keep the order of insertion.
    let mut value = schema.clone().to_value();
    value.sort_all_objects();
    let sorted = Schema::try_from(value).expect("a schema stays one");
    let mut text = serde_json::to_string_pretty(&sorted).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Where the schema files are.
pub fn folder() -> PathBuf {
    crate::repository().join("shared/schemas")
}
