//! The glossary names the metrics, events and request fields of the code, and docs/log-events.md lists the
//! events that the sources log.

use lockstep::contract::EventKind;
use lockstep::telemetry::{Metric, StackMetric};
use lockstep_tests::repository;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn document(name: &str) -> String {
    let path = repository().join("docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns every word between backticks.
fn quoted(text: &str) -> BTreeSet<&str> {
    let parts = text.split('`').skip(1).step_by(2);
    parts.flat_map(|part| part.split(['.', ' ', '='])).collect()
}

/// Returns the names of the fields in the schema of an object.
fn fields(schema: &Value) -> BTreeSet<String> {
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn the_glossary_has_every_metric_and_every_event() {
    let glossary = document("glossary.md");
    let names = quoted(&glossary);
    let of_stack = StackMetric::ALL.map(StackMetric::name);
    for metric in Metric::ALL.map(Metric::name).into_iter().chain(of_stack) {
        assert!(names.contains(metric), "{metric}");
    }
    for kind in EventKind::ALL {
        let name = kind.detail_type().trim_start_matches("Lockstep ");
        assert!(glossary.contains(name), "{name}");
    }
}

#[test]
fn the_glossary_has_every_field_of_a_request_for_a_lock() {
    let glossary = document("glossary.md");
    let names = quoted(&glossary);
    let path = repository().join("shared/schemas/acquire-lock.request.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let fields = fields(&schema);
    assert!(fields.len() > 10, "{fields:?}");
    for field in fields {
        assert!(names.contains(field.as_str()), "{field}");
    }
}

/// Adds to `found` the `event` of each log call in the sources of `folder`. Panics if the event is not its
/// first field.
fn logged(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            logged(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for macro_call in text.split("tracing::").skip(1) {
                let is_log = ["info!", "warn!", "error!", "debug!"];
                if is_log.iter().any(|name| macro_call.starts_with(name)) {
                    let event = macro_call.split_once("event = \"").map(|(before, rest)| {
                        let first = before
                            .split_once('!')
                            .is_some_and(|(_, rest)| rest.trim() == "(");
                        assert!(
                            first,
                            "{}: the event is not the first field",
                            path.display()
                        );
                        rest.split('"').next().unwrap_or_default()
                    });
                    let event =
                        event.unwrap_or_else(|| panic!("{}: {macro_call:.80}", path.display()));
                    found.insert(event.to_owned());
                }
            }
        }
    }
}

#[test]
fn the_table_of_log_events_has_what_the_sources_log_and_nothing_else() {
    let mut in_code = BTreeSet::new();
    for sources in [
        "cli/src",
        "core/src",
        "shared/src",
        "operate/src",
        "functions",
    ] {
        logged(&repository().join(sources), &mut in_code);
    }
    let table = document("log-events.md");
    let rows = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let in_table: BTreeSet<_> = rows.map(str::to_owned).collect();

    assert!(in_code.len() > 20, "{in_code:?}");
    assert_eq!(in_code, in_table);
}
