//! The code agrees with the state machines, the template and the schema files.

use lockstep::config::Key;
use lockstep::contract::{ErrorName, EventKind, SOURCE};
use lockstep_operate::contract::VersionResponse;
use lockstep_tests::{repository, schemas};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns all state machine definitions of the project, with their paths.
fn definitions() -> Vec<(PathBuf, Value)> {
    let folder = repository().join("statemachines");
    let folders = [folder.clone(), folder.join("examples")];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|entry| entry.unwrap().path());
    let all: Vec<_> = paths
        .filter(|path| path.to_string_lossy().ends_with(".asl.json"))
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path, serde_json::from_str(&text).unwrap())
        })
        .collect();
    assert!(all.len() >= 4, "only {} definitions found", all.len());
    all
}

/// Returns the template of the stack.
pub(crate) fn template() -> String {
    fs::read_to_string(repository().join("infra/template.yaml")).unwrap()
}

/// Returns the text of the template from the line `start` to the next blank line.
fn section(start: &str) -> String {
    let template = template();
    let (_, section) = template.split_once(start).expect(start);
    section.split("\n\n").next().unwrap().to_owned()
}

/// Calls `visit` with every object in `value`.
fn walk(value: &Value, visit: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(object);
            object.values().for_each(|value| walk(value, visit));
        }
        Value::Array(list) => list.iter().for_each(|value| walk(value, visit)),
        _ => {}
    }
}

#[test]
fn a_workflow_catches_retries_and_throws_only_names_from_the_closed_list() {
    let ours: BTreeSet<_> = ErrorName::ALL.iter().map(|name| name.as_str()).collect();
    let mut seen = 0;

    for (path, definition) in definitions() {
        walk(&definition, &mut |object| {
            let equals = object.get("ErrorEquals").and_then(Value::as_array);
            let equals = equals.into_iter().flatten();
            let thrown = object.get("Error").into_iter();
            for name in equals.chain(thrown).filter_map(Value::as_str) {
                let foreign = [
                    "States.",
                    "Lambda.",
                    "Runtime.",
                    "Sandbox.",
                    "ECS.",
                    "AmazonECS.",
                    "Sfn.",
                    "{%",
                ];
                let known = ours.contains(name) || foreign.iter().any(|p| name.starts_with(p));
                assert!(known, "{}: {name}", path.display());
                seen += 1;
            }
        });
    }

    assert!(seen > 20, "only {seen} names seen");
}

#[test]
fn every_task_has_a_timeout() {
    for (path, definition) in definitions() {
        walk(&definition, &mut |object| {
            let is_task = object.get("Type").is_some_and(|kind| kind == "Task");
            let has_timeout = object.contains_key("TimeoutSeconds");
            assert!(!is_task || has_timeout, "{}: {object:?}", path.display());
        });
    }
}

#[test]
fn no_call_of_a_lock_function_retries_a_final_error() {
    for (path, definition) in definitions() {
        walk(&definition, &mut |object| {
            let Some(retriers) = object.get("Retry").and_then(Value::as_array) else {
                return;
            };
            let resource = object["Resource"].as_str().unwrap_or_default();
            if !resource.contains(":lambda:invoke") {
                return;
            }
            // A resumed run waits for the end of its last attempt by a Retry on LockHeld.
            let payload = object["Arguments"]["Payload"].as_str();
            let resumes = payload.is_some_and(|payload| payload.contains("'redrive'"));
            let first = &retriers[0];
            assert_eq!(first["MaxAttempts"], 0, "{}: {first}", path.display());
            for retrier in &retriers[1..] {
                for name in retrier["ErrorEquals"].as_array().unwrap() {
                    let ours = ErrorName::ALL
                        .into_iter()
                        .find(|ours| name == ours.as_str());
                    let waits = resumes && ours == Some(ErrorName::LockHeld);
                    assert!(
                        waits || ours.is_none_or(ErrorName::is_retryable),
                        "{}: {name}",
                        path.display()
                    );
                }
            }
        });
    }
}

#[test]
fn the_template_sets_exactly_the_known_environment_variables() {
    let template = template();
    let words = template.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let set: BTreeSet<_> = words.filter(|word| word.starts_with("LOCKSTEP_")).collect();

    let known: BTreeSet<_> = Key::ALL.iter().map(|key| key.name()).collect();

    assert_eq!(set, known);
}

#[test]
fn the_template_has_the_version_of_the_functions() {
    let version = section("\n  LockstepVersion:\n");
    let mut lines = version.lines();
    let value = lines.find_map(|line| line.strip_prefix("    Value: "));

    assert_eq!(value, Some(VersionResponse::OWN.version));
}

#[test]
fn the_committed_schemas_match_the_types() {
    for (name, schema) in schemas::all() {
        let path = schemas::folder().join(name);
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == schemas::text(&schema),
            "{name} differs from the types: run `make schemas`"
        );
    }
}

#[test]
fn the_options_of_the_cdk_constructs_match_the_types() {
    let committed = fs::read_to_string(schemas::lock_options_file()).unwrap_or_default();
    assert_eq!(committed, schemas::lock_options(), "run `make schemas`");
}

#[test]
fn no_schema_is_left_of_a_type_that_is_gone() {
    let ours = schemas::all().into_iter();
    let ours: BTreeSet<_> = ours.map(|(name, _)| name.to_owned()).collect();

    assert_eq!(names_in(&schemas::folder()), ours);
}

#[test]
fn every_function_is_built_and_deployed() {
    let template = template();
    let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
    let built = makefile
        .lines()
        .find_map(|line| line.strip_prefix("FUNCTIONS := "));
    let built: BTreeSet<_> = built.unwrap().split(' ').map(str::to_owned).collect();
    let deployed: BTreeSet<_> = template
        .lines()
        .filter_map(|line| line.trim().strip_prefix("CodeUri: ../target/lambda/"))
        .filter_map(|path| path.strip_suffix("/bootstrap.zip"))
        .map(str::to_owned)
        .collect();

    let functions = names_in(&repository().join("functions"));

    assert_eq!(built, functions);
    assert_eq!(deployed, functions);
}

#[test]
fn the_topic_of_the_alarms_receives_the_events_that_call_for_action() {
    let kinds = EventKind::ALL.iter().filter(|kind| kind.calls_for_action());
    let kinds: BTreeSet<_> = kinds.map(|kind| kind.detail_type()).collect();
    let rule = section("  EventMessages:\n");

    let matched = rule.lines().filter_map(|line| {
        let item = line.trim().strip_prefix("- ")?;
        item.starts_with("Lockstep ").then_some(item)
    });

    assert_eq!(matched.collect::<BTreeSet<_>>(), kinds);
    assert!(rule.contains(&format!("source: [{SOURCE}]")));
    assert!(rule.contains("message: { source: [custom] }"));
    let inputs = rule.lines().filter(|line| line.contains("InputPath:"));
    let inputs: Vec<_> = inputs.map(str::trim).collect();
    assert_eq!(inputs, ["InputPath: $.detail.message"; 2], "chat and mail");
}

#[test]
fn the_table_outlives_its_stack_and_cannot_be_deleted_by_mistake() {
    let table = section("  LockTable:\n");

    for line in [
        "DeletionPolicy: Retain",
        "UpdateReplacePolicy: Retain",
        "DeletionProtectionEnabled: true",
        "PointInTimeRecoveryEnabled: true",
    ] {
        assert!(table.contains(line), "{line} is not in: {table}");
    }
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
