//! A session: what happens to the functions, from an empty table on, as JSON that later versions replay.

use crate::functions::{Answer, Functions};
use crate::scene::{execution, task, task_event};
use lockstep::domain::{ExecutionEnd, StateMachineArn};
use lockstep::events::EventDetail;
use lockstep::executions::memory::ExecutionsCall;
use lockstep_operate::schedules::{Schedule, Target, TargetInput};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A field that no version knows.
pub(super) const UNKNOWN: &str = "ofTheNextVersion";

/// The functions that ignore a field that they do not know: their callers may be newer.
pub(super) const LENIENT: [&str; 3] = ["heartbeat", "release-lock", "reaper"];

/// Does one step. Returns what is seen of it: an answer, the name of an error, an output or events.
async fn done(functions: &Functions, step: &Value) -> Value {
    if let Some(seconds) = step["wait"].as_u64() {
        functions.wait(seconds);
    } else if let Some(name) = step["starts"].as_str() {
        functions.start(&[name]);
    } else if let Some(name) = step["ends"].as_str() {
        functions.end(name, ExecutionEnd::Aborted);
    } else if let Some(name) = step["task"].as_str() {
        let stopped = step["stopped"] == true;
        functions.put_task(name, task("t", if stopped { 2 } else { 1 }, stopped));
    } else if let Some(inside) = step["inside"].as_bool() {
        functions.executions.set_inside(inside);
    } else if step["seals"] == true {
        functions.executions.seal_tokens();
    } else if step["hides"] == true {
        functions.lose_every(ExecutionsCall::Describe);
    } else if let Some(reason) = step["refuses"].as_str() {
        functions.tasks.refuse_protection(reason, "as ECS says");
    } else if step["schedule"].is_string() {
        functions.schedules.put(Ok(schedule(step)));
    } else if let Some(token) = step["output"].as_str() {
        return json!({ "is": functions.output(token) });
    } else if step.get("events").is_some() {
        let published = functions.events.published();
        let events = published.iter().map(|event| {
            json!({ "detail-type": event.kind.detail_type(), "detail": EventDetail::from(event) })
        });
        return json!({ "are": events.collect::<Vec<_>>() });
    } else {
        return called(functions, step).await;
    }
    Value::Null
}

/// Returns the schedule of a step, with one target.
fn schedule(step: &Value) -> Schedule {
    let text = |field: &str| step[field].as_str().expect(field);
    let target = Target {
        state_machine: StateMachineArn::new(text("machine")).expect("an ARN"),
        input: TargetInput::Attributes(text("input").to_owned()),
    };
    Schedule {
        arn: text("schedule").to_owned(),
        targets: vec![target],
    }
}

/// Calls the function that a step names.
async fn called(functions: &Functions, step: &Value) -> Value {
    match answered(functions, step, step["request"].clone()).await {
        Ok(answer) => json!({ "answer": answer }),
        Err(error) => json!({ "error": error.name().as_str() }),
    }
}

/// Sends `request` to the function that a step names.
pub(super) async fn answered(functions: &Functions, step: &Value, request: Value) -> Answer {
    match step["function"].as_str().expect("a function") {
        "acquire-lock" => functions.acquire(request).await,
        "heartbeat" => functions.heartbeat(request).await,
        "release-lock" => functions.release(request).await,
        "check-running-executions" => functions.check_running(request).await,
        "reaper" => functions.reap(request).await,
        "operate" => functions.operate(request).await,
        "view" => functions.view(request).await,
        other => panic!("no function {other}"),
    }
}

fn functions() -> Functions {
    let mut functions = Functions::new();
    functions.run_events = true;
    functions
}

/// Carries out a script, and returns its steps with what was seen of each. In a script, `"grant": NAME` stands for
/// the latest grant to the execution NAME, and so does the `run` of a task's event. `"next": "previous"` stands for the
/// `next` of the latest answer that had one.
pub(super) async fn recorded(script: &[Value]) -> Vec<Value> {
    let functions = functions();
    let mut grants: BTreeMap<String, Value> = BTreeMap::new();
    let mut next = Value::Null;
    let mut steps = Vec::new();
    for step in script {
        let mut step = step.clone();
        for pointer in ["/request/grant", "/request/redrive/grant"] {
            if let Some(name) = step.pointer_mut(pointer) {
                *name = grants[&execution(name.as_str().expect("a name"))].clone();
            }
        }
        if let Some(name) = step["request"]["run"].as_str() {
            let grant = &grants[&execution(name)];
            step["request"] = task_event(name, &task("t", 2, true), grant, "STOPPED");
        }
        if step["request"]["next"] == "previous" {
            step["request"]["next"] = next.clone();
        }
        let seen = done(&functions, &step).await;
        if let Some(more) = seen["answer"].get("next") {
            next = more.clone();
        }
        for grant in [&seen["answer"]["grant"], &seen["is"]["grant"]] {
            if let Some(holder) = grant["holder"].as_str() {
                grants.insert(holder.to_owned(), grant.clone());
            }
        }
        if let Value::Object(seen) = seen {
            step.as_object_mut().expect("a step").extend(seen);
        }
        steps.push(step);
    }
    steps
}

/// Replays recorded steps. `newer` says whether callers that are newer than these functions send them, with a field
/// that these functions do not know.
///
/// # Panics
/// If a step is answered otherwise than it was.
pub(super) async fn replay(name: &str, steps: &[Value], newer: bool) {
    let functions = functions();
    for (number, step) in steps.iter().enumerate() {
        let mut sent = step.clone();
        let lenient = LENIENT.iter().any(|function| step["function"] == *function);
        if newer && lenient && step["request"].get("sweep").is_none() {
            sent["request"][UNKNOWN] = json!({ "since": 2 });
        }
        let seen = done(&functions, &sent).await;
        for what in ["answer", "error", "is", "are"] {
            if let Some(expected) = step.get(what) {
                let place = format!("step {number} of {name}: {sent}");
                assert_has_all(&seen[what], expected, &place);
            }
        }
    }
}

/// Fields that are written for people, and may be worded anew.
const TEXTS: [&str; 8] = [
    "message", "advice", "reason", "cause", "note", "evidence", "outlook", "frees",
];

/// Checks that `found` has each field of `expected`, at every depth, with its value.
fn assert_has_all(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (field, value) in expected {
                let own = found
                    .get(field)
                    .unwrap_or_else(|| panic!("no {field} in {found:?}; {place}"));
                // The version of the functions is another one.
                if !TEXTS.contains(&field.as_str()) && field != "version" {
                    assert_has_all(own, value, place);
                }
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(
                found.len(),
                expected.len(),
                "{found:?} for {expected:?}; {place}"
            );
            for (found, expected) in found.iter().zip(expected) {
                assert_has_all(found, expected, place);
            }
        }
        (found, expected) => assert_eq!(found, expected, "{place}"),
    }
}

#[test]
fn an_answer_that_lacks_a_field_or_has_another_value_is_noticed() {
    let recorded =
        json!({ "status": "granted", "grant": { "token": 7 }, "list": [1], "message": "held" });
    let differs = |field: &str, value: Value| {
        let mut found = recorded.clone();
        match value {
            Value::Null => drop(found.as_object_mut().unwrap().remove(field)),
            value => found[field] = value,
        }
        std::panic::catch_unwind(|| assert_has_all(&found, &recorded, "")).is_err()
    };
    assert!(!differs("more", json!(1)), "a new field");
    assert!(!differs("message", json!("taken")), "other words");
    for (field, value) in [
        ("status", json!("skipped")),
        ("status", Value::Null),
        ("message", Value::Null),
        ("grant", json!({ "token": 8 })),
        ("grant", json!({})),
        ("list", json!([1, 2])),
    ] {
        assert!(differs(field, value.clone()), "{field}: {value}");
    }
}
