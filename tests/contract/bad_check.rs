//! What check-running-executions refuses.

use crate::bad_input::{ARN, assert_invalid, short, with};
use crate::functions::Functions;
use serde_json::json;

#[tokio::test]
async fn check_running_executions_names_field_value_and_rule() {
    let functions = Functions::new();
    let base = json!({ "executionArn": ARN, "startedAt": "2026-03-01T06:00:00Z" });
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:report";
    let express = "arn:aws:states:eu-west-1:123456789012:express:report:a:b";
    let cases = [
        (
            "executionArn",
            json!(null),
            vec!["missing field `executionArn`"],
        ),
        (
            "executionArn",
            json!(""),
            vec!["executionArn", "\"\"", "the ARN of a Standard"],
        ),
        (
            "executionArn",
            json!(machine),
            vec!["executionArn", "stateMachine", "the ARN of"],
        ),
        (
            "executionArn",
            json!(express),
            vec!["executionArn", "express", "Standard"],
        ),
        (
            "executionArn",
            json!(format!("{ARN}ä")),
            vec!["executionArn", "\\u{e4}"],
        ),
        (
            "executionArn",
            json!(3),
            vec!["executionArn", "integer `3`"],
        ),
        ("startedAt", json!(null), vec!["missing field `startedAt`"]),
        (
            "startedAt",
            json!("yesterday"),
            vec!["startedAt", "\"yesterday\"", "RFC 3339"],
        ),
        (
            "startedAt",
            json!("1969-01-01T00:00:00Z"),
            vec!["startedAt", "1969", "RFC 3339"],
        ),
        (
            "startedAt",
            json!(1_772_344_800),
            vec!["startedAt", "integer"],
        ),
        (
            "maxRunning",
            json!(0),
            vec!["maxRunning", "is 0", "from 1 to 1000"],
        ),
        (
            "maxRunning",
            json!(-1),
            vec!["maxRunning", "is -1", "from 1 to 1000"],
        ),
        ("maxRunning", json!("1"), vec!["maxRunning", "string \"1\""]),
        ("machine", json!(machine), vec!["unknown field `machine`"]),
    ];

    for (field, value, parts) in cases {
        let answer = functions
            .check_running(with(&base, field, value.clone()))
            .await;
        assert_invalid(answer, &format!("{field} = {}", short(&value)), &parts);
    }
}
