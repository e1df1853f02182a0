//! The agent's API as each version had it (`tests/golden`): a program of another version goes on to use it, because
//! the agent and its clients are in different images.

use super::openapi::{routes, schemas};
use crate::platform::env::variable;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// The golden files, which the contract level keeps.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden");
const FILE: &str = "agent.json";
/// The schemas of what clients send. The others are of what they get.
const REQUESTS: [&str; 3] = ["Begin", "Beat", "End"];

/// Returns the API of this version, without texts for people.
fn api() -> Value {
    let mut schemas = Value::Object(schemas());
    without_texts(&mut schemas);
    json!({ "routes": routes(), "schemas": schemas })
}

fn without_texts(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("description").is_some_and(Value::is_string) {
                fields.remove("description");
            }
            fields.values_mut().for_each(without_texts);
        }
        Value::Array(items) => items.iter_mut().for_each(without_texts),
        _ => {}
    }
}

/// Returns the words of an array of texts.
fn words(list: &Value) -> BTreeSet<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect()
}

/// Returns what a client of `old` cannot do at an agent of `new`.
fn broken(old: &Value, new: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    for route in words(&old["routes"]).difference(&words(&new["routes"])) {
        broken.push(format!("no route {route}"));
    }
    for (name, before) in old["schemas"].as_object().expect("schemas") {
        let now = &new["schemas"][name];
        for (field, rule) in before["properties"].as_object().into_iter().flatten() {
            let own = &now["properties"][field];
            if own["type"] != rule["type"] || own["$ref"] != rule["$ref"] {
                broken.push(format!("{name}.{field} is {own}, not {rule}"));
            }
        }
        let (before, now) = (words(&before["required"]), words(&now["required"]));
        let wrong = if REQUESTS.contains(&name.as_str()) {
            now.difference(&before)
        } else {
            before.difference(&now)
        };
        broken.extend(
            wrong.map(|field| format!("{name}.{field} is required in one of the versions only")),
        );
    }
    broken
}

#[test]
fn a_client_of_each_version_can_use_the_agent() {
    let mut count = 0;
    for entry in fs::read_dir(FOLDER).expect("the golden files") {
        let folder = entry.expect("a folder").path();
        if folder.is_dir() && !accepts() {
            let text = fs::read_to_string(folder.join(FILE)).expect("the API of a version");
            let old: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(broken(&old, &api()), [""; 0], "{}", folder.display());
            count += 1;
        }
    }
    assert!(count > 0 || accepts());
}

#[test]
fn the_api_of_this_version_is_kept() {
    let path = format!("{FOLDER}/{}/{FILE}", env!("CARGO_PKG_VERSION"));
    let mut text = serde_json::to_string_pretty(&sorted(api())).expect("JSON");
    text.push('\n');
    if accepts() {
        let folder = std::path::Path::new(&path).parent().expect("a folder");
        fs::create_dir_all(folder).expect("a folder");
        return fs::write(&path, text).expect("a golden file is written");
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let advice =
        "`make golden` writes it before the release of this version; else raise the version first";
    assert!(
        known == text,
        "{path} is not the API of this version: {advice}"
    );
}

/// Sorts the members, whose order depends on the features of serde_json in a build.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

fn accepts() -> bool {
    variable("LOCKSTEP_GOLDEN").is_some_and(|word| word == "accept")
}

#[test]
fn a_change_of_the_api_that_breaks_a_client_is_noticed() {
    let of = |routes: Value, begin: Value, granted: Value| {
        json!({
            "routes": routes,
            "schemas": {
                "Begin": { "properties": { "lock": { "type": "string" } }, "required": begin },
                "Granted": { "properties": { "token": { "type": "integer" } }, "required": granted },
            },
        })
    };
    let old = of(json!(["/v1/jobs"]), json!(["lock"]), json!(["token"]));
    let fewer = of(
        json!(["/v1/jobs", "/v2"]),
        json!([]),
        json!(["token", "more"]),
    );
    assert_eq!(broken(&old, &fewer), [""; 0]);
    for (new, part) in [
        (of(json!([]), json!(["lock"]), json!(["token"])), "/v1/jobs"),
        (
            of(
                json!(["/v1/jobs"]),
                json!(["lock", "more"]),
                json!(["token"]),
            ),
            "Begin.\"more\"",
        ),
        (
            of(json!(["/v1/jobs"]), json!(["lock"]), json!([])),
            "Granted.\"token\"",
        ),
    ] {
        assert!(broken(&old, &new)[0].contains(part), "{new}");
    }
    let mut other = old.clone();
    other["schemas"]["Granted"]["properties"]["token"]["type"] = json!("string");
    assert!(broken(&old, &other)[0].contains("Granted.token"), "{other}");
}
