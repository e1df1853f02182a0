//! The sessions that `make golden` records: together they send each field of each request, and cause each event.

mod operators;

use crate::scene::{
    CLUSTER, ask, ask_with, at_work, end_event, execution, merged, waiting, waiting_alone,
};
use serde_json::{Value, json};

fn call(function: &str, request: Value) -> Value {
    json!({ "function": function, "request": request })
}

fn acquire(request: Value) -> Value {
    call("acquire-lock", request)
}

fn beat(name: &str, more: Value) -> Value {
    call("heartbeat", merged(json!({ "grant": name }), &more))
}

fn release(name: &str, outcome: &str) -> Value {
    call("release-lock", json!({ "grant": name, "outcome": outcome }))
}

fn ask_view(act: &str, more: Value) -> Value {
    call("view", merged(json!({ "act": act }), &more))
}

fn of_lock() -> Value {
    json!({ "lock": "nightly" })
}

fn sweep() -> Value {
    call("reaper", json!({ "sweep": true }))
}

fn wait(seconds: u64) -> Value {
    json!({ "wait": seconds })
}

fn starts(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({ "starts": name })).collect()
}

/// Returns a service task, as a container names it.
fn service_task() -> Value {
    json!({ "cluster": CLUSTER, "task": "arn:aws:ecs:eu-west-1:123456789012:task/batch/t" })
}

/// Returns the sessions, each with its name.
pub(super) fn all() -> Vec<(&'static str, Vec<Value>)> {
    let mut all = vec![
        ("a run with each option", options()),
        ("runs in the queue", queue()),
        ("a run that replaces the holder", replace()),
        ("work that is stopped", stopping()),
        ("deaths", deaths()),
        ("a permit of a dead holder", taken()),
        ("a lock at rest", rest()),
        ("protection that ECS refuses", unprotected()),
        ("evidence that is hidden", hidden()),
        ("a release inside a container", inside()),
        ("a redriven run", redriven()),
        ("a run that is silent", silent()),
        ("acts of operators", operators::acts()),
        ("pages of several locks", operators::pages()),
        ("a permit that is abandoned", operators::abandoned()),
        ("runs that operators start", operators::started()),
        ("a lock that is not there yet", operators::new_lock()),
        ("a success that is missing", operators::missing()),
        ("other executions", operators::other_executions()),
    ];
    for (_, steps) in &mut all {
        steps.push(json!({ "events": true }));
    }
    all
}

fn options() -> Vec<Value> {
    let each = json!({
        "permits": 2, "leaseSeconds": 90, "heartbeatSeconds": 30, "maxHeartbeatSeconds": 600, "runKey": "tick",
        "stalePolicy": "hold", "maxRunSeconds": 600, "noProgressSeconds": 60, "minIntervalSeconds": 5,
        "expectEverySeconds": 3600, "onPaused": "wait", "catchUp": "none", "overlap": "skip", "mayWait": true,
        "waitForEnding": true, "redriveCount": 0, "parent": execution("caller"),
        "work": { "cluster": CLUSTER, "family": "report", "container": "main" },
    });
    let beats = json!({
        "taskToken": "beat-1", "redriveCount": 0, "heartbeatSeconds": 30, "leaseSeconds": 90, "progress": "half",
    });
    let rest = vec![
        acquire(ask_with("a", each.clone())),
        wait(20),
        beat("a", beats),
        acquire(ask_with("b", each)),
        release("a", "succeeded"),
        json!({ "output": "beat-1" }),
        release("a", "succeeded"),
        acquire(ask_with("b", json!({ "runKey": "tick", "permits": 2 }))),
        acquire(ask_with("c", json!({ "work": { "states": true } }))),
        acquire(ask_with(
            "d",
            json!({ "work": { "stateMachineArn": "arn:aws:states:eu-west-1:1:stateMachine:etl" } }),
        )),
    ];
    [starts(&["a", "b", "c", "d"]), rest].concat()
}

fn queue() -> Vec<Value> {
    let failed = json!({
        "grant": "b", "outcome": "failed", "failure": { "error": "States.TaskFailed", "cause": "exit code 3" },
    });
    let until = json!({ "waitUntil": "2026-03-01T06:01:00Z" });
    let rest = vec![
        acquire(ask("a")),
        acquire(ask_with("b", json!({ "overlap": "fail" }))),
        acquire(waiting_alone("b", "turn-b")),
        acquire(waiting_alone("c", "turn-c")),
        acquire(merged(
            waiting_alone("c", "turn-c"),
            &json!({ "whenQueueFull": "skip" }),
        )),
        acquire(merged(waiting("d", "turn-d"), &until)),
        release("a", "succeeded"),
        json!({ "output": "turn-b" }),
        acquire(ask("b")),
        wait(90),
        beat("b", json!({})),
        call("release-lock", failed),
        json!({ "output": "turn-d" }),
        sweep(),
    ];
    [starts(&["a", "b", "c", "d"]), rest].concat()
}

fn replace() -> Vec<Value> {
    let asks = json!({ "overlap": "replace", "taskToken": "turn-r" });
    let rest = vec![
        acquire(ask("a")),
        beat("a", json!({ "taskToken": "beat-a" })),
        acquire(ask_with("r", asks)),
        json!({ "ends": "a" }),
        call("reaper", end_event("a", "ABORTED")),
        wait(60),
        sweep(),
        json!({ "output": "turn-r" }),
        ask_view("show", of_lock()),
    ];
    [starts(&["a", "r"]), rest].concat()
}

fn stopping() -> Vec<Value> {
    let rest = vec![
        acquire(at_work("a")),
        json!({ "task": "a" }),
        release("a", "stopping"),
        acquire(ask_with("b", json!({ "waitForEnding": true }))),
        ask_view("show", of_lock()),
        json!({ "task": "a", "stopped": true }),
        call("reaper", json!({ "run": "a" })),
        acquire(ask("b")),
        beat("b", json!({ "protect": service_task() })),
        call(
            "release-lock",
            json!({ "grant": "b", "outcome": "succeeded", "protect": service_task() }),
        ),
    ];
    [starts(&["a", "b"]), rest].concat()
}

fn deaths() -> Vec<Value> {
    let rest = vec![
        acquire(ask("a")),
        json!({ "ends": "a" }),
        call("reaper", end_event("a", "ABORTED")),
        acquire(at_work("b")),
        json!({ "task": "b" }),
        json!({ "ends": "b" }),
        wait(60),
        sweep(),
        json!({ "task": "b", "stopped": true }),
        call("reaper", json!({ "run": "b" })),
        ask_view(
            "history",
            json!({ "lock": "nightly", "limit": 50, "failed": true }),
        ),
        ask_view("history", json!({ "lock": "nightly", "task": "t" })),
    ];
    [starts(&["a", "b"]), rest].concat()
}

/// The second run gets the permit of the first, and its work is a workflow.
fn taken() -> Vec<Value> {
    let machine = "arn:aws:states:eu-west-1:1:stateMachine:etl";
    let work = json!({ "work": { "stateMachineArn": machine } });
    let rest = vec![
        acquire(ask("a")),
        json!({ "ends": "a" }),
        wait(120),
        acquire(ask_with("b", work)),
    ];
    [starts(&["a", "b"]), rest].concat()
}

fn rest() -> Vec<Value> {
    let rest = vec![
        acquire(ask_with("a", json!({ "minIntervalSeconds": 3600 }))),
        release("a", "succeeded"),
        acquire(ask("b")),
        ask_view("show", of_lock()),
    ];
    [starts(&["a", "b"]), rest].concat()
}

fn unprotected() -> Vec<Value> {
    let released = json!({ "grant": "a", "outcome": "succeeded", "protect": service_task() });
    let rest = vec![
        acquire(ask("a")),
        json!({ "refuses": "DEPLOYMENT_BLOCKED" }),
        beat("a", json!({ "protect": service_task() })),
        call("release-lock", released),
    ];
    [starts(&["a"]), rest].concat()
}

fn hidden() -> Vec<Value> {
    let rest = vec![
        acquire(at_work("a")),
        json!({ "hides": true }),
        wait(62),
        acquire(ask("b")),
        ask_view("show", of_lock()),
    ];
    [starts(&["a", "b"]), rest].concat()
}

fn inside() -> Vec<Value> {
    let until = json!({ "waitUntil": "2026-03-01T06:00:30Z" });
    let rest = vec![
        acquire(ask("z")),
        json!({ "seals": true }),
        acquire(waiting("a", "turn-a")),
        acquire(merged(waiting("b", "turn-b"), &until)),
        release("z", "succeeded"),
        acquire(waiting("a", "turn-a")),
        wait(40),
        json!({ "inside": true }),
        release("a", "succeeded"),
        acquire(ask("z")),
        acquire(waiting("c", "turn-c")),
        release("z", "succeeded"),
        json!({ "inside": false }),
        json!({ "output": "turn-b" }),
        json!({ "output": "turn-c" }),
    ];
    [starts(&["z", "a", "b", "c"]), rest].concat()
}

fn redriven() -> Vec<Value> {
    let work = json!({ "cluster": CLUSTER, "family": "report", "container": "main" });
    let again = |count: u32| json!({ "work": work, "redrive": { "grant": "a", "count": count } });
    let rest = vec![
        acquire(ask_with("a", json!({ "runKey": "tick" }))),
        beat("a", json!({ "taskToken": "beat-1" })),
        json!({ "ends": "a" }),
        call("reaper", end_event("a", "ABORTED")),
        wait(60),
        json!({ "starts": "a" }),
        acquire(ask_with("a", again(1))),
        beat("a", json!({ "redriveCount": 1, "taskToken": "beat-2" })),
        release("a", "succeeded"),
        // Its work has succeeded: a redrive after that, such as one of a state behind the work, does not repeat it.
        acquire(ask_with("a", again(2))),
    ];
    [starts(&["a"]), rest].concat()
}

fn silent() -> Vec<Value> {
    let run = |policy: &str| json!({ "leaseSeconds": 60, "stalePolicy": policy });
    let mut steps = starts(&["a", "b", "c"]);
    for (name, policy) in [("a", "terminate"), ("b", "yield"), ("c", "hold")] {
        steps.push(acquire(ask_with(name, run(policy))));
        steps.push(beat(name, json!({ "taskToken": format!("beat-{name}") })));
        for _ in 0..3 {
            steps.extend([wait(70), sweep()]);
        }
        steps.push(beat(name, json!({})));
        steps.push(release(name, "succeeded"));
        steps.push(ask_view("show", of_lock()));
    }
    steps.push(operators::act("resume", of_lock()));
    steps
}
