//! The JSON Schemas of the contract, made from its types: requests, responses, and the `detail` of
//! events.

use lockstep::contract::{
    AcquireRequest, AcquireResponse, CheckRunningRequest, CheckRunningResponse, ExclusiveRunInput,
    HeartbeatRequest, HeartbeatResponse, LockOptions, ReleaseRequest, ReleaseResponse, fields_of,
};
use lockstep::events::EventDetail;
use lockstep_operate::contract::{ActRequest, ActResponse};
use schemars::{Schema, schema_for};
use serde_json::Value;
use std::path::PathBuf;

/// Returns the file name and the schema of every schema file.
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

/// Returns the JSON file that the CDK constructs read. It has the range of each numeric option and the words
/// of each policy.
pub fn lock_options() -> String {
    let input = schema_for!(ExclusiveRunInput).to_value();
    let names = fields_of::<LockOptions>().iter();
    let names = names.chain(fields_of::<ExclusiveRunInput>());
    let lines = names.filter_map(|name| Some(format!("  \"{name}\": {}", rule(&input, name)?)));
    format!("{{\n{}\n}}\n", lines.collect::<Vec<_>>().join(",\n"))
}

/// Returns the range of a numeric field or the words of a policy. Returns `None` for any other field.
fn rule(input: &Value, name: &str) -> Option<String> {
    let field = &input["properties"][name];
    if let (Some(least), Some(most)) = (field["minimum"].as_i64(), field["maximum"].as_i64()) {
        return Some(format!("{{ \"minimum\": {least}, \"maximum\": {most} }}"));
    }
    let reference = field["$ref"]
        .as_str()
        .or(field["anyOf"][0]["$ref"].as_str());
    let words = input.pointer(reference?.strip_prefix('#')?)?["oneOf"].as_array()?;
    let words: Vec<_> = words.iter().map(|word| word["const"].to_string()).collect();
    Some(format!("{{ \"enum\": [{}] }}", words.join(", ")))
}

/// Returns the path of the file that contains [`lock_options`].
pub fn lock_options_file() -> PathBuf {
    crate::repository().join("infra/cdk/lib/lock-options.json")
}

/// Returns the text of a schema file.
pub fn text(schema: &Schema) -> String {
    // If another crate of the build turns on `preserve_order` of serde_json, the fields are not sorted yet.
    let mut value = schema.clone().to_value();
    value.sort_all_objects();
    let sorted = Schema::try_from(value).expect("a schema stays one");
    let mut text = serde_json::to_string_pretty(&sorted).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Returns the folder of the schema files.
pub fn folder() -> PathBuf {
    crate::repository().join("shared/schemas")
}
