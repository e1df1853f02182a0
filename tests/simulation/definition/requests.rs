//! The requests of each state to its service.

use super::play::{Play, ask, granted, merged};
use crate::asl::{Call, Resource};
use crate::functions::Function;
use crate::world::START;
use lockstep::contract::parse_time;
use lockstep::domain::{Timestamp, rfc3339};
use serde_json::{Value, json};

/// Replaces a time by the seconds from the start, and a task token by a fixed word.
fn plain(mut payload: Value) -> Value {
    if let Some(text) = payload["waitUntil"].as_str() {
        let until = parse_time("waitUntil", text).expect("a time").millis();
        payload["waitUntil"] = json!((until - START) / 1000);
    }
    if payload["taskToken"].is_string() {
        payload["taskToken"] = json!("TOKEN");
    }
    payload
}

fn acquired(fields: Value) -> Value {
    let played = Play::granted(fields).works().play();
    plain(played.payload_of("Acquire Lock").clone())
}

/// Plays an execution of `fields` that waits and gives up. Returns the call of Wait For Turn.
fn gives_up(fields: Value, asked: &str) -> Call {
    let play = Play::of(fields).answers("Acquire Lock", asked);
    let played = play.answers("Wait For Turn", "gaveUp").play();
    played.call_of("Wait For Turn").clone()
}

#[test]
fn acquire_lock_gets_the_terms_of_the_input_and_where_the_work_runs() {
    let terms = json!({
        "permits": 2, "leaseSeconds": 90, "runKey": "tick", "stalePolicy": "hold", "unknown": 1,
    });
    let own = json!({ "onSkip": "fail", "notBefore": "2026-02-01T00:00:00Z" });
    let parent = "arn:aws:states:eu-west-1:1:execution:caller:one";
    let started = json!({ "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": parent });
    let work = |definition: &str| {
        let task = json!({ "TaskDefinition": definition, "Cluster": null });
        let work = json!({ "container": "job", "cluster": "default", "family": "report" });
        [json!({ "runTask": task }), work]
            .map(|work| json!({ "work": work }))
            .into()
    };
    for (fields, asked) in [
        (json!({}), json!({})),
        (terms.clone(), terms),
        (own, json!({})),
        (started, json!({ "parent": parent })),
        work("report"),
        work("report:12"),
        work("arn:aws:ecs:eu-west-1:1:task-definition/report:12"),
    ] {
        assert_eq!(acquired(fields.clone()), ask(asked), "{fields}");
    }
}

#[test]
fn a_run_that_may_wait_first_asks_without_waiting() {
    let all = json!({ "maxQueue": 3, "waitSeconds": 50, "waitIntervalSeconds": 5 });
    let until = json!({ "waitUntil": 50 });
    for (overlap, fields, turn) in [
        ("queue", json!({}), json!({})),
        ("replace", json!({}), json!({})),
        ("queue", json!({ "maxQueue": 3 }), json!({ "maxQueue": 3 })),
        ("queue", json!({ "waitSeconds": 50 }), until),
        ("queue", all, json!({ "maxQueue": 3, "waitUntil": 50 })),
    ] {
        let played = Play::of(merged(json!({ "overlap": overlap }), fields))
            .answers("Acquire Lock", "skipped")
            .answers("Wait For Turn", "granted")
            .answers("Confirm Grant", "granted")
            .works()
            .play();

        let payload = |state| plain(played.payload_of(state).clone());
        let without = ask(json!({ "overlap": "skip", "mayWait": true }));
        let waits = ask(json!({ "overlap": overlap, "taskToken": "TOKEN" }));
        for (state, asked) in [
            ("Acquire Lock", without.clone()),
            ("Confirm Grant", without),
            ("Wait For Turn", merged(waits, turn)),
        ] {
            assert_eq!(payload(state), asked, "{state} {}", played.input);
        }
    }
}

#[test]
fn a_run_that_waits_for_a_resume_first_asks_without_waiting() {
    for (fields, more) in [
        (json!({ "onPaused": "wait" }), json!({})),
        (json!({ "catchUp": "once" }), json!({})),
        (
            json!({ "onPaused": "wait", "overlap": "queue" }),
            json!({ "overlap": "skip", "mayWait": true }),
        ),
    ] {
        let played = Play::of(fields.clone())
            .answers("Acquire Lock", "Lockstep.LockPaused")
            .answers("Wait For Turn", "gaveUp")
            .play();

        let first = merged(more, json!({ "onPaused": "fail", "catchUp": "none" }));
        let asked = played.payload_of("Acquire Lock").clone();
        assert_eq!(asked, ask(merged(fields.clone(), first)));
        let waits = plain(played.payload_of("Wait For Turn").clone());
        let token = json!({ "taskToken": "TOKEN" });
        assert_eq!(waits, ask(merged(fields, token)));
    }
}

#[test]
fn a_run_that_waits_for_an_end_queues_for_three_minutes() {
    let call = gives_up(json!({ "overlap": "skip" }), "ending");

    let payload = ask(json!({ "overlap": "queue", "waitUntil": 180, "taskToken": "TOKEN" }));
    assert_eq!(plain(call.arguments["Payload"].clone()), payload);
    assert_eq!(call.timeout_seconds, Some(180));
}

#[test]
fn a_waiting_state_registers_again_in_equal_parts_of_its_time() {
    let long = json!({ "waitSeconds": 4_000_000, "waitIntervalSeconds": 5 });
    for (fields, seconds) in [
        (json!({}), 300),
        (json!({ "waitIntervalSeconds": 40 }), 40),
        (json!({ "waitSeconds": 20 }), 20),
        (json!({ "waitSeconds": 300 }), 300),
        (json!({ "waitSeconds": 301 }), 151),
        (json!({ "waitSeconds": 100, "waitIntervalSeconds": 40 }), 34),
        // The history of an execution has no room for more registrations.
        (long, 1000),
    ] {
        let queued = merged(json!({ "overlap": "queue" }), fields.clone());
        let timeout = gives_up(queued, "skipped").timeout_seconds;
        assert_eq!(timeout, Some(seconds), "{fields}");
    }
}

#[test]
fn the_task_gets_the_group_and_the_variables_of_its_grant() {
    let started = |task: Value| {
        let fields = json!({ "work": { "runTask": task } });
        let played = Play::granted(fields).works().play();
        played.call_of("Run Batch").arguments.clone()
    };
    let token = json!({ "Name": "LOCKSTEP_TOKEN", "Value": "7" });
    let expected = |overrides: Value| {
        json!({
            "Cluster": "batch",
            "TaskDefinition": "arn:aws:ecs:eu-west-1:1:task-definition/report:3",
            "Group": "lockstep:group",
            "Overrides": overrides,
        })
    };
    let own = json!({ "ContainerOverrides": [{ "Name": "job", "Environment": [token] }] });
    assert_eq!(started(json!({})), expected(own));

    let overrides = |variable: Value| {
        let side = json!({ "Name": "side", "Command": ["watch"] });
        let variables = json!([{ "Name": "MODE", "Value": "full" }, variable]);
        let job = json!({ "Name": "job", "Command": ["run"], "Environment": variables });
        json!({ "Cpu": "256", "ContainerOverrides": [side, job] })
    };
    let given = overrides(json!({ "Name": "LOCKSTEP_TOKEN", "Value": "forged" }));
    let started = started(json!({ "Overrides": given }));
    assert_eq!(started, expected(overrides(token)));
}

#[test]
fn step_functions_times_the_work_out_only_under_terminate() {
    let (year, limit) = (31_536_000, json!(90));
    for (limit, policy, seconds) in [
        (json!(null), json!(null), year),
        (limit.clone(), json!(null), 90),
        (limit.clone(), json!("terminate"), 90),
        (limit.clone(), json!("yield"), year),
        (limit, json!("hold"), year),
    ] {
        let fields = json!({ "maxRunSeconds": limit, "stalePolicy": policy });
        let played = Play::granted(fields).works().play();
        let timeout = played.call_of("Run Batch").timeout_seconds;
        assert_eq!(timeout, Some(seconds), "{}", played.input);
    }
}

#[test]
fn a_heartbeat_names_its_grant_and_ends_with_its_interval() {
    let played = Play::granted(json!({})).works().play();

    let payload = json!({
        "grant": granted()["grant"], "taskToken": "TOKEN", "redriveCount": 0,
        "heartbeatSeconds": 20, "leaseSeconds": 60,
    });
    assert_eq!(plain(played.payload_of("Keep Lease").clone()), payload);
    assert_eq!(played.call_of("Keep Lease").timeout_seconds, Some(20));
}

/// Returns every call of three executions, which together enter each Task state.
fn all_calls() -> Vec<Call> {
    let redriven = Play::of(json!({ "overlap": "queue" }))
        .answers("Acquire Lock", "skipped")
        .answers("Wait For Turn", "granted")
        .answers("Confirm Grant", "granted")
        .answers("Run Batch", "hangs")
        .gives("Resume Run", json!({ "status": "resumed" }))
        .works()
        .redriven_in("Run Batch");
    let failed = |error| Play::granted(json!({})).answers("Run Batch", error).ends();
    let plays = [
        redriven,
        failed("States.TaskFailed"),
        failed("States.Timeout"),
    ];
    plays.map(|play| play.play().calls).concat()
}

#[test]
fn each_state_calls_its_function_with_its_time_limit() {
    use {Function::*, Resource::*};
    let calls = all_calls();
    for (state, resource, function, seconds) in [
        ("Acquire Lock", Invoke, Acquire, 15),
        ("Wait For Turn", InvokeAndWait, Acquire, 300),
        ("Confirm Grant", Invoke, Acquire, 15),
        ("Resume Run", Invoke, Acquire, 15),
        ("Release Lock", Invoke, Release, 15),
        ("Release After Failure", Invoke, Release, 15),
        ("Report Stopping", Invoke, Release, 15),
        ("Keep Lease", InvokeAndWait, Heartbeat, 20),
    ] {
        let of_state: Vec<_> = calls.iter().filter(|call| call.state == state).collect();
        assert!(!of_state.is_empty(), "{state} calls nothing");
        for call in of_state {
            let called = (call.resource, call.timeout_seconds);
            assert_eq!(called, (resource, Some(seconds)), "{state}");
            assert_eq!(call.arguments["FunctionName"], function.arn(), "{state}");
        }
    }
    let tasks = calls.iter().filter(|call| call.state == "Run Batch");
    assert!(tasks.clone().count() > 3, "{}", tasks.count());
    assert!(tasks.clone().all(|call| call.resource == RunTask));
}

#[test]
fn a_timer_that_ends_up_to_a_second_early_leads_to_no_second_wait() {
    for early in [0, 1, 500, 999] {
        let later =
            Play::granted(json!({ "notBefore": rfc3339(Timestamp::from_millis(START + 90_000)) }));

        let played = later.waits_end_early(early).works().play();

        let waits = played.path.iter();
        let waits = waits.filter(|state| *state == "Wait For Start Time");
        assert_eq!(waits.count(), 1, "{early} ms early: {:?}", played.path);
    }
}
