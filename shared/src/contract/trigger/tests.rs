//! Events as AWS documents them, with a group and an input of Lockstep.

mod execution;
mod task;

use self::execution::execution_event;
use self::task::task_event;
use super::*;
use serde_json::json;

/// `event` with another `value` at `path`; no value removes it.
fn with(mut event: Value, path: &str, value: Option<Value>) -> Value {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let parent = event.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => parent.insert(name.into(), value),
        None => parent.remove(name),
    };
    event
}

#[test]
fn the_clock_and_an_operator_ask_for_a_sweep() {
    // <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-run-lambda-schedule.html>
    let clock = json!({
        "version": "0",
        "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "123456789012",
        "time": "2015-10-08T16:53:06Z",
        "region": "us-east-1",
        "resources": ["arn:aws:events:us-east-1:123456789012:rule/sweep"],
        "detail": {}
    });

    assert_eq!(Trigger::read(clock), Ok(Trigger::Sweep));
    assert_eq!(Trigger::read(json!({ "sweep": true })), Ok(Trigger::Sweep));
}

#[test]
fn a_hand_over_names_its_lock_and_nothing_else_counts() {
    let event = |lock: &str| {
        json!({
            "detail-type": "Lockstep Permit Handed Over",
            "source": "lockstep",
            "detail": { "lock": lock, "holder": "somebody-else", "token": 7 }
        })
    };

    let lock = LockKey::new("nightly").unwrap();
    assert_eq!(
        Trigger::read(event("nightly")),
        Ok(Trigger::HandedOver { lock })
    );
    let refused = Trigger::read(event("a b")).unwrap_err().to_string();
    assert!(refused.contains("detail.lock"), "{refused}");
}

#[test]
fn what_is_needed_and_missing_or_wrong_is_named() {
    let execution = || execution_event("FAILED", &json!("{}"));
    for (event, path, value, named) in [
        (task_event(), "/detail/taskArn", None, "taskArn"),
        (task_event(), "/detail/clusterArn", None, "clusterArn"),
        (task_event(), "/detail/lastStatus", None, "lastStatus"),
        (task_event(), "/detail/version", None, "version"),
        (
            task_event(),
            "/detail/version",
            Some(json!("4")),
            "detail.version",
        ),
        (
            task_event(),
            "/detail/containers",
            Some(json!([{}])),
            "name",
        ),
        (execution(), "/detail/executionArn", None, "executionArn"),
        (
            execution(),
            "/detail/executionArn",
            Some(json!("x")),
            "detail.executionArn",
        ),
        (
            execution(),
            "/detail/status",
            Some(json!("ODD")),
            "detail.status",
        ),
        (execution(), "/detail/status", None, "status"),
        (execution(), "/detail", None, "detail"),
        (execution(), "/source", None, "source"),
        (
            execution(),
            "/source",
            Some(json!("somebody")),
            "detail-type",
        ),
        (
            execution(),
            "/detail-type",
            Some(json!("Order Placed")),
            "detail-type",
        ),
        (json!({}), "/sweep", None, "sweep"),
        (json!({}), "/sweep", Some(json!(false)), "sweep"),
        (json!({}), "/sweep", Some(json!("true")), "sweep"),
        (json!({ "sweep": true }), "/lock", Some(json!("a")), "lock"),
    ] {
        let error = Trigger::read(with(event, path, value)).unwrap_err();

        assert!(error.to_string().contains(named), "{path}: {error}");
    }
}
