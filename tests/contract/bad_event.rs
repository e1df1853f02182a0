//! What the reaper refuses: anything but the events of its rules and the call for a sweep.

use crate::bad_input::{assert_invalid, short, with};
use crate::functions::{Functions, key};
use crate::scene::{ask, execution_event, task, task_event};
use serde_json::{Value, json};

/// Checks that the reaper refuses `base` with each of `cases` and touches no lock.
async fn assert_reaper_refuses(base: &Value, cases: Vec<(&str, Value, Vec<&str>)>) {
    let functions = Functions::new();
    functions.granted_with(ask("a")).await;
    let before = functions.store.items(&key("nightly"));

    for (field, value, parts) in cases {
        let case = format!("{field} = {}", short(&value));
        let answer = functions.reap(with(base, field, value)).await;
        assert_invalid(answer, &case, &parts);
    }

    assert_eq!(functions.store.items(&key("nightly")), before);
    assert!(functions.executions.stops().is_empty());
    assert!(functions.tasks.stops().is_empty());
}

#[tokio::test]
async fn a_sweep_is_asked_for_in_one_way() {
    let cases = vec![
        ("sweep", json!(null), vec!["missing field `sweep`"]),
        ("sweep", json!(false), vec!["sweep", "is false", "true"]),
        ("sweep", json!(1), vec!["sweep", "integer `1`"]),
        ("lock", json!("nightly"), vec!["unknown field `lock`"]),
    ];

    assert_reaper_refuses(&json!({ "sweep": true }), cases).await;
}

#[tokio::test]
async fn an_event_of_somebody_else_is_refused_by_name() {
    let base = execution_event("a", "FAILED", json!(null));
    let known = "Step Functions Execution Status Change";
    let cases = vec![
        (
            "detail-type",
            json!("EC2 Instance State"),
            vec!["detail-type", "EC2", known],
        ),
        (
            "source",
            json!("my.app"),
            vec!["detail-type", "my.app", known],
        ),
        (
            "source",
            json!("aws.ecs"),
            vec!["detail-type", "aws.ecs", known],
        ),
        ("source", json!(null), vec!["missing field `source`"]),
        ("detail-type", json!(7), vec!["detail-type", "integer `7`"]),
    ];

    assert_reaper_refuses(&base, cases).await;
}

#[tokio::test]
async fn an_event_of_an_execution_says_which_and_what_became_of_it() {
    let base = execution_event("a", "FAILED", json!("{\"lock\":\"nightly\"}"));
    let cases = vec![
        ("detail", json!(null), vec!["missing field `detail`"]),
        (
            "detail.executionArn",
            json!(null),
            vec!["missing field `executionArn`"],
        ),
        (
            "detail.executionArn",
            json!("a"),
            vec!["detail.executionArn", "\"a\"", "ARN"],
        ),
        ("detail.status", json!(null), vec!["missing field `status`"]),
        (
            "detail.status",
            json!("DONE"),
            vec!["detail.status", "\"DONE\"", "FAILED"],
        ),
    ];

    assert_reaper_refuses(&base, cases).await;
}

#[tokio::test]
async fn an_event_of_a_task_says_which_in_which_version_and_cluster() {
    let base = task_event("a", &task("t", 3, true), &json!({ "token": 7 }), "STOPPED");
    let cases = vec![
        (
            "detail.taskArn",
            json!(null),
            vec!["missing field `taskArn`"],
        ),
        (
            "detail.clusterArn",
            json!(null),
            vec!["missing field `clusterArn`"],
        ),
        (
            "detail.lastStatus",
            json!(null),
            vec!["missing field `lastStatus`"],
        ),
        (
            "detail.version",
            json!(null),
            vec!["missing field `version`"],
        ),
        (
            "detail.version",
            json!("3"),
            vec!["detail.version", "string \"3\""],
        ),
        ("detail.version", json!(-3), vec!["detail.version", "-3"]),
        (
            "detail.containers",
            json!("main"),
            vec!["detail.containers"],
        ),
    ];

    assert_reaper_refuses(&base, cases).await;
}

#[tokio::test]
async fn a_task_that_no_run_has_started_is_none_of_our_business() {
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
        assert!(why.contains("not one of Lockstep's"), "{why}");
    }
}
