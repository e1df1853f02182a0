//! Random definitions, in the layouts that people use.

use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop, prop_oneof};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// How a definition is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Minified,
    /// JSON with this text as one level of indentation.
    Indented(&'static str),
    /// YAML in block style. Without `quotes`, a text is plain where YAML allows it.
    Block {
        quotes: bool,
    },
}

pub(super) fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![
        Just(Layout::Minified),
        prop_oneof![Just("  "), Just("    "), Just("\t"), Just("   ")].prop_map(Layout::Indented),
        any::<bool>().prop_map(|quotes| Layout::Block { quotes }),
    ]
}

/// Names that are hard to quote, or that the woven states have too.
const NAMES: [&str; 8] = [
    "Acquire Lock",
    "Lockstep Run Work",
    "Rethrow",
    "a: b",
    "Bew\u{e4}hrung \u{1F600}",
    "say \"so\" \\",
    "- it's",
    "{x}",
];
const VARIABLES: [&str; 4] = ["answer", "lockstepAnswer", "lockstep2Ask", "x"];

/// A state. A leaf contains no other states; its number selects one of the kinds in [`leaf`].
#[derive(Clone, Debug)]
enum Step {
    Leaf(u8),
    Parallel(Vec<Vec<Step>>),
    Map(Vec<Step>),
}

fn steps() -> BoxedStrategy<Vec<Step>> {
    let leaf = any::<u8>().prop_map(Step::Leaf);
    let step = leaf.prop_recursive(3, 12, 3, |inner| {
        let some = prop::collection::vec(inner, 1..3);
        prop_oneof![
            prop::collection::vec(some.clone(), 1..3).prop_map(Step::Parallel),
            some.prop_map(Step::Map),
        ]
    });
    prop::collection::vec(step, 1..5).boxed()
}

pub(super) fn definition() -> impl Strategy<Value = Value> {
    (steps(), any::<u8>(), any::<bool>()).prop_map(|(steps, seed, jsonata)| {
        let mut count = usize::from(seed);
        let mut level = level(&steps, 0, usize::from(seed % 2), &mut count);
        if jsonata {
            level["QueryLanguage"] = json!("JSONata");
        }
        if seed % 3 == 0 {
            level["TimeoutSeconds"] = json!(600);
        }
        level
    })
}

/// Returns a level of states, each followed by the next. The states at the depth `assigns` assign a variable.
fn level(steps: &[Step], depth: usize, assigns: usize, count: &mut usize) -> Value {
    let names: Vec<_> = steps
        .iter()
        .map(|_| {
            let plain = NAMES[*count % NAMES.len()];
            *count += 1;
            // The first use keeps the plain name, so that it collides with the name of a woven state.
            if *count <= NAMES.len() {
                plain.to_owned()
            } else {
                format!("{plain} {count}")
            }
        })
        .collect();
    let mut states = Map::new();
    for (at, step) in steps.iter().enumerate() {
        let mut state = match step {
            Step::Leaf(kind) => leaf(*kind, &names[0]),
            Step::Parallel(branches) => {
                let branches = branches
                    .iter()
                    .map(|steps| level(steps, depth + 1, assigns, count));
                json!({ "Type": "Parallel", "Branches": branches.collect::<Value>() })
            }
            Step::Map(steps) => {
                json!({ "Type": "Map", "ItemProcessor": level(steps, depth + 1, assigns, count) })
            }
        };
        if depth == assigns {
            let name = VARIABLES[*count % VARIABLES.len()];
            state["Assign"] = json!({ name: "{% $states.input %}" });
        }
        match names.get(at + 1) {
            Some(next) if state["Type"] == "Choice" => state["Default"] = json!(next),
            Some(next) => state["Next"] = json!(next),
            None if state["Type"] == "Choice" => state["Default"] = json!(names[0]),
            None => state["End"] = json!(true),
        }
        states.insert(names[at].clone(), state);
    }
    json!({ "StartAt": names[0], "States": states })
}

fn leaf(kind: u8, first: &str) -> Value {
    match kind % 4 {
        0 => {
            json!({ "Type": "Pass", "Result": { "text": "# no comment: 'a' \"b\" \\ \n  two\t", "list": [1, 2.5, [], {}, false] } })
        }
        1 => {
            json!({ "Type": "Task", "Resource": "${Function}", "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": first }] })
        }
        2 => {
            json!({ "Type": "Choice", "Choices": [{ "Variable": "$.a", "IsNull": true, "Next": first }] })
        }
        _ => json!({ "Type": "Wait", "Seconds": 7, "Comment": "" }),
    }
}

pub(super) fn written(definition: &Value, layout: Layout) -> String {
    match layout {
        Layout::Minified => definition.to_string(),
        Layout::Indented(unit) => {
            let pretty = serde_json::to_string_pretty(definition).expect("JSON");
            let lines = pretty.lines().map(|line| {
                let text = line.trim_start_matches(' ');
                format!("{}{text}\n", unit.repeat((line.len() - text.len()) / 2))
            });
            lines.collect()
        }
        Layout::Block { quotes } => {
            let mut text = String::from("# A definition.\n");
            block(&mut text, definition, 0, quotes);
            text
        }
    }
}

fn is_map(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| !fields.is_empty())
}

fn block(out: &mut String, value: &Value, depth: usize, quotes: bool) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let _ = write!(out, "{}{}:", "  ".repeat(depth), scalar(name, quotes));
        match value {
            Value::Object(_) if is_map(value) => {
                out.push_str("   # a map\n");
                block(out, value, depth + 1, quotes);
                out.push_str(if depth == 1 { "\n" } else { "" });
            }
            Value::Array(items) if !items.is_empty() && items.iter().all(is_map) => {
                out.push('\n');
                for item in items {
                    let mut text = String::new();
                    block(&mut text, item, depth + 1, quotes);
                    let at = 2 * depth;
                    text.replace_range(at..at + 2, "- ");
                    out.push_str(&text);
                }
            }
            Value::String(text) => {
                let _ = writeln!(out, " {}", scalar(text, quotes));
            }
            other => {
                let _ = writeln!(out, " {other}");
            }
        }
    }
}

/// Returns a text as YAML. A text that needs no quotes gets single quotes only if `quotes` is set.
fn scalar(text: &str, quotes: bool) -> String {
    let mut chars = text.chars();
    let is_plain = !text.is_empty() && chars.all(|c| c.is_alphanumeric() || " ._".contains(c));
    match (is_plain, quotes) {
        (true, false) => text.to_owned(),
        (true, true) => format!("'{text}'"),
        (false, _) => json!(text).to_string(),
    }
}
