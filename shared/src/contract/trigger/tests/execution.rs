//! Step Functions Execution Status Change.

use crate::contract::Trigger;
use lockstep_core::domain::{
    ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, LockKey, Timestamp,
};
use serde_json::{Value, json};

const EXECUTION: &str = "arn:aws:states:us-east-1:123456789012:execution:exclusive-run:e1";

/// An execution that ended, shaped like the examples of
/// <https://docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html>.
pub(super) fn execution_event(status: &str, input: &Value) -> Value {
    json!({
        "version": "0", "id": "315c1398-40ff-a850-213b-158f73e60175",
        "detail-type": "Step Functions Execution Status Change",
        "source": "aws.states",
        "account": "123456789012", "time": "2019-02-26T19:42:21Z", "region": "us-east-1",
        "resources": [EXECUTION],
        "detail": {
            "executionArn": EXECUTION,
            "stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:exclusive-run",
            "name": "e1", "status": status,
            "startDate": 1_551_225_146_847_i64,
            "stopDate": 1_551_225_151_881_i64,
            "redriveCount": 2,
            "input": input,
            "inputDetails": { "included": !input.is_null() },
            "output": null, "outputDetails": null, "error": "States.TaskFailed", "cause": "…"
        }
    })
}

#[test]
fn an_execution_event_has_its_state_and_its_lock() {
    for (status, state) in [
        ("RUNNING", ExecutionState::Running),
        ("SUCCEEDED", ExecutionState::Ended(ExecutionEnd::Succeeded)),
        ("ABORTED", ExecutionState::Ended(ExecutionEnd::Aborted)),
    ] {
        let input = json!("{\"lock\":\"nightly\",\"work\":{}}");

        let trigger = Trigger::read(execution_event(status, &input)).unwrap();

        let changed = Trigger::ExecutionChanged {
            execution: ExecutionArn::new(EXECUTION.into()).unwrap(),
            seen: ExecutionDescription {
                state,
                redrives: 2,
                stopped_at: Some(Timestamp::from_millis(1_551_225_151_881)),
            },
            lock: Some(LockKey::new("nightly").unwrap()),
            work_of: None,
        };
        assert_eq!(trigger, changed);
    }
}

#[test]
fn an_execution_event_without_a_lock_in_its_input_is_read() {
    let texts = [
        "{}",
        "not JSON",
        "[1]",
        "{\"lock\":7}",
        "{\"lock\":\"no lock\"}",
    ];
    let others = [json!(null), json!({ "lock": "not as text" })];
    for input in texts.map(|text| json!(text)).into_iter().chain(others) {
        let trigger = Trigger::read(execution_event("FAILED", &input)).unwrap();

        let without_lock = matches!(trigger, Trigger::ExecutionChanged { lock: None, .. });
        assert!(without_lock, "{input}: {trigger:?}");
    }
}
