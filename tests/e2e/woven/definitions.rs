//! The definitions of `tests/e2e/definitions`, and the input of each.

use crate::shapes::function_name;
use lockstep_tests::stack::{Stack, unique};
use lockstep_weave::Options;
use serde_json::{Value, json};
use std::path::Path;

/// Where a definition can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// On the local stack.
    Here,
    /// On AWS only, because the emulator lacks the integration. Here the definition is only
    /// validated.
    OnAws,
}

/// A definition and its input.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) input: Value,
    /// The first and the last state of the work, if it is not the whole definition.
    pub(super) section: Option<(&'static str, &'static str)>,
    pub(super) runs: Runs,
}

impl Case {
    /// Returns the options to weave it with.
    pub(super) fn options(&self, lock: &str) -> Options {
        Options {
            lock: lock.to_owned(),
            from: self.section.map(|(from, _)| from.to_owned()),
            to: self.section.map(|(_, to)| to.to_owned()),
            ..Options::default()
        }
    }
}

/// Returns every definition of the folder.
pub(super) async fn cases(stack: &Stack) -> Vec<Case> {
    let echo = json!({ "Type": "Pass", "Parameters": { "seen.$": "$" }, "End": true });
    let echo = json!({ "StartAt": "Echo", "States": { "Echo": echo } });
    let inner = stack.guarded(&echo).await;
    let mut all = files();
    for case in &mut all {
        case.text = case.text.replace("${InnerStateMachineArn}", &inner);
    }
    all
}

fn files() -> Vec<Case> {
    let all = [on_services(), on_data(), sections()];
    all.into_iter().flatten().collect()
}

/// Returns the definitions that call services.
fn on_services() -> Vec<Case> {
    let grant = json!({ "lock": unique("none"), "holder": "operator", "token": 7 });
    let monday = json!({ "day": "monday" });
    let cases = [
        (
            "ecs-run-task.jsonpath.asl.json",
            json!({ "seconds": "0.2" }),
        ),
        ("ecs-exit-code.jsonata.asl.yaml", json!({})),
        ("lambda-retry.jsonpath.asl.json", json!({ "grant": grant })),
        ("lambda-refused.jsonpath.asl.yaml", json!({ "outcome": 7 })),
        (
            "task-times-out.jsonpath.asl.json",
            json!({ "grant": grant }),
        ),
        (
            "nested-workflow.jsonpath.asl.yaml",
            json!({ "month": "2026-03" }),
        ),
        ("callback.jsonpath.asl.json", json!({ "order": "o-7" })),
        ("batch-submit-job.jsonpath.asl.json", monday.clone()),
        ("glue-start-job-run.jsonata.asl.json", monday),
        ("distributed-map.jsonata.asl.json", json!({})),
    ];
    cases.map(|(name, input)| case(name, input, None)).into()
}

/// Returns the definitions that only work on their input.
fn on_data() -> Vec<Case> {
    let order = json!({ "order": { "items": [1, 2, 3, 4], "id": "o-7" }, "extra": true });
    let orders = json!({ "orders": [{ "pieces": 3, "each": 50 }, { "pieces": 1, "each": 2.5 }] });
    let regions = json!({ "day": "monday", "regions": ["eu-west-1", "us-east-1", "eu-north-1"] });
    let intrinsics = json!({
        "a": 7, "b": "\u{e4}\u{1F600}", "left": { "x": 1 }, "right": { "y": null }, "json": "[1,[2]]"
    });
    let cases = [
        ("map.jsonpath.asl.json", regions),
        ("map.jsonata.asl.yaml", orders),
        ("parallel.jsonpath.asl.json", json!({ "seconds": 1 })),
        ("parallel-fails.jsonata.asl.json", json!({ "row": 7 })),
        ("choice-loop.jsonpath.asl.json", json!({ "a": [] })),
        ("choice-loop.jsonata.asl.yaml", json!({ "pages": 3 })),
        ("intrinsics.jsonpath.asl.json", intrinsics),
        ("variables.jsonpath.asl.json", json!({ "day": "monday" })),
        ("both-languages.asl.yaml", json!({ "a": 41 })),
        ("saga.jsonpath.asl.json", json!({ "guest": "Ada" })),
        ("data-flow.jsonpath.asl.json", order),
        (
            "names-of-the-guard.jsonata.asl.json",
            json!(["an", "array"]),
        ),
    ];
    let outputs = [
        json!(null),
        json!([]),
        json!([[7]]),
        json!([{}]),
        json!("text"),
        json!(false),
    ];
    let odd = outputs.map(|output| ("odd-outputs.jsonata.asl.json", json!({ "output": output })));
    let cases = cases.into_iter().chain(odd);
    cases.map(|(name, input)| case(name, input, None)).collect()
}

/// Returns the definitions whose work is a section.
fn sections() -> Vec<Case> {
    let [load, check] = [("Load", "Load Index"), ("Check", "Write")];
    let cases = [
        (
            "section.jsonpath.asl.yaml",
            load,
            json!({ "day": "monday" }),
        ),
        ("section.jsonpath.asl.yaml", load, json!({ "month": 3 })),
        (
            "section-fails.jsonata.asl.json",
            check,
            json!({ "rows": 9 }),
        ),
        (
            "section-fails.jsonata.asl.json",
            check,
            json!({ "rows": 2 }),
        ),
    ];
    cases
        .map(|(name, section, input)| case(name, input, Some(section)))
        .into()
}

fn case(name: &'static str, input: Value, section: Option<(&'static str, &'static str)>) -> Case {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/definitions");
    let text = std::fs::read_to_string(folder.join(name));
    // A Distributed Map reads a bucket, and the emulator has no Assign in JSONPath.
    let on_aws = ["distributed-map.", "variables."]
        .iter()
        .any(|start| name.starts_with(start));
    Case {
        name,
        text: text.unwrap_or_else(|error| panic!("{name}: {error}")),
        input,
        section,
        runs: if on_aws { Runs::OnAws } else { Runs::Here },
    }
}

/// Returns the text with values of the stack in place of `${NAME}`.
pub(super) fn filled(stack: &Stack, text: &str) -> String {
    let ours = [
        "AcquireLockFunctionArn",
        "HeartbeatFunctionArn",
        "ReleaseLockFunctionArn",
    ];
    let ours = ours.map(|name| (name, stack.output(name)));
    let theirs = [
        ("ClusterArn", stack.fixture("ClusterArn")),
        ("TaskDefinitionArn", stack.fixture("BatchTaskDefinitionArn")),
        ("SubnetId", "subnet-1"),
        ("FunctionName", function_name(stack)),
        ("Seconds", "60"),
        (
            "JobQueueArn",
            "arn:aws:batch:us-east-1:000000000000:job-queue/none",
        ),
        (
            "JobDefinitionArn",
            "arn:aws:batch:us-east-1:000000000000:job-definition/none:1",
        ),
        ("GlueJobName", "none"),
        ("Bucket", "none"),
    ];
    let values = ours.into_iter().chain(theirs);
    values.fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value)
    })
}
