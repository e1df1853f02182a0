//! Tests of the interpreter: each rule of Step Functions that a definition here relies on.

use super::definition::Machine;
use super::scope::{Frame, Run};
use crate::definition::merged;
use crate::engine::locked;
use crate::invoke::Failure;
use crate::world::{START, World};
use lockstep::domain::ExecutionArn;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// How an execution ends, and after how many seconds.
type End = (Result<Value, Failure>, u64);

/// Runs the machine of `states` from its first one, after `redrives` redrives.
fn carry_out(states: &Value, redrives: u64) -> End {
    let definition = json!({ "QueryLanguage": "JSONata", "StartAt": "First", "States": states });
    let machine: &'static Machine = Box::leak(Box::new(Machine::read(&definition.to_string())));
    let world = Arc::new(World::of_seed(1, 0));
    let run = Run {
        world: Arc::clone(&world),
        arn: ExecutionArn::new("arn:aws:states:eu-west-1:1:execution:rules:one".into()).unwrap(),
        machine,
        input: json!({}),
        started: START,
        redrives,
        root: Frame::starting_at("First", json!({})),
        script: None,
    };
    let end = Arc::new(Mutex::new(None));
    let inner = Arc::clone(&end);
    world.spawn(async move {
        let result = run.carry_out().await;
        *locked(&inner) = Some((result, (run.world.now() - START) / 1000));
    });
    world.run(START + 3_600_000);
    let end = locked(&end).take();
    end.expect("the execution ends")
}

fn output(states: &Value) -> Value {
    carry_out(states, 0).0.unwrap()
}

/// Returns a Task state whose function refuses its payload.
fn refused(extra: Value) -> Value {
    let state = json!({
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": { "FunctionName": "${AcquireLockFunctionArn}", "Payload": {} },
        "End": true,
    });
    merged(state, extra)
}

#[test]
fn all_variables_are_evaluated_before_any_is_assigned() {
    let swapped = output(&json!({
        "First": { "Type": "Pass", "Assign": { "a": 1, "b": 2 }, "Next": "Swap" },
        "Swap": { "Type": "Pass", "Assign": { "a": "{% $b %}", "b": "{% $a %}" }, "Next": "Last" },
        "Last": { "Type": "Succeed", "Output": "{% [$a, $b] %}" },
    }));

    assert_eq!(swapped, json!([2, 1]));
}

#[test]
fn a_branch_reads_the_variables_around_it_and_keeps_its_own() {
    let outputs = output(&json!({
        "First": { "Type": "Pass", "Assign": { "outer": 1, "own": 0 }, "Next": "Both" },
        "Both": {
            "Type": "Parallel",
            "Branches": [
                { "StartAt": "A", "States": {
                    "A": { "Type": "Pass", "Assign": { "own": "{% $outer + 1 %}" }, "Next": "B" },
                    "B": { "Type": "Pass", "Output": "{% $own %}", "End": true } } },
                { "StartAt": "C", "States": { "C": { "Type": "Succeed", "Output": "{% $own %}" } } },
            ],
            "Output": "{% [$states.result, $own] %}",
            "End": true,
        },
    }));

    assert_eq!(outputs, json!([2, 0, 0]));
}

#[test]
fn the_first_failing_branch_ends_the_others_and_is_caught_with_its_error() {
    let states = json!({
        "First": {
            "Type": "Parallel",
            "Branches": [
                { "StartAt": "A", "States": { "A": { "Type": "Wait", "Seconds": 100, "End": true } } },
                { "StartAt": "B", "States": {
                    "B": { "Type": "Wait", "Seconds": 3, "Next": "C" },
                    "C": { "Type": "Fail", "Error": "Mine", "Cause": "because" } } },
            ],
            "Catch": [
                { "ErrorEquals": ["States.Timeout"], "Next": "Wrong" },
                { "ErrorEquals": ["Mine"], "Assign": { "why": "{% $states.errorOutput.Cause %}" }, "Next": "Last" },
            ],
            "End": true,
        },
        "Wrong": { "Type": "Fail", "Error": "Wrong", "Cause": "caught by the wrong catcher" },
        "Last": { "Type": "Succeed", "Output": "{% $why & $states.input.Error %}" },
    });

    let (result, seconds) = carry_out(&states, 0);

    assert_eq!(result, Ok(json!("becauseMine")));
    assert_eq!(seconds, 3);
}

#[test]
fn each_retrier_counts_for_itself_and_backs_off_to_its_bound() {
    let retry = json!([
        { "ErrorEquals": ["States.Timeout"], "MaxAttempts": 7 },
        { "ErrorEquals": ["Lockstep.InvalidRequest"], "IntervalSeconds": 2, "MaxAttempts": 4,
          "BackoffRate": 2.0, "MaxDelaySeconds": 5 },
    ]);
    let first = refused(json!({ "Retry": retry }));

    let (result, seconds) = carry_out(&json!({ "First": first }), 0);

    assert_eq!(result.unwrap_err().error, "Lockstep.InvalidRequest");
    assert_eq!(seconds, 2 + 4 + 5 + 5);
}

#[test]
fn an_error_name_covers_the_errors_that_step_functions_documents() {
    let cases = [
        ("States.ALL", "States.Timeout", true),
        ("States.ALL", "Anything", true),
        ("States.ALL", "States.Runtime", false),
        ("States.TaskFailed", "Lambda.Unknown", true),
        ("States.TaskFailed", "States.Timeout", false),
        ("Lambda.Unknown", "Lambda.Unknown", true),
        ("Lambda.Unknown", "Lambda.ServiceException", false),
    ];
    for (name, error, covered) in cases {
        let names = [name.to_owned()];

        assert_eq!(
            super::task::covers(&names, error),
            covered,
            "{name}: {error}"
        );
    }
}

#[test]
fn an_expression_that_fails_is_an_error_that_a_catcher_may_name() {
    for expression in [
        "{% $error('no') %}",
        "{% $states.input.missing %}",
        "{% 1 + 'a' %}",
    ] {
        let catch = json!([{ "ErrorEquals": ["States.QueryEvaluationError"], "Next": "Last" }]);
        let arguments = json!({ "FunctionName": "f", "Payload": expression });
        let first = refused(json!({ "Arguments": arguments, "Catch": catch }));
        let last = json!({ "Type": "Succeed", "Output": "{% $states.input.Error %}" });

        let error = output(&json!({ "First": first, "Last": last }));

        assert_eq!(error, json!("States.QueryEvaluationError"), "{expression}");
    }
}

#[test]
fn a_redrive_shows_in_the_context_and_starts_where_the_execution_stood() {
    let states = json!({
        "First": { "Type": "Choice", "Default": "Fails", "Choices": [
            { "Condition": "{% $states.context.Execution.RedriveCount > 0 %}", "Next": "Last" }] },
        "Fails": { "Type": "Fail", "Error": "E", "Cause": "C" },
        "Last": { "Type": "Succeed", "Output": "{% $states.context.Execution.RedriveCount %}" },
    });

    let (first, _) = carry_out(&states, 0);
    let (second, _) = carry_out(&states, 2);

    assert_eq!(first, Err(Failure::new("E", "C")));
    assert_eq!(second, Ok(json!(2)));
}

#[test]
fn the_interpreter_refuses_a_definition_with_an_unknown_part() {
    let unknown = [
        json!({ "Type": "Map", "End": true }),
        json!({ "Type": "Pass", "ResultPath": "$.x", "End": true }),
        json!({ "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Arguments": {}, "End": true }),
        json!({ "Type": "Pass", "Output": "{% 1 + %}", "End": true }),
        json!({ "Type": "Pass", "Output": "${Unknown}", "End": true }),
    ];
    for state in unknown {
        let definition = json!({
            "QueryLanguage": "JSONata", "StartAt": "First", "States": { "First": state },
        });
        let text = definition.to_string();

        let read = std::panic::catch_unwind(|| Machine::read(&text));

        assert!(read.is_err(), "{text}");
    }
}
