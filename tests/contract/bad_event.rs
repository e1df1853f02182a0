//! The events that the reaper refuses: all except those of its rules and the call for a sweep.

use crate::bad_input::{Case, NULL, assert_refuses, cases, with};
use crate::functions::Functions;
use crate::scene::{assert_says, end_event, execution_event, task, task_event};
use serde_json::{Value, json};

/// Returns the event of the end of a task under an unknown grant.
fn stopped() -> Value {
    task_event("a", &task("t", 3, true), &json!({ "token": 7 }), "STOPPED")
}

/// Returns a good event of each kind, with the cases that make it bad.
fn bad_events() -> [(Value, Vec<Case<'static>>); 4] {
    let known = "Step Functions Execution Status Change";
    let sweeps = cases! {
        "sweep", NULL => "missing field `sweep`";
        "sweep", false => "sweep", "is false", "true";
        "sweep", 1 => "sweep", "integer `1`";
        "lock", "nightly" => "unknown field `lock`";
    };
    let sources = cases! {
        "detail-type", "EC2 Instance State" => "detail-type", "EC2", known;
        "source", "my.app" => "detail-type", "my.app", known;
        "source", "aws.ecs" => "detail-type", "aws.ecs", known;
        "source", NULL => "missing field `source`";
        "detail-type", 7 => "detail-type", "integer `7`";
    };
    let executions = cases! {
        "detail", NULL => "missing field `detail`";
        "detail.executionArn", NULL => "missing field `executionArn`";
        "detail.executionArn", "a" => "detail.executionArn", "\"a\"", "ARN";
        "detail.status", NULL => "missing field `status`";
        "detail.status", "DONE" => "detail.status", "\"DONE\"", "FAILED";
    };
    let tasks = cases! {
        "detail.taskArn", NULL => "missing field `taskArn`";
        "detail.lastStatus", NULL => "missing field `lastStatus`";
        "detail.version", NULL => "missing field `version`";
        "detail.version", "3" => "detail.version", "string \"3\"";
        "detail.version", -3 => "detail.version", "-3";
        "detail.containers", "main" => "detail.containers";
    };
    [
        (json!({ "sweep": true }), sweeps),
        (execution_event("a", "FAILED", json!(null)), sources),
        (end_event("a", "FAILED"), executions),
        (stopped(), tasks),
    ]
}

#[tokio::test]
async fn an_event_names_field_value_and_rule_and_touches_no_lock() {
    for (base, cases) in bad_events() {
        let (functions, _) = Functions::held(&["a"]).await;
        assert_refuses(&functions, Functions::reap, &base, cases).await;
    }
}

#[tokio::test]
async fn an_event_of_a_foreign_or_running_task_is_ignored() {
    let functions = Functions::new();
    let foreign = "not one of Lockstep's";

    for (field, value, why) in [
        ("detail.group", json!("family:report"), foreign),
        ("detail.group", json!("lockstep:nightly"), foreign),
        ("detail.group", json!(null), foreign),
        ("detail.group", json!(7), foreign),
        ("detail.lastStatus", json!("RUNNING"), "not stopped"),
    ] {
        let report = functions.reap(with(&stopped(), field, value)).await;

        assert_says(&report.unwrap()["ignored"].to_string(), why);
    }
}
