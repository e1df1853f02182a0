//! Workflows of many shapes as the work of exclusive-run, without an edit. Each ends as it does
//! without a lock.

use crate::stack;
use futures_util::future::join_all;
use lockstep_tests::stack::{Ended, Stack, unique};
use serde_json::{Value, json};

/// A definition as a user writes it, and its input.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) definition: Value,
    pub(crate) input: Value,
}

fn shape(name: &'static str, definition: Value, input: Value) -> Shape {
    Shape {
        name,
        definition,
        input,
    }
}

fn jsonata(states: Value) -> Value {
    json!({ "QueryLanguage": "JSONata", "StartAt": "First", "States": states })
}

fn jsonpath(states: Value) -> Value {
    json!({ "StartAt": "First", "States": states })
}

/// Returns a call of release-lock for a grant that does not exist; the payload decides whether the
/// function answers or refuses. The call names the function, because a call by ARN would count as
/// one of a guard.
fn call(stack: &Stack, payload: &Value) -> Value {
    json!({ "First": {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": { "FunctionName": function_name(stack), "Payload": payload },
        "Output": "{% $states.result.Payload %}",
        "End": true
    } })
}

/// Returns the name of release-lock.
pub(crate) fn function_name(stack: &Stack) -> &str {
    let arn = stack.output("ReleaseLockFunctionArn");
    arn.rsplit(':').next().unwrap_or(arn)
}

fn in_jsonata(stack: &Stack) -> Vec<Shape> {
    let grant = json!({ "lock": unique("none"), "holder": "operator", "token": 7 });
    let answers = json!({ "grant": grant, "outcome": "succeeded" });
    let pass = json!({ "First": {
        "Type": "Pass",
        "Output": { "sum": "{% $sum($states.input.rows) %}", "rest": "{% $states.input %}" },
        "End": true
    } });
    let each = json!({
        "ProcessorConfig": { "Mode": "INLINE" },
        "StartAt": "Square",
        "States": { "Square": {
            "Type": "Pass", "Output": "{% $states.input * $states.input %}", "End": true
        } }
    });
    let map = json!({ "First": {
        "Type": "Map", "Items": "{% $states.input.rows %}", "MaxConcurrency": 2,
        "ItemProcessor": each, "End": true
    } });
    let choice = json!({
        "First": {
            "Type": "Choice",
            "Choices": [{ "Condition": "{% $count($states.input.rows) > 2 %}", "Next": "Many" }],
            "Default": "Few"
        },
        "Few": { "Type": "Succeed" },
        "Many": { "Type": "Wait", "Seconds": 1, "Next": "Few" }
    });
    let fails = json!({ "First": {
        "Type": "Fail", "Error": "{% $states.input.error %}", "Cause": "row 7: \u{1F4A5} \"no key\""
    } });
    let evaluates = json!({ "First": {
        "Type": "Pass", "Output": "{% $error('this row is odd') %}", "End": true
    } });
    let odd = json!({
        "rows": [1, 2.5, -3, 0, 1e3], "text": "\u{e4}\u{1F600}\n", "none": null, "empty": {}, "error": "Etl.Odd"
    });
    vec![
        shape("jsonata", jsonata(pass), odd.clone()),
        shape("map", jsonata(map), json!({ "rows": [1, 2, 3, 4] })),
        shape("choice", jsonata(choice), json!({ "rows": [1, 2, 3] })),
        shape("lambda", jsonata(call(stack, &answers)), json!({})),
        shape("fails", jsonata(fails), odd.clone()),
        shape("wrong expression", jsonata(evaluates), odd),
        shape(
            "refused by a function",
            jsonata(call(stack, &json!({}))),
            json!({}),
        ),
    ]
}

fn in_jsonpath(inner: &str) -> Vec<Shape> {
    let pass = json!({ "First": {
        "Type": "Pass",
        "Parameters": { "name.$": "States.Format('{}-{}', $.a, $.b)", "whole.$": "$" },
        "ResultPath": "$.made",
        "End": true
    } });
    let branch = |state: Value| json!({ "StartAt": "Only", "States": { "Only": state } });
    let wait = json!({ "Type": "Wait", "Seconds": 1, "End": true });
    let parallel = json!({ "First": {
        "Type": "Parallel",
        "Branches": [branch(wait.clone()), branch(json!({ "Type": "Pass", "Result": [7], "End": true }))],
        "End": true
    } });
    let one_fails = json!({ "First": {
        "Type": "Parallel",
        "Branches": [branch(wait), branch(json!({ "Type": "Fail", "Error": "Etl.Half" }))],
        "End": true
    } });
    let nested = json!({ "First": {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Parameters": { "StateMachineArn": inner, "Input.$": "$" },
        "OutputPath": "$.Output",
        "End": true
    } });
    let callback = json!({
        "First": {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "Parameters": { "QueueUrl": "https://queue.invalid/none", "MessageBody.$": "$$.Task.Token" },
            "TimeoutSeconds": 2,
            "Catch": [{ "ErrorEquals": ["States.ALL"], "ResultPath": "$.caught", "Next": "Caught" }],
            "End": true
        },
        "Caught": { "Type": "Pass", "Result": "no answer", "ResultPath": "$.caught", "End": true }
    });
    let input = json!({ "a": 1, "b": "two" });
    vec![
        shape("jsonpath", jsonpath(pass), input.clone()),
        shape("parallel", jsonpath(parallel), input.clone()),
        shape(
            "half of a parallel fails",
            jsonpath(one_fails),
            input.clone(),
        ),
        shape("nested", jsonpath(nested), input.clone()),
        shape("callback", jsonpath(callback), input),
        shape(
            "fails without a cause",
            jsonpath(json!({ "First": { "Type": "Fail", "Error": "E" } })),
            json!(7),
        ),
    ]
}

pub(crate) async fn all(stack: &Stack) -> Vec<Shape> {
    let echo = json!({ "First": { "Type": "Pass", "Parameters": { "seen.$": "$" }, "End": true } });
    let inner = stack.guarded(&jsonpath(echo)).await;
    let mut all = in_jsonata(stack);
    all.extend(in_jsonpath(&inner));
    all
}

fn guarded(lock: &str, machine: &str, input: &Value) -> Value {
    let start = json!({ "StateMachineArn": machine, "Input": input });
    json!({ "lock": lock, "work": { "startExecution": start } })
}

/// Returns what a caller sees of an ended execution. The cause of a failed expression names a
/// history event by its number. The number is left out, because the states of the lock change it.
pub(crate) fn seen(ended: &Ended) -> (&str, &Value, &str, String) {
    let mut parts = ended.cause.split("(entered at the event id #");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
    let cause = rest.fold(first, |text, part| {
        text + "(entered at the event id #" + part
    });
    (&ended.status, &ended.output, &ended.error, cause)
}

#[tokio::test]
async fn a_workflow_ends_the_same_with_a_lock_and_without() {
    let stack = stack().await;
    let exclusive_run = stack.output("ExclusiveRunStateMachineArn");
    let shapes = all(&stack).await;
    let ends = shapes.iter().map(async |shape| {
        let machine = stack.guarded(&shape.definition).await;
        let input = guarded(&unique("shape"), &machine, &shape.input);
        let bare = stack.start_machine(&machine, &shape.input).await;
        let under_lock = stack.start_machine(exclusive_run, &input).await;
        [
            stack.wait(&bare, 60).await,
            stack.wait(&under_lock, 60).await,
        ]
    });
    let ends = join_all(ends).await;

    for (shape, [bare, guarded]) in shapes.iter().zip(&ends) {
        assert_eq!(seen(guarded), seen(bare), "{}", shape.name);
    }
    let failed = ends
        .iter()
        .filter(|[bare, _]| bare.status == "FAILED")
        .count();
    eprintln!(
        "figure: {} shapes, {failed} of them fail: equal with a lock and without",
        ends.len()
    );
    assert!(
        ends.len() - failed >= 8 && failed >= 5,
        "{failed} of {}",
        ends.len()
    );
}

#[tokio::test]
async fn of_several_at_once_exactly_one_runs_whatever_the_shape() {
    let stack = stack().await;
    let exclusive_run = stack.output("ExclusiveRunStateMachineArn");
    let wait = json!({ "First": { "Type": "Wait", "Seconds": 3, "Next": "Last" }, "Last": { "Type": "Pass", "End": true } });
    for definition in [jsonata(wait.clone()), jsonpath(wait)] {
        let machine = stack.guarded(&definition).await;
        let input = guarded(&unique("shapes"), &machine, &json!({}));

        let arns = stack.start_many(exclusive_run, &input, 5).await;
        let ended = stack.wait_all(&arns, 60).await;
        let (worked, others): (Vec<_>, Vec<_>) = ended.into_iter().partition(Ended::worked);

        assert_eq!(worked.len(), 1, "{worked:?}");
        assert!(
            others.iter().all(|other| other.answer() == "skipped"),
            "{others:?}"
        );
    }
}
