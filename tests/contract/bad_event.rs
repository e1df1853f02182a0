//! What the reaper refuses: all but the events of its rules and the call for a sweep.

use crate::bad_input::{Case, NULL, assert_refuses, cases, with};
use crate::functions::{Functions, key};
use crate::scene::{ask, assert_says, end_event, execution_event, task, task_event};
use serde_json::{Value, json};

/// Checks that the reaper refuses `base` with each of `cases` and touches no lock.
async fn assert_reaper_refuses(base: &Value, cases: Vec<Case<'_>>) {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    let before = functions.store.items(&key("nightly"));

    assert_refuses(base, cases, async |event| functions.reap(event).await).await;

    assert_eq!(functions.store.items(&key("nightly")), before);
    assert!(functions.executions.stops().is_empty());
    assert!(functions.tasks.stops().is_empty());
}

#[tokio::test]
async fn a_sweep_is_asked_for_in_one_way() {
    let cases = cases! {
        "sweep", NULL => "missing field `sweep`";
        "sweep", false => "sweep", "is false", "true";
        "sweep", 1 => "sweep", "integer `1`";
        "lock", "nightly" => "unknown field `lock`";
    };

    assert_reaper_refuses(&json!({ "sweep": true }), cases).await;
}

#[tokio::test]
async fn an_event_of_another_source_is_refused_by_name() {
    let base = execution_event("a", "FAILED", json!(null));
    let known = "Step Functions Execution Status Change";
    let cases = cases! {
        "detail-type", "EC2 Instance State" => "detail-type", "EC2", known;
        "source", "my.app" => "detail-type", "my.app", known;
        "source", "aws.ecs" => "detail-type", "aws.ecs", known;
        "source", NULL => "missing field `source`";
        "detail-type", 7 => "detail-type", "integer `7`";
    };

    assert_reaper_refuses(&base, cases).await;
}

#[tokio::test]
async fn an_event_of_an_execution_says_which_and_what_became_of_it() {
    let base = end_event("a", "FAILED");
    let cases = cases! {
        "detail", NULL => "missing field `detail`";
        "detail.executionArn", NULL => "missing field `executionArn`";
        "detail.executionArn", "a" => "detail.executionArn", "\"a\"", "ARN";
        "detail.status", NULL => "missing field `status`";
        "detail.status", "DONE" => "detail.status", "\"DONE\"", "FAILED";
    };

    assert_reaper_refuses(&base, cases).await;
}

#[tokio::test]
async fn an_event_of_a_task_says_which_and_in_which_version() {
    let base = task_event("a", &task("t", 3, true), &json!({ "token": 7 }), "STOPPED");
    let cases = cases! {
        "detail.taskArn", NULL => "missing field `taskArn`";
        "detail.lastStatus", NULL => "missing field `lastStatus`";
        "detail.version", NULL => "missing field `version`";
        "detail.version", "3" => "detail.version", "string \"3\"";
        "detail.version", -3 => "detail.version", "-3";
        "detail.containers", "main" => "detail.containers";
    };

    assert_reaper_refuses(&base, cases).await;
}

#[tokio::test]
async fn a_task_that_no_run_has_started_is_ignored() {
    let functions = Functions::new();
    let base = task_event("a", &task("t", 3, true), &json!({ "token": 7 }), "STOPPED");

    for group in [
        json!("family:report"),
        json!("lockstep:nightly"),
        json!(null),
        json!(7),
    ] {
        let report = functions.reap(with(&base, "detail.group", group)).await;

        let why = report.unwrap()["ignored"].to_string();
        assert_says(&why, "not one of Lockstep's");
    }
}
