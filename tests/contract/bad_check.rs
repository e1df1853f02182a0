//! The requests that check-running-executions refuses.

use crate::bad_input::{ARN, NULL, assert_refuses, cases};
use crate::functions::Functions;
use serde_json::json;

#[tokio::test]
async fn check_running_executions_names_field_value_and_rule() {
    let base = json!({ "executionArn": ARN, "startedAt": "2026-03-01T06:00:00Z" });
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:report";
    let express = "arn:aws:states:eu-west-1:123456789012:express:report:a:b";
    let cases = cases! {
        "executionArn", NULL => "missing field `executionArn`";
        "executionArn", "" => "executionArn", "\"\"", "the ARN of a Standard";
        "executionArn", machine => "executionArn", "stateMachine", "the ARN of";
        "executionArn", express => "executionArn", "express", "Standard";
        "executionArn", format!("{ARN}ä") => "executionArn", "\\u{e4}";
        "executionArn", 3 => "executionArn", "integer `3`";
        "startedAt", NULL => "missing field `startedAt`";
        "startedAt", "yesterday" => "startedAt", "\"yesterday\"", "RFC 3339";
        "startedAt", "1969-01-01T00:00:00Z" => "startedAt", "1969", "RFC 3339";
        "startedAt", 1_772_344_800 => "startedAt", "integer";
        "maxRunning", 0 => "maxRunning", "is 0", "from 1 to 1000";
        "maxRunning", -1 => "maxRunning", "is -1", "from 1 to 1000";
        "maxRunning", "1" => "maxRunning", "string \"1\"";
        "machine", machine => "unknown field `machine`";
    };

    assert_refuses(&Functions::new(), Functions::check_running, &base, cases).await;
}
