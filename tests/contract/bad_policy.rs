//! The values that acquire-lock refuses in the fields for stale runs, paused locks and work.

use crate::bad_input::{NULL, assert_acquire_refuses, cases, with};
use crate::bad_waiting::base;
use serde_json::json;

#[tokio::test]
async fn a_wrong_policy_or_work_is_refused_with_field_value_and_rule() {
    let range = "from 1 to 31536000";
    let cases = cases! {
        "stalePolicy", "kill" => "stalePolicy", "kill", "terminate", "yield", "hold";
        "stalePolicy", "Terminate" => "stalePolicy", "Terminate", "terminate", "yield", "hold";
        "stalePolicy", "" => "stalePolicy", "``", "terminate", "yield", "hold";
        "stalePolicy", 1 => "stalePolicy", "`1`", "terminate", "yield", "hold";
        "stalePolicy", json!({ "hold": null }) => "stalePolicy", "{\"hold\":null}", "terminate", "yield", "hold";
        "overlap", json!({ "queue": null }) => "overlap", "skip", "fail", "queue", "replace";
        "whenQueueFull", "Skip" => "whenQueueFull", "`Skip`", "fail", "skip";
        "whenQueueFull", true => "whenQueueFull", "`true`", "fail", "skip";
        "onPaused", "queue" => "onPaused", "queue", "skip", "wait", "fail";
        "onPaused", 1 => "onPaused", "`1`", "skip", "wait", "fail";
        "onPaused", json!({ "skip": null }) => "onPaused", "skip", "wait", "fail";
        "catchUp", "all" => "catchUp", "all", "none", "once";
        "catchUp", true => "catchUp", "`true`", "none", "once";
        "noProgressSeconds", 0 => "noProgressSeconds", "is 0", range;
        "noProgressSeconds", -1 => "noProgressSeconds", "is -1", range;
        "noProgressSeconds", 31_536_001 => "noProgressSeconds", "31536001", range;
        "noProgressSeconds", 0.5 => "noProgressSeconds", "0.5";
        "noProgressSeconds", json!({ "a": 1 }) => "noProgressSeconds is {\"a\":1}", "a whole number";
        "noProgressSeconds", "60" => "noProgressSeconds", "string \"60\"";
        "work", "batch" => "work", "string \"batch\"";
        "work", json!([]) => "work";
        "work.cluster", NULL => "work", "cluster", "stateMachineArn";
        "work.stateMachineArn", "nightly" => "work.stateMachineArn", "without work.cluster";
        "work.cluster", "" => "work.cluster", "1 to 512";
        "work.cluster", "my batch" => "work.cluster", "my batch", "1 to 512";
        "work.cluster", "bätch" => "work.cluster", "b\\u{e4}tch";
        "work.cluster", "x".repeat(513) => "work.cluster", "1 to 512";
        "work.cluster", json!(["batch"]) => "work.cluster is [\"batch\"]", "a string";
        "work.cluster", 7 => "work.cluster", "integer `7`";
        "work.family", "" => "work.family", "1 to 255";
        "work.family", "a\nb" => "work.family", "a\\nb", "1 to 255";
        "work.family", "x".repeat(256) => "work.family", "1 to 255";
        "work.service", "api" => "work", "unknown field `service`";
    };

    assert_acquire_refuses(&base("skip"), cases).await;
}

#[tokio::test]
async fn catch_up_is_refused_unless_on_paused_is_skip_or_wait() {
    let fails = with(&base("queue"), "onPaused", json!("fail"));
    let asks = with(&fails, "overlap", json!("skip"));
    let asks = with(&asks, "mayWait", json!(true));
    for base in [fails, asks, base("fail"), base("replace")] {
        let rule = "given only with onPaused skip or wait";
        let cases = cases! { "catchUp", "once" => "catchUp", "\"once\"", rule; };
        assert_acquire_refuses(&base, cases).await;
    }
}

#[tokio::test]
async fn work_of_a_workflow_or_of_states_refuses_fields_of_other_work() {
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";
    let workflow = json!({ "stateMachineArn": machine });
    let cases = cases! {
        "work.stateMachineArn", "etl" => "work.stateMachineArn", "the ARN of a state machine";
        "work.stateMachineArn", machine.replace("stateMachine", "activity") => "the ARN of a state machine";
        "work.family", "report" => "work.family", "only with work.cluster";
        "work.container", "app" => "work.container", "only with work.cluster";
    };
    assert_acquire_refuses(&with(&base("skip"), "work", workflow), cases).await;

    let states = json!({ "states": true });
    let cases = cases! {
        "work.states", 7 => "work.states", "integer `7`";
        "work.states", false => "work", "stateMachineArn, or with states";
        "work.stateMachineArn", machine => "work.stateMachineArn", "only without work.states";
        "work.cluster", "batches" => "work.cluster", "only without work.states";
        "work.container", "app" => "work.container", "only without work.states";
    };
    assert_acquire_refuses(&with(&base("skip"), "work", states), cases).await;
}
