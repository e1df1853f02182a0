//! The requests that today's definitions send are kept for good, because executions in flight go on
//! with their own definition when the functions are upgraded. The contract level replays them
//! (`tests/contract/golden.rs`).

use super::play::{Play, granted, of_workflow};
use crate::asl::Call;
use crate::functions::Function;
use lockstep_tests::golden;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Returns terms that name each option of a lock.
fn all_options() -> Value {
    json!({
        "permits": 2, "leaseSeconds": 90, "heartbeatSeconds": 30, "maxHeartbeatSeconds": 600, "runKey": "tick",
        "stalePolicy": "hold", "maxRunSeconds": 600, "noProgressSeconds": 60, "minIntervalSeconds": 5,
        "expectEverySeconds": 3600, "onPaused": "wait", "catchUp": "none", "overlap": "queue", "maxQueue": 3,
        "waitSeconds": 50, "waitIntervalSeconds": 5,
        "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": "arn:aws:states:eu-west-1:1:execution:caller:one",
    })
}

/// Returns executions that together enter each state that calls a function, under each definition.
fn plays() -> Vec<Play> {
    let waits = |fields: Value| {
        Play::of(fields)
            .answers("Acquire Lock", "skipped")
            .answers("Wait For Turn", "granted")
            .answers("Confirm Grant", "granted")
    };
    let failed = |error| Play::granted(json!({})).answers("Run Batch", error).ends();
    let workflow = of_workflow(json!({}));
    vec![
        waits(json!({ "overlap": "queue" })).works(),
        waits(json!({ "overlap": "replace" })).works(),
        waits(all_options()).works(),
        waits(json!({ "overlap": "queue" }))
            .answers("Run Batch", "hangs")
            .gives("Resume Run", json!({ "status": "resumed" }))
            .works()
            .redriven_in("Run Batch"),
        failed("States.TaskFailed"),
        failed("States.Timeout"),
        Play::granted(workflow)
            .gives("Run Workflow", json!({ "Output": {} }))
            .ends(),
        Play::woven(json!({ "seconds": 5 }))
            .gives("Acquire Lock", granted())
            .ends(),
    ]
}

/// Returns a request as it is kept, if `call` is one. A task token becomes a fixed word, because
/// each run has another.
fn kept(call: &Call) -> Option<String> {
    let functions = [
        (Function::Acquire, "acquire-lock"),
        (Function::Heartbeat, "heartbeat"),
        (Function::Release, "release-lock"),
    ];
    let called = &call.arguments["FunctionName"];
    let (_, function) = functions
        .into_iter()
        .find(|(known, _)| *called == known.arn())?;
    let mut request = call.arguments["Payload"].clone();
    if request["taskToken"].is_string() {
        request["taskToken"] = json!("TOKEN");
    }
    Some(json!({ "state": call.state, "function": function, "request": request }).to_string())
}

#[test]
fn each_request_of_the_definitions_is_kept_for_later_versions() {
    let calls = plays().into_iter().flat_map(|play| play.play().calls);
    let sent: BTreeSet<_> = calls.filter_map(|call| kept(&call)).collect();

    assert!(sent.len() >= 10, "{sent:#?}");
    golden::current().keep_lines("requests.jsonl", sent);
}
