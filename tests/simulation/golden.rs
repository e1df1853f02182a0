//! The definitions of each version, on today's functions: an execution in flight goes on with the definition that
//! it was started with, and a stack that was rolled back has an earlier one.

use crate::asl::Machine;
use crate::cloud::Batch;
use crate::engine::locked;
use crate::scenario::guarded_task;
use crate::workflow::{Order, start};
use crate::world::{Tally, World};
use lockstep::contract::{LockOptions, Overlap};
use lockstep::domain::{ExecutionArn, ExecutionEnd};
use lockstep_tests::{golden, repository};
use lockstep_weave::{Options, weave};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

const FOLDER: &str = "definitions";
const EXCLUSIVE_RUN: &str = "definitions/exclusive-run.asl.json";
const GUARD: &str = "definitions/cdk-guard.asl.json";
const WOVEN: &str = "definitions/one-state.woven.asl.json";

/// The outputs of the executions of each definition, by their names.
const OUTPUTS: &str = "outputs.json";

/// The lock of the guard, whose text the constructs replace.
const GUARD_LOCK: &str = "NAME";

/// How long each run works, in seconds.
const WORK: u64 = 1800;

/// Returns a workflow of one state as this version weaves it.
fn woven() -> String {
    let options = Options {
        lock: "nightly".into(),
        options: LockOptions {
            overlap: Some(Overlap::Queue),
            ..LockOptions::default()
        },
        ..Options::default()
    };
    weave(include_str!("definitions/one-state.asl.json"), &options)
        .expect("a definition that can be woven")
}

/// Returns the definitions of this version, by their files.
fn definitions() -> [(&'static str, String); 3] {
    let of_repository = |path: &str| fs::read_to_string(repository().join(path)).expect(path);
    [
        (
            EXCLUSIVE_RUN,
            of_repository("statemachines/exclusive-run.asl.json"),
        ),
        (GUARD, of_repository("infra/cdk/lib/guard.asl.json")),
        (WOVEN, woven()),
    ]
}

#[test]
fn the_definitions_of_this_version_are_kept() {
    for (file, text) in definitions() {
        golden::current().keep(file, &text);
    }
}

#[test]
fn the_outputs_of_the_definitions_are_kept() {
    let outputs = definitions().map(|(file, text)| (file, runs(file, &text).outputs));
    let outputs = BTreeMap::from(outputs);
    let text = serde_json::to_string_pretty(&outputs).expect("JSON");
    golden::current().keep(OUTPUTS, &format!("{text}\n"));
}

/// Returns the input of a run under the definition `file`, whose work takes half an hour.
fn input(file: &str) -> Value {
    match file {
        EXCLUSIVE_RUN => {
            let batch = Batch {
                length: WORK * 1000,
                ..Batch::default()
            };
            let mut work = guarded_task(&batch);
            work["container"] = "job".into();
            json!({ "lock": "nightly", "overlap": "queue", "work": work })
        }
        GUARD => json!({ "lock": GUARD_LOCK }),
        _ => json!({ "lock": "nightly", "overlap": "queue", "seconds": WORK }),
    }
}

/// Returns a definition whose states name their query language one by one, as the guard of the constructs does, with
/// the language of all: the simulation knows no other.
fn in_one_language(text: &str) -> String {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("QueryLanguage");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut definition: Value = serde_json::from_str(text).expect("JSON");
    strip(&mut definition);
    definition["QueryLanguage"] = json!("JSONata");
    definition.to_string()
}

/// How the executions of a definition ended, and what they returned.
struct Played {
    ends: Vec<Option<ExecutionEnd>>,
    outputs: BTreeMap<String, Value>,
    tally: Tally,
}

/// Returns a value with the kind of each of its fields in place of what it is, but for a status.
fn kinds(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kinds = fields.iter().map(|(field, value)| {
                let is_kept = field == "status";
                let kind = if is_kept { value.clone() } else { kinds(value) };
                (field.clone(), kind)
            });
            Value::Object(kinds.collect())
        }
        Value::Array(values) => values.first().map(kinds).into_iter().collect(),
        Value::String(_) => json!("text"),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("true or false"),
        Value::Null => Value::Null,
    }
}

/// Returns the kinds of the outputs in a trace, by the names of their executions.
fn outputs(trace: &str) -> BTreeMap<String, Value> {
    let lines = trace.lines();
    let succeeded = lines.filter_map(|line| line.split_once(" succeeds with "));
    let outputs = succeeded.map(|(who, output)| {
        let name = who.split_whitespace().last().expect("a name");
        let output: Value = serde_json::from_str(output).expect("JSON");
        (name.to_owned(), kinds(&output))
    });
    outputs.collect()
}

/// Starts two executions of a definition at once, lets them end, and returns how they ended. The second one waits for the
/// first. A third one of exclusive-run asks not to wait.
fn runs(file: &str, text: &str) -> Played {
    let machine: &'static Machine = Box::leak(Box::new(Machine::read(&in_one_language(text))));
    let mut world = World::of_seed(1, 0);
    world.as_deployed = true;
    let world = Arc::new(world);
    let mut inputs = vec![("first", input(file)), ("second", input(file))];
    if file == EXCLUSIVE_RUN {
        let mut third = input(file);
        third["overlap"] = "skip".into();
        inputs.push(("third", third));
    }
    let mut arns = Vec::new();
    for (name, input) in inputs {
        let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
        let arn = ExecutionArn::new(arn).expect("a valid ARN");
        let order = Order {
            arn: arn.clone(),
            machine,
            input,
            dies_releasing: false,
        };
        start(&world, &order);
        world.run(world.now() + 60_000);
        arns.push(arn);
    }
    world.run(world.now() + 3 * WORK * 1000);
    assert_eq!(world.broken(), None, "{file}: {}", world.trace());
    let ends = arns.iter().map(|arn| {
        let cloud = locked(&world.cloud);
        cloud.executions[arn].ended.map(|(_, end)| end)
    });
    let played = Played {
        ends: ends.collect(),
        outputs: outputs(&world.trace()),
        tally: world.tally(),
    };
    world.end();
    played
}

/// Checks that `found` has each field of `known`, at every depth, of the same kind.
fn assert_has(found: &Value, known: &Value, place: &str) {
    let (Value::Object(found), Value::Object(known)) = (found, known) else {
        return assert_eq!(found, known, "{place}");
    };
    for (field, kind) in known {
        let own = found.get(field).unwrap_or(&Value::Null);
        assert_has(own, kind, &format!("{field} in {place}"));
    }
}

#[test]
fn each_definition_of_a_version_runs_on_the_functions_of_this_one() {
    for release in golden::releases() {
        let files = release.files(FOLDER);
        assert!(files.len() >= 3, "{release:?}: {:?}", files.keys());
        for (file, text) in files {
            let Played { ends, tally, .. } = runs(&file, &text);

            let succeeded = Some(ExecutionEnd::Succeeded);
            let version = &release.version;
            assert!(
                ends.iter().all(|end| *end == succeeded),
                "{file} of {version}: {ends:?}"
            );
            let grants = tally.get("grants").copied().unwrap_or_default();
            assert_eq!(grants, 2, "{file} of {version}: {tally:?}");
            if file != GUARD {
                let woken = tally.get("woken");
                assert_eq!(woken, Some(&1), "{file} of {version}: {tally:?}");
            }
        }
    }
}

/// A caller of exclusive-run reads its output.
#[test]
fn each_output_has_the_fields_that_it_had_in_earlier_versions() {
    for release in golden::releases() {
        let known: Value = serde_json::from_str(&release.text(OUTPUTS)).expect("JSON");
        for (file, text) in definitions() {
            let found = runs(file, &text).outputs;
            for (name, output) in known[file].as_object().expect(file) {
                let place = format!("{name} of {file} of {}", release.version);
                let found = found.get(name).unwrap_or(&Value::Null);
                assert_has(found, output, &place);
            }
        }
    }
}
