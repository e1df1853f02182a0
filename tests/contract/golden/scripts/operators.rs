//! Sessions of operators and of the sweep.

use super::{acquire, ask_view, beat, call, of_lock, release, starts, sweep, wait};
use crate::scene::{ask, ask_with, at_work, execution, merged, waiting};
use lockstep::domain::{HolderId, WaiterId};
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

/// Answers of more than one page, and the acts on several locks. A resume has neither `drain` nor `until`, and refuses
/// both by their names.
pub(super) fn pages() -> Vec<Value> {
    let of = |name: &str| merged(ask(name), &json!({ "lock": format!("nightly/{name}") }));
    let all = json!({ "prefix": "night" });
    let page = json!({ "prefix": "night", "limit": 1 });
    let next = json!({ "prefix": "night", "limit": 1, "next": "previous" });
    let behind = json!({ "prefix": "night", "next": "nightly/a" });
    let drain = json!({ "drain": true });
    let b = json!({ "lock": "nightly/b" });
    let until = json!({ "until": "2026-03-02T06:00:00Z" });
    let rest = vec![
        acquire(of("a")),
        wait(1),
        acquire(of("b")),
        wait(1),
        ask_view("list", page.clone()),
        ask_view("list", next.clone()),
        act("pause", merged(all, &drain)),
        act("pause", merged(behind.clone(), &drain)),
        release("a", "failed"),
        release("b", "succeeded"),
        act("pause", merged(b.clone(), &drain)),
        ask_view("history", page),
        ask_view("history", next),
        ask_view("history", json!({ "all": true })),
        act("resume", behind),
        act("resume", merged(b.clone(), &drain)),
        act("resume", merged(b, &until)),
    ];
    [starts(&["a", "b"]), rest].concat()
}

/// A waiter is dropped by its short name, and the permit is freed although the stop of the work has not ended.
pub(super) fn abandoned() -> Vec<Value> {
    let c = HolderId::new(execution("c")).expect("a holder");
    let id = WaiterId::of(&c).as_str().to_owned();
    let force = json!({ "lock": "nightly", "holder": execution("a"), "force": true });
    let rest = vec![
        acquire(at_work("a")),
        json!({ "task": "a" }),
        beat("a", json!({ "taskToken": "beat-a" })),
        acquire(waiting("b", "turn-b")),
        acquire(waiting("c", "turn-c")),
        act("drop-waiter", json!({ "lock": "nightly", "id": id })),
        act("evict", force.clone()),
        act("evict", merged(force, &json!({ "abandon": true }))),
        json!({ "output": "turn-b" }),
        ask_view("show", of_lock()),
    ];
    [starts(&["a", "b", "c"]), rest].concat()
}

/// The run of a key is started again, and what a tick of a schedule starts.
pub(super) fn started() -> Vec<Value> {
    let schedule = json!({
        "schedule": "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/nightly",
        "machine": "arn:aws:states:eu-west-1:123456789012:stateMachine:report",
        "input": r#"{"lock": "nightly", "runKey": "<aws.scheduler.scheduled-time>"}"#,
    });
    let tick = json!({
        "lock": "nightly", "schedule": "nightly", "scheduledTime": "2026-03-01T02:00:00Z", "id": "y",
    });
    let rest = vec![
        acquire(ask_with("a", json!({ "runKey": "tick" }))),
        release("a", "succeeded"),
        wait(60),
        act(
            "start",
            json!({ "lock": "nightly", "again": "tick", "id": "x" }),
        ),
        schedule,
        act("start", tick),
        ask_view("history", of_lock()),
    ];
    [starts(&["a"]), rest].concat()
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
