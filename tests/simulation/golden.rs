//! The definitions of each version, on today's functions: an execution in flight goes on with the definition that
//! it was started with, and a stack that was rolled back has an earlier one.

use crate::asl::Machine;
use crate::cloud::Batch;
use crate::engine::locked;
use crate::scenario::guarded_task;
use crate::workflow::{Order, start};
use crate::world::World;
use lockstep::contract::{LockOptions, Overlap};
use lockstep::domain::{ExecutionArn, ExecutionEnd};
use lockstep_tests::{golden, repository};
use lockstep_weave::{Options, weave};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

const FOLDER: &str = "definitions";
const EXCLUSIVE_RUN: &str = "definitions/exclusive-run.asl.json";
const GUARD: &str = "definitions/cdk-guard.asl.json";
const WOVEN: &str = "definitions/one-state.woven.asl.json";

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

#[test]
fn the_definitions_of_this_version_are_kept() {
    let of_repository = |path: &str| fs::read_to_string(repository().join(path)).expect(path);
    let release = golden::current();
    release.keep(
        EXCLUSIVE_RUN,
        &of_repository("statemachines/exclusive-run.asl.json"),
    );
    release.keep(GUARD, &of_repository("infra/cdk/lib/guard.asl.json"));
    release.keep(WOVEN, &woven());
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

/// Starts two executions of a definition at once, lets them end, and returns how they ended. The second one waits for
/// the first, unless the definition skips it.
fn two_runs(file: &str, text: &str) -> (Vec<Option<ExecutionEnd>>, crate::world::Tally) {
    let machine: &'static Machine = Box::leak(Box::new(Machine::read(&in_one_language(text))));
    let mut world = World::of_seed(1, 0);
    world.as_deployed = true;
    let world = Arc::new(world);
    let arns = ["first", "second"].map(|name| {
        let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
        ExecutionArn::new(arn).expect("a valid ARN")
    });
    for arn in &arns {
        let order = Order {
            arn: arn.clone(),
            machine,
            input: input(file),
            dies_releasing: false,
        };
        start(&world, &order);
        world.run(world.now() + 60_000);
    }
    world.run(world.now() + 3 * WORK * 1000);
    assert_eq!(world.broken(), None, "{file}: {}", world.trace());
    let ends = arns.map(|arn| {
        let cloud = locked(&world.cloud);
        cloud.executions[&arn].ended.map(|(_, end)| end)
    });
    let tally = world.tally();
    world.end();
    (ends.into(), tally)
}

#[test]
fn each_definition_of_a_version_runs_on_the_functions_of_this_one() {
    for release in golden::releases() {
        let files = release.files(FOLDER);
        assert!(files.len() >= 3, "{release:?}: {:?}", files.keys());
        for (file, text) in files {
            let (ends, tally) = two_runs(&file, &text);

            let succeeded = Some(ExecutionEnd::Succeeded);
            assert_eq!(
                ends,
                [succeeded, succeeded],
                "{file} of {}",
                release.version
            );
            let grants = tally.get("grants").copied().unwrap_or_default();
            assert_eq!(grants, 2, "{file} of {}: {tally:?}", release.version);
            if file != GUARD {
                assert_eq!(
                    tally.get("woken"),
                    Some(&1),
                    "{file} of {}: {tally:?}",
                    release.version
                );
            }
        }
    }
}
