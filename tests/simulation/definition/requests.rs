//! What each state asks of its service.

use super::play::{Play, answer, ask, granted, input_with};
use crate::asl::{Call, Resource};
use crate::functions::Function;
use crate::world::START;
use lockstep::contract::parse_time;
use serde_json::{Value, json};

/// Replaces a time by the seconds from the start, and a task token by a word.
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
    let played = Play::granted(input_with(fields)).works().play();
    plain(played.arguments_of("Acquire Lock")["Payload"].clone())
}

#[test]
fn the_lock_is_asked_for_with_what_the_input_says_and_where_the_work_is_found() {
    assert_eq!(acquired(json!({})), ask(json!({})));
    let terms = json!({
        "permits": 2, "leaseSeconds": 90, "runKey": "tick", "stalePolicy": "hold", "unknown": 1,
    });
    assert_eq!(acquired(terms.clone()), ask(terms));
    let own = json!({ "onSkip": "fail", "notBefore": "2026-02-01T00:00:00Z" });
    assert_eq!(acquired(own), ask(json!({})));
    let parent = "arn:aws:states:eu-west-1:1:execution:caller:one";
    let started = json!({ "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": parent });
    assert_eq!(acquired(started), ask(json!({ "parent": parent })));
    for (definition, family) in [
        ("report", "report"),
        ("report:12", "report"),
        (
            "arn:aws:ecs:eu-west-1:1:task-definition/report:12",
            "report",
        ),
    ] {
        let task = json!({ "TaskDefinition": definition, "Cluster": null });
        let work = json!({ "container": "job", "cluster": "default", "family": family });
        assert_eq!(
            acquired(json!({ "work": { "runTask": task } })),
            ask(json!({ "work": work }))
        );
    }
}

#[test]
fn a_run_that_may_wait_asks_first_without_and_leaves_its_place_to_the_second_question() {
    for (fields, turn) in [
        (json!({ "overlap": "queue" }), json!({})),
        (json!({ "overlap": "replace" }), json!({})),
        (
            json!({ "overlap": "queue", "maxQueue": 3 }),
            json!({ "maxQueue": 3 }),
        ),
        (
            json!({ "overlap": "queue", "waitSeconds": 50 }),
            json!({ "waitUntil": 50 }),
        ),
        (
            json!({ "overlap": "queue", "maxQueue": 3, "waitSeconds": 50, "waitIntervalSeconds": 5 }),
            json!({ "maxQueue": 3, "waitUntil": 50 }),
        ),
    ] {
        let played = Play::of(input_with(fields.clone()))
            .gives("Acquire Lock", answer("skipped"))
            .gives("Wait For Turn", answer("granted"))
            .gives("Confirm Grant", granted())
            .works()
            .play();

        let payload = |state| plain(played.arguments_of(state)["Payload"].clone());
        let without = ask(json!({ "overlap": "skip", "mayWait": true }));
        assert_eq!(payload("Acquire Lock"), without, "{fields}");
        assert_eq!(payload("Confirm Grant"), without, "{fields}");
        let mut waits = ask(json!({ "overlap": fields["overlap"], "taskToken": "TOKEN" }));
        waits
            .as_object_mut()
            .expect("an object")
            .extend(turn.as_object().expect("an object").clone());
        assert_eq!(payload("Wait For Turn"), waits, "{fields}");
    }
}

#[test]
fn a_run_that_waits_for_an_end_queues_for_three_minutes() {
    let mut ending = answer("skipped");
    ending["ending"] = true.into();
    let played = Play::of(input_with(json!({ "overlap": "skip" })))
        .gives("Acquire Lock", ending)
        .gives("Wait For Turn", answer("gaveUp"))
        .play();

    let call = played.call_of("Wait For Turn");
    let payload = ask(json!({ "overlap": "queue", "waitUntil": 180, "taskToken": "TOKEN" }));
    assert_eq!(plain(call.arguments["Payload"].clone()), payload);
    assert_eq!(call.timeout_seconds, Some(180));
}

#[test]
fn a_waiting_state_registers_again_in_equal_parts_of_its_time() {
    for (fields, seconds) in [
        (json!({}), 300),
        (json!({ "waitIntervalSeconds": 40 }), 40),
        (json!({ "waitSeconds": 20 }), 20),
        (json!({ "waitSeconds": 300 }), 300),
        (json!({ "waitSeconds": 301 }), 151),
        (json!({ "waitSeconds": 100, "waitIntervalSeconds": 40 }), 34),
        // The history of an execution has room for so many.
        (
            json!({ "waitSeconds": 4_000_000, "waitIntervalSeconds": 5 }),
            1000,
        ),
    ] {
        let mut input = input_with(json!({ "overlap": "queue" }));
        input
            .as_object_mut()
            .expect("an object")
            .extend(fields.as_object().expect("an object").clone());
        let played = Play::of(input)
            .gives("Acquire Lock", answer("skipped"))
            .gives("Wait For Turn", answer("gaveUp"))
            .play();

        let timeout = played.call_of("Wait For Turn").timeout_seconds;
        assert_eq!(timeout, Some(seconds), "{fields}");
    }
}

#[test]
fn the_task_gets_the_group_and_the_variables_of_its_grant() {
    let started = |task: Value| {
        let input = input_with(json!({ "work": { "runTask": task } }));
        let played = Play::granted(input).works().play();
        played.arguments_of("Run Batch").clone()
    };
    let definition = "arn:aws:ecs:eu-west-1:1:task-definition/report:3";
    let token = json!({ "Name": "LOCKSTEP_TOKEN", "Value": "7" });
    let expected = |overrides: Value| {
        json!({
            "Cluster": "batch",
            "TaskDefinition": definition,
            "Group": "lockstep:group",
            "Overrides": overrides,
        })
    };
    let own = json!([{ "Name": "job", "Environment": [token] }]);
    assert_eq!(
        started(json!({})),
        expected(json!({ "ContainerOverrides": own }))
    );

    let given = json!({
        "Cpu": "256",
        "ContainerOverrides": [
            { "Name": "side", "Command": ["watch"] },
            {
                "Name": "job",
                "Command": ["run"],
                "Environment": [{ "Name": "MODE", "Value": "full" }, { "Name": "LOCKSTEP_TOKEN", "Value": "forged" }],
            },
        ],
    });
    let merged = json!({
        "Cpu": "256",
        "ContainerOverrides": [
            { "Name": "side", "Command": ["watch"] },
            { "Name": "job", "Command": ["run"], "Environment": [{ "Name": "MODE", "Value": "full" }, token] },
        ],
    });
    assert_eq!(started(json!({ "Overrides": given })), expected(merged));
}

#[test]
fn the_work_is_bounded_by_step_functions_only_where_its_policy_stops_it() {
    let year = 31_536_000;
    for (fields, seconds) in [
        (json!({}), year),
        (json!({ "maxRunSeconds": 90 }), 90),
        (
            json!({ "maxRunSeconds": 90, "stalePolicy": "terminate" }),
            90,
        ),
        (json!({ "maxRunSeconds": 90, "stalePolicy": "yield" }), year),
        (json!({ "maxRunSeconds": 90, "stalePolicy": "hold" }), year),
    ] {
        let played = Play::granted(input_with(fields.clone())).works().play();
        let timeout = played.call_of("Run Batch").timeout_seconds;
        assert_eq!(timeout, Some(seconds), "{fields}");
    }
}

#[test]
fn a_heartbeat_names_its_grant_and_ends_with_its_interval() {
    let played = Play::granted(input_with(json!({}))).works().play();

    let call = played.call_of("Keep Lease");
    let payload = json!({ "grant": granted()["grant"], "taskToken": "TOKEN", "redriveCount": 0 });
    assert_eq!(plain(call.arguments["Payload"].clone()), payload);
    assert_eq!(call.timeout_seconds, Some(20));
}

/// Every call of three executions that enter each Task state between them.
fn all_calls() -> Vec<Call> {
    let redriven = Play::of(input_with(json!({ "overlap": "queue" })))
        .gives("Acquire Lock", answer("skipped"))
        .gives("Wait For Turn", answer("granted"))
        .gives("Confirm Grant", granted())
        .hangs("Run Batch")
        .gives("Resume Run", json!({ "status": "resumed" }))
        .works()
        .redriven_in("Run Batch");
    let failed = |error| {
        Play::granted(input_with(json!({})))
            .fails("Run Batch", error)
            .ends()
    };
    let plays = [
        redriven,
        failed("States.TaskFailed"),
        failed("States.Timeout"),
    ];
    plays.map(|play| play.play().calls).concat()
}

#[test]
fn each_state_calls_its_own_function_for_so_many_seconds() {
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
