//! Generates and checks `docs/agent.openapi.yaml`: its schemas are generated from the types of the requests
//! and responses, the rest is written by hand.

use super::error::ApiError;
use super::request::{BeatRequest, BeginRequest, EndRequest};
use super::response::{Beaten, Ended, Granted, Health, JobView, Jobs, NotGranted};
use crate::platform::env::variable;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::fs;

/// The description that the agent serves.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/agent.openapi.yaml");
const ROUTES: &str = include_str!("routes.rs");
/// The line before the schemas.
const SCHEMAS: &str = "  # From the types of the agent: make schemas\n  schemas:\n";

/// Returns the schemas of all bodies, by name. The schema of a request has what may be sent, the schema of a
/// response what is sent.
pub(super) fn schemas() -> Map<String, Value> {
    let mut requests = generator(SchemaSettings::draft2020_12().for_deserialize());
    requests.subschema_for::<BeginRequest>();
    requests.subschema_for::<BeatRequest>();
    requests.subschema_for::<EndRequest>();
    let mut responses = generator(SchemaSettings::draft2020_12().for_serialize());
    responses.subschema_for::<Granted>();
    responses.subschema_for::<NotGranted>();
    responses.subschema_for::<Beaten>();
    responses.subschema_for::<Ended>();
    responses.subschema_for::<JobView>();
    responses.subschema_for::<Jobs>();
    responses.subschema_for::<Health>();
    responses.subschema_for::<ApiError>();
    let mut all = requests.take_definitions(true);
    all.extend(responses.take_definitions(true));
    for schema in all.values_mut() {
        schema.sort_all_objects();
        remove_null(schema);
    }
    all.sort_keys();
    all
}

/// Returns the method and the path of each route.
pub(super) fn routes() -> Vec<String> {
    let lines = ROUTES
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".route(\""));
    let parts = lines.filter_map(|line| line.split_once('"'));
    let all = parts.flat_map(|(path, handlers)| {
        let methods = ["get", "post"].into_iter();
        let known = methods.filter(move |method| handlers.contains(&format!("{method}(")));
        known.map(move |method| format!("{method} {path}"))
    });
    all.collect()
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    let settings = settings.with(|s| s.definitions_path = "/components/schemas".into());
    settings.into_generator()
}

/// Removes `null` from the types of fields: a field without a value is left out of the JSON.
fn remove_null(schema: &mut Value) {
    if let Some(types) = schema.get_mut("type").filter(|types| types.is_array()) {
        *types = types[0].take();
    }
    if let Some(Value::Array(any)) = schema.get_mut("anyOf") {
        any.retain(|one| one["type"] != "null");
        if let [Value::Object(only)] = any.as_mut_slice() {
            let only = std::mem::take(only);
            let fields = schema.as_object_mut().unwrap();
            fields.remove("anyOf");
            fields.extend(only);
        }
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(remove_null),
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        _ => {}
    }
}

/// Writes `value` as YAML in a block that is indented by `depth`. A scalar is JSON, which is valid YAML
/// (<https://yaml.org/spec/1.2.2/#12-overview>).
fn yaml(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            for (name, field) in fields {
                let plain = name.bytes().all(|b| b.is_ascii_alphanumeric());
                let name = if plain {
                    name.clone()
                } else {
                    format!("{name:?}")
                };
                write!(out, "{indent}{name}:").unwrap();
                yaml(out, field, depth + 1);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            out.push('\n');
            for item in items {
                write!(out, "{indent}-").unwrap();
                yaml(out, item, depth + 1);
            }
        }
        scalar => writeln!(out, " {}", scalar.to_string().replace("\\n", " ")).unwrap(),
    }
}

/// Returns `description` with the schemas of the current types.
fn renewed(description: &str) -> String {
    let (prose, _) = description.split_once(SCHEMAS).unwrap();
    let mut block = String::new();
    yaml(&mut block, &Value::Object(schemas()), 2);
    format!("{prose}{SCHEMAS}{}", block.trim_start_matches('\n'))
}

/// Returns the texts between each `from` and the next `to` in `text`.
fn between<'a>(text: &'a str, from: &'a str, to: char) -> impl Iterator<Item = &'a str> {
    text.split(from)
        .skip(1)
        .filter_map(move |rest| rest.split(to).next())
}

#[test]
fn the_schemas_of_the_api_are_those_of_its_types() {
    let description = fs::read_to_string(FILE).unwrap();

    let renewed = renewed(&description);

    if variable("UPDATE_SNAPSHOTS").is_some() {
        fs::write(FILE, &renewed).unwrap();
    } else {
        // The order of members depends on which features of serde_json the other crates of a build enable.
        let lines = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let is_current = lines(&renewed) == lines(&description);
        assert!(is_current, "`make schemas` renews {FILE}");
    }
}

#[test]
fn a_response_of_the_api_may_say_that_a_lock_is_paused_or_ending() {
    let schemas = schemas();

    for field in ["paused", "ending", "notBefore"] {
        let known = &schemas["Skipped"]["properties"];
        assert!(known.get(field).is_some(), "{field} is not in {known}");
    }
}

#[test]
fn the_description_of_the_api_has_each_route_and_each_schema() {
    let description = fs::read_to_string(FILE).unwrap();
    let prose = description.split(SCHEMAS).next().unwrap();
    let schemas = schemas();

    for path in between(ROUTES, ".route(\"", '"') {
        assert!(prose.contains(&format!("\n  {path}:\n")), "{path}");
    }
    for path in between(prose, "\n  /", ':') {
        assert!(ROUTES.contains(&format!(".route(\"/{path}\"")), "/{path}");
    }
    for name in between(&description, "#/components/schemas/", '"') {
        assert!(schemas.contains_key(name), "{name}");
    }
    for name in schemas.keys() {
        assert!(
            description.contains(&format!("#/components/schemas/{name}\"")),
            "{name}"
        );
    }
}
