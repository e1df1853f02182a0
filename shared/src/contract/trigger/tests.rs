//! Events as AWS documents them, with a group and an input of Lockstep.

mod execution;
mod task;

use self::execution::execution_event;
use self::task::task_event;
use super::*;
use serde_json::json;

/// Returns `event` with another `value` at `path`, or without that member if there is no `value`.
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
fn a_scheduled_event_and_a_sweep_request_start_a_sweep() {
    // <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-run-lambda-schedule.html>
    let clock = json!({
        "version": "0", "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "123456789012", "time": "2015-10-08T16:53:06Z", "region": "us-east-1",
        "resources": ["arn:aws:events:us-east-1:123456789012:rule/sweep"],
        "detail": {}
    });

    assert_eq!(Trigger::read(clock), Ok(Trigger::Sweep));
    assert_eq!(Trigger::read(json!({ "sweep": true })), Ok(Trigger::Sweep));
}

#[test]
fn a_hand_over_event_is_read_for_its_lock_alone() {
    let event = |lock: &str| {
        json!({
            "detail-type": "Lockstep Permit Handed Over",
            "source": "lockstep",
            "detail": { "lock": lock, "holder": "another", "token": 7 }
        })
    };

    let lock = LockKey::new("nightly").unwrap();
    let handed_over = Trigger::read(event("nightly"));
    assert_eq!(handed_over, Ok(Trigger::HandedOver { lock }));
    let refused = Trigger::read(event("a b")).unwrap_err().to_string();
    assert!(refused.contains("detail.lock"), "{refused}");
}

#[test]
fn the_reaper_refuses_every_other_event_of_lockstep() {
    let own = [EventKind::PermitHandedOver, EventKind::WaiterSentAway];
    for kind in EventKind::ALL
        .into_iter()
        .filter(|kind| !own.contains(kind))
    {
        let event = json!({
            "detail-type": kind.detail_type(),
            "source": "lockstep",
            "detail": { "lock": "nightly", "holder": "another", "token": 7 }
        });

        let refused = Trigger::read(event).unwrap_err().to_string();

        assert!(refused.contains("detail-type"), "{kind}: {refused}");
    }
}

#[test]
fn an_error_names_the_field_that_is_missing_or_wrong() {
    let (task, ended) = (task_event(), execution_event("FAILED", &json!("{}")));
    let (nothing, sweep) = (json!({}), json!({ "sweep": true }));
    for (event, path, value, named) in [
        (&task, "/detail/taskArn", "", "taskArn"),
        (&task, "/detail/lastStatus", "", "lastStatus"),
        (&task, "/detail/version", "", "version"),
        (&task, "/detail/version", "'4'", "detail.version"),
        (&task, "/detail/containers", "[{}]", "name"),
        (&ended, "/detail/executionArn", "", "executionArn"),
        (&ended, "/detail/executionArn", "'x'", "detail.executionArn"),
        (&ended, "/detail/status", "'ODD'", "detail.status"),
        (&ended, "/detail/status", "", "status"),
        (&ended, "/detail", "", "detail"),
        (&ended, "/source", "", "source"),
        (&ended, "/source", "'another'", "detail-type"),
        (&ended, "/detail-type", "'Order Placed'", "detail-type"),
        (&nothing, "/sweep", "", "sweep"),
        (&nothing, "/sweep", "false", "sweep"),
        (&nothing, "/sweep", "'true'", "sweep"),
        (&sweep, "/lock", "'a'", "lock"),
    ] {
        let json = serde_json::from_str(&value.replace('\'', "\"")).ok();

        let error = Trigger::read(with(event.clone(), path, json)).unwrap_err();

        assert!(error.to_string().contains(named), "{path} {value}: {error}");
    }
}
