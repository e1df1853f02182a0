//! What acquire-lock refuses of the fields for stale runs and tasks.

use crate::bad_input::{NULL, assert_acquire_refuses, cases};
use crate::bad_waiting::base;
use serde_json::json;

#[tokio::test]
async fn a_stale_policy_is_one_of_three() {
    let cases = cases! {
        "stalePolicy", "kill" => "stalePolicy", "kill", "terminate", "yield", "hold";
        "stalePolicy", "Terminate" => "stalePolicy", "Terminate", "terminate", "yield", "hold";
        "stalePolicy", "" => "stalePolicy", "``", "terminate", "yield", "hold";
        "stalePolicy", 1 => "stalePolicy";
    };

    assert_acquire_refuses(&base("skip"), cases).await;
}

#[tokio::test]
async fn a_policy_for_a_paused_lock_is_one_of_three_and_fits_its_catch_up() {
    let cases = cases! {
        "onPaused", "queue" => "onPaused", "queue", "skip", "wait", "fail";
        "onPaused", 1 => "onPaused";
        "catchUp", "all" => "catchUp", "all", "none", "once";
        "catchUp", true => "catchUp";
    };
    assert_acquire_refuses(&base("skip"), cases).await;

    let rule = "given only with onPaused skip or wait";
    let mut fails = base("queue");
    fails["onPaused"] = json!("fail");
    let mut asks = fails.clone();
    asks["overlap"] = json!("skip");
    asks["mayWait"] = json!(true);
    for base in [fails, asks, base("fail"), base("replace")] {
        let cases = cases! { "catchUp", "once" => "catchUp", "\"once\"", rule; };
        assert_acquire_refuses(&base, cases).await;
    }
}

#[tokio::test]
async fn a_workflow_as_work_is_named_by_its_arn_alone() {
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";
    let mut base = base("skip");
    base["work"] = json!({ "stateMachineArn": machine });
    let cases = cases! {
        "work.stateMachineArn", "etl" => "work.stateMachineArn", "the ARN of a state machine";
        "work.stateMachineArn", machine.replace("stateMachine", "activity") => "the ARN of a state machine";
        "work.family", "report" => "work.family", "only with work.cluster";
        "work.container", "app" => "work.container", "only with work.cluster";
    };

    assert_acquire_refuses(&base, cases).await;
}

#[tokio::test]
async fn states_as_work_are_named_by_nothing_else() {
    let mut base = base("skip");
    base["work"] = json!({ "states": true });
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl";
    let cases = cases! {
        "work.states", 7 => "work.states", "integer `7`";
        "work.states", false => "work", "stateMachineArn, or with states";
        "work.stateMachineArn", machine => "work.stateMachineArn", "only without work.states";
        "work.cluster", "batches" => "work.cluster", "only without work.states";
        "work.container", "app" => "work.container", "only without work.states";
    };

    assert_acquire_refuses(&base, cases).await;
}

#[tokio::test]
async fn a_time_without_progress_is_a_second_to_a_year() {
    let range = "from 1 to 31536000";
    let field = "noProgressSeconds";
    let cases = cases! {
        field, 0 => field, "is 0", range;
        field, -1 => field, "is -1", range;
        field, 31_536_001 => field, "31536001", range;
        field, 0.5 => field, "0.5";
        field, "60" => field, "string \"60\"";
    };

    assert_acquire_refuses(&base("skip"), cases).await;
}

#[tokio::test]
async fn a_place_of_work_has_names_that_ecs_would_take() {
    let cases = cases! {
        "work", "batch" => "work", "string \"batch\"";
        "work", json!([]) => "work";
        "work.cluster", NULL => "work", "cluster", "stateMachineArn";
        "work.stateMachineArn", "nightly" => "work.stateMachineArn", "without work.cluster";
        "work.cluster", "" => "work.cluster", "1 to 512";
        "work.cluster", "my batch" => "work.cluster", "my batch", "1 to 512";
        "work.cluster", "bätch" => "work.cluster", "b\\u{e4}tch";
        "work.cluster", "x".repeat(513) => "work.cluster", "1 to 512";
        "work.cluster", 7 => "work.cluster", "integer `7`";
        "work.family", "" => "work.family", "1 to 255";
        "work.family", "a\nb" => "work.family", "a\\nb", "1 to 255";
        "work.family", "x".repeat(256) => "work.family", "1 to 255";
        "work.service", "api" => "work", "unknown field `service`";
    };

    assert_acquire_refuses(&base("skip"), cases).await;
}
