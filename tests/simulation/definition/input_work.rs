//! Work that is refused before any service is called.

use super::input::{refuses, takes};
use super::play::{EXECUTION, Play, Played, failure, of_workflow};
use crate::invoke::Failure;
use serde_json::{Value, json};

#[test]
fn work_that_cannot_be_started_or_found_is_refused() {
    let either = "field work must have exactly one of runTask (the arguments of ecs:runTask) and startExecution (those of states:startExecution)";
    let task = "field work.runTask must be an object: the arguments of ecs:runTask";
    let definition =
        "field work.runTask.TaskDefinition must be a string: an ARN, family:revision or family";
    let container = "field work.container must be a string, the name of the container that gets the LOCKSTEP_ variables";
    let group = "field work.runTask.Group must be left out: Lockstep sets the group, and finds the tasks of a run by it";
    refuses(json!({ "work": null }), either);
    let both = json!({ "StateMachineArn": "etl" });
    refuses(json!({ "work": { "startExecution": both } }), either);
    for (work, fault) in [
        (json!({ "runTask": "report:3" }), task),
        (json!({ "runTask": { "TaskDefinition": null } }), definition),
        (json!({ "runTask": { "TaskDefinition": 3 } }), definition),
        (json!({ "container": 1 }), container),
        (json!({ "runTask": { "Group": "mine" } }), group),
    ] {
        refuses(json!({ "work": work }), fault);
    }
}

#[test]
fn a_run_is_one_task() {
    for count in [json!(2), json!(0), json!("1"), Value::Bool(true)] {
        let fault = format!(
            "field work.runTask.Count is {count}, but must be 1 or left out: a run starts one task"
        );
        refuses(json!({ "work": { "runTask": { "Count": count } } }), &fault);
    }
    takes(json!({ "work": { "runTask": { "Count": 1 } } }));
}

/// `Name.$` is computed in the state machine of the caller; Step Functions itself knows only
/// `Name`.
#[test]
fn arguments_of_run_task_that_step_functions_does_not_know_are_refused() {
    let with = |field: &str, value: Value| json!({ "work": { "runTask": { field: value } } });
    let overrides =
        |container: Value| with("Overrides", json!({ "ContainerOverrides": [container] }));
    for (work, key) in [
        (with("launchType", json!("FARGATE")), "launchType"),
        (with("Cluster.$", json!("$.cluster")), "Cluster.$"),
        (with("", json!(1)), ""),
        (with("Launch_type", json!("FARGATE")), "Launch_type"),
        (with("_x", json!(1)), "_x"),
        (with("a b", json!(1)), "a b"),
        (with("É", json!(1)), "É"),
        (
            overrides(json!({ "Name": "job", "command": [] })),
            "command",
        ),
        (
            overrides(json!({ "Name": "job", "Command.$": "$.command" })),
            "Command.$",
        ),
    ] {
        let fault = format!(
            "field work.runTask has the key {key}, but every key of the arguments of ecs:runTask must be in \
             PascalCase, such as TaskDefinition, and must not end in .$"
        );
        refuses(work, &fault);
    }
    let values = ["{\"a\":1}", "{", ",", ",\"a\":", "x.$\":", "a", "\\", "{\\"];
    let command = json!({ "Name": "job", "Command": values, "Environment": [
        { "Name": "a.$", "Value": "{" }, { "Name": ",", "Value": "b" },
    ] });
    takes(overrides(command));
}

#[test]
fn a_workflow_that_cannot_be_started_or_found_is_refused() {
    let machine = "field work.startExecution.StateMachineArn must be a string: the ARN of a Standard state machine";
    let name = "field work.startExecution.Name must be left out: Lockstep derives the name of the execution from the grant";
    let grant = "field work.grantField must be a string, and needs work.startExecution whose Input, if given, is an object: this field of Input gets the grant";
    let container = "field work.container must be left out with work.startExecution";
    let start = |fields: Value| json!({ "startExecution": fields });
    for (work, fault) in [
        (json!({ "startExecution": "etl" }), machine),
        (start(json!({ "StateMachineArn": null })), machine),
        (start(json!({ "StateMachineArn": 7 })), machine),
        (start(json!({ "Name": "mine" })), name),
        (json!({ "grantField": 7 }), grant),
        (
            json!({ "grantField": "lockstep", "startExecution": { "Input": "text" } }),
            grant,
        ),
        (json!({ "container": "job" }), container),
    ] {
        refuses(of_workflow(json!({ "work": work })), fault);
    }
    refuses(json!({ "work": { "grantField": "lockstep" } }), grant);
}

/// Plays a run that names no container, and whose task definition has these.
#[track_caller]
fn found(containers: Value) -> Played {
    let definition = json!({ "ContainerDefinitions": containers });
    Play::granted(json!({ "work": { "container": null } }))
        .gives("Find Container", json!({ "TaskDefinition": definition }))
        .works()
        .play()
}

#[test]
fn the_only_container_of_a_task_definition_needs_no_name() {
    let played = found(json!([{ "Name": "app" }]));

    assert!(played.end.is_ok(), "{:?}", played.end);
    let path = "Check Input > Find Container > Check Input > Acquire Lock";
    assert_eq!(played.path[..4].join(" > "), path);
    let definition = played.input["work"]["runTask"]["TaskDefinition"].clone();
    let call = played.call_of("Find Container");
    assert_eq!(call.arguments, json!({ "TaskDefinition": definition }));
    assert_eq!(call.timeout_seconds, Some(15));
    assert_eq!(played.payload_of("Acquire Lock")["lock"], "nightly");
    assert_eq!(
        played.payload_of("Acquire Lock")["work"]["container"],
        "app"
    );
    let overrides = &played.call_of("Run Batch").arguments["Overrides"]["ContainerOverrides"];
    assert_eq!(overrides[0]["Name"], "app");
}

#[test]
fn one_of_several_containers_needs_a_name() {
    let played = found(json!([{ "Name": "app" }, { "Name": "log" }]));

    let fault = "field work.container must be a string, the name of the container that gets the LOCKSTEP_ variables: one of app, log";
    let refused = Failure::new("Lockstep.InvalidRequest", fault);
    assert_eq!(played.end, Err(refused));
}

#[test]
fn a_task_definition_that_is_not_described_fails_the_execution() {
    let played = Play::granted(json!({ "work": { "container": null } }))
        .answers(
            "Find Container",
            "Ecs.ServerException Ecs.AccessDeniedException",
        )
        .play();

    assert_eq!(played.end, Err(failure("Ecs.AccessDeniedException")));
    assert_eq!(played.calls_of("Find Container").len(), 4);
}

#[test]
fn the_only_container_that_is_overridden_needs_no_name() {
    let override_of = |name: &str| json!({ "Name": name, "Command": ["--full"] });
    let run = |overrides: Vec<Value>| {
        let task = json!({ "Overrides": { "ContainerOverrides": overrides } });
        json!({ "maxRunSeconds": 90, "work": { "container": null, "runTask": task } })
    };

    let played = Play::granted(run(vec![override_of("app")])).works().play();

    assert_eq!(
        played.payload_of("Acquire Lock")["work"]["container"],
        "app"
    );
    let overrides = &played.call_of("Run Batch").arguments["Overrides"]["ContainerOverrides"];
    assert_eq!(overrides.as_array().map(Vec::len), Some(1));
    assert_eq!(overrides[0]["Command"], json!(["--full"]));
    let timeout = played.call_of("Run Batch").timeout_seconds;
    assert_eq!(timeout, Some(90), "the rest of the input counts as it is");
    let both = run(vec![override_of("app"), override_of("log")]);
    let described = json!({ "ContainerDefinitions": [{ "Name": "app" }, { "Name": "log" }] });
    let played = Play::of(both)
        .gives("Find Container", json!({ "TaskDefinition": described }))
        .play();
    assert_eq!(played.end.unwrap_err().error, "Lockstep.InvalidRequest");
}

#[test]
fn overrides_have_to_leave_room_for_the_variables() {
    // The lock has 7 characters, the run key 4 and the execution 62. 600 are kept for the rest.
    let room = 8192 - 600 - 7 - 4 - EXECUTION.len();
    let with = |length: usize| {
        let overrides = |command: &str| json!({ "ContainerOverrides": [{ "Name": "job", "Command": [command] }] });
        let filler = "x".repeat(length - overrides("").to_string().len());
        let task = json!({ "Overrides": overrides(&filler) });
        json!({ "runKey": "tick", "work": { "runTask": task } })
    };

    takes(with(room));
    let fault = format!(
        "field work.runTask.Overrides has {} characters, but must be shorter: RunTask accepts 8192 characters of \
         overrides, including the LOCKSTEP_ variables",
        room + 1
    );
    refuses(with(room + 1), &fault);
    // A field that is missing needs no room. A value of another type needs its length as JSON.
    for (field, room) in [
        (json!({ "runKey": null }), room + 4),
        (json!({ "lock": null }), room + 7),
        (json!({ "runKey": 12 }), room + 2),
    ] {
        for (length, fits) in [(room, true), (room + 1, false)] {
            let mut fields = with(length);
            for (name, value) in field.as_object().into_iter().flatten() {
                fields[name] = value.clone();
            }
            let end = Play::granted(fields).works().play().end;
            assert_eq!(end.is_ok(), fits, "{field} {length}: {end:?}");
        }
    }
}
