//! Sessions of operators and of the sweep.

use super::{acquire, ask_view, call, of_lock, release, starts, sweep, wait};
use crate::scene::{ask, ask_with, execution, merged, waiting};
use serde_json::{Value, json};

/// Returns a request of an operator.
pub(super) fn act(act: &str, more: Value) -> Value {
    let signed = json!({ "act": act, "actor": "jo@example.com", "note": "upgrade" });
    call("operate", merged(signed, &more))
}

pub(super) fn acts() -> Vec<Value> {
    let rest = vec![
        call("view", json!({ "act": "version" })),
        acquire(ask_with(
            "a",
            json!({ "runKey": "tick", "minIntervalSeconds": 3600 }),
        )),
        release("a", "succeeded"),
        act(
            "pause",
            json!({ "lock": "nightly", "until": "2026-03-02T06:00:00Z" }),
        ),
        acquire(ask("b")),
        acquire(ask_with(
            "b",
            json!({ "onPaused": "wait", "taskToken": "turn-b" }),
        )),
        ask_view(
            "list",
            json!({ "limit": 50, "prefix": "night", "state": "paused" }),
        ),
        act("resume", json!({ "prefix": "night" })),
        act("clear-rest", of_lock()),
        act("forget", json!({ "lock": "nightly", "runKey": "tick" })),
        sweep(),
        json!({ "output": "turn-b" }),
        acquire(waiting("c", "turn-c")),
        act(
            "drop-waiter",
            json!({ "lock": "nightly", "holder": execution("c") }),
        ),
        act(
            "evict",
            json!({ "lock": "nightly", "holder": execution("b"), "force": true }),
        ),
        sweep(),
        act("start", json!({ "lock": "nightly", "dryRun": true })),
        ask_view(
            "history",
            json!({ "lock": "nightly", "from": "2026-03-01T00:00:00Z", "to": "2026-03-03T00:00:00Z" }),
        ),
        ask_view("show", of_lock()),
    ];
    [starts(&["a", "b", "c"]), rest].concat()
}

pub(super) fn new_lock() -> Vec<Value> {
    vec![
        act("pause", json!({ "all": true })),
        acquire(ask("a")),
        ask_view("list", json!({})),
        act("resume", json!({ "all": true })),
        acquire(ask("a")),
    ]
}

pub(super) fn missing() -> Vec<Value> {
    vec![
        acquire(ask_with("a", json!({ "expectEverySeconds": 3600 }))),
        release("a", "succeeded"),
        wait(8000),
        sweep(),
        ask_view("show", of_lock()),
    ]
}

pub(super) fn other_executions() -> Vec<Value> {
    let ask = json!({ "executionArn": execution("b"), "startedAt": "2026-03-01T06:00:10Z", "maxRunning": 1 });
    let check = call("check-running-executions", ask);
    let mut steps = starts(&["a"]);
    steps.extend([
        wait(10),
        json!({ "starts": "b" }),
        check.clone(),
        json!({ "ends": "a" }),
        check,
    ]);
    steps
}
