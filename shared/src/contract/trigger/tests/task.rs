//! ECS Task State Change.

use super::with;
use crate::contract::Trigger;
use lockstep_core::domain::{Container, FencingToken, Task};
use serde_json::{Value, json};

const GROUP: &str = "lockstep:team/db:nightly:ba7816bf8f01cfea";

/// A Fargate task that was stopped, shaped like the example of
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs_task_events.html>.
pub(super) fn task_event() -> Value {
    let arn = |rest: &str| format!("arn:aws:ecs:us-west-2:111122223333:{rest}");
    let task = arn("task/FargateCluster/c13b4cb40f1f4fe4a2971f76ae5a47ad");
    let environment = json!([
        { "name": "MODE", "value": "full" },
        { "name": "LOCKSTEP_FENCING_TOKEN", "value": "1767225600000" }
    ]);
    json!({
        "version": "0", "id": "3317b2af-7005-947d-b652-f55e762e571a",
        "detail-type": "ECS Task State Change",
        "source": "aws.ecs",
        "account": "111122223333", "time": "2020-01-23T17:57:58Z", "region": "us-west-2",
        "resources": [task],
        "detail": {
            "attachments": [{ "id": "1789bcae", "type": "eni", "status": "DELETED", "details": [] }],
            "availabilityZone": "us-west-2c",
            "clusterArn": arn("cluster/FargateCluster"),
            "containers": [{
                "containerArn": arn("container/cf159fd6"),
                "exitCode": 137, "lastStatus": "STOPPED", "name": "report",
                "image": "111122223333.dkr.ecr.us-west-2.amazonaws.com/report:latest",
                "runtimeId": "c13b4cb40f1f4fe4a2971f76ae5a47ad-3935363592",
                "taskArn": task, "networkInterfaces": [], "cpu": "0"
            }],
            "createdAt": "2020-01-23T17:57:34.402Z",
            "launchType": "FARGATE", "cpu": "256", "memory": "512",
            "desiredStatus": "STOPPED", "group": GROUP, "lastStatus": "STOPPED",
            "overrides": { "containerOverrides": [
                { "name": "sidecar" }, { "name": "report", "environment": environment }
            ] },
            "connectivity": "CONNECTED",
            "startedAt": "2020-01-23T17:57:58.103Z",
            "stoppedAt": "2020-01-23T18:00:00Z",
            "stopCode": "EssentialContainerExited",
            "stoppedReason": "Essential container in task exited",
            "updatedAt": "2020-01-23T18:00:00Z",
            "taskArn": task, "taskDefinitionArn": arn("task-definition/report:1"),
            "version": 4, "platformVersion": "1.3.0"
        }
    })
}

fn task_of(event: Value) -> (Task, Option<FencingToken>) {
    match Trigger::read(event).unwrap() {
        Trigger::TaskChanged { task, token, .. } => (task, token),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_event_has_its_lock_holder_hash_token_and_end() {
    let trigger = Trigger::read(task_event()).unwrap();
    let Trigger::TaskChanged {
        lock,
        holder_hash,
        task,
        token,
    } = trigger
    else {
        panic!("a task has changed");
    };

    assert_eq!(lock.as_str(), "team/db:nightly");
    assert_eq!(holder_hash, "ba7816bf8f01cfea");
    assert_eq!(token, Some(FencingToken::from_number(1_767_225_600_000)));
    assert!(task.arn.ends_with("c13b4cb40f1f4fe4a2971f76ae5a47ad"));
    assert_eq!((task.version, task.stopped), (4, true));
    let reason = task.stopped_reason.as_deref();
    assert_eq!(reason, Some("Essential container in task exited"));
    assert_eq!(task.started_at.unwrap().millis(), 1_579_802_278_103);
    let container = Container {
        name: "report".into(),
        runtime_id: Some("c13b4cb40f1f4fe4a2971f76ae5a47ad-3935363592".into()),
        exit_code: Some(137),
        reason: None,
    };
    assert_eq!(task.containers, [container]);
}

#[test]
fn a_task_with_a_pending_stop_has_not_stopped() {
    let status = Some(json!("RUNNING"));

    let (task, _) = task_of(with(task_event(), "/detail/lastStatus", status));

    assert!(!task.stopped);
}

#[test]
fn optional_fields_of_a_task_event_may_be_missing_or_malformed() {
    let overrides = json!({ "containerOverrides": [{ "name": "report" }] });
    for (path, value) in [
        ("/detail/overrides", None),
        ("/detail/overrides", Some(json!({}))),
        ("/detail/overrides", Some(overrides)),
        ("/detail/containers", None),
        ("/detail/stoppedReason", None),
        ("/detail/stoppedAt", None),
        ("/detail/startedAt", Some(json!(1_579_802_278.103))),
        ("/detail/somethingNew", Some(json!({ "a": 1 }))),
        ("/somethingNew", Some(json!(1))),
    ] {
        let (task, token) = task_of(with(task_event(), path, value));

        assert!(task.stopped, "{path}");
        assert_eq!(token.is_none(), path == "/detail/overrides", "{path}");
    }
}

#[test]
fn a_fencing_token_that_is_no_number_is_none() {
    let environment = json!([{ "name": "LOCKSTEP_FENCING_TOKEN", "value": "seven" }]);
    let overrides = json!({ "containerOverrides": [{ "environment": environment }] });

    let (_, token) = task_of(with(task_event(), "/detail/overrides", Some(overrides)));

    assert_eq!(token, None);
}

#[test]
fn a_task_of_another_group_is_ignored() {
    let foreign = [Some(json!("service:api")), Some(json!("lockstep:x")), None];
    for group in foreign {
        // Nothing else of a foreign event matters.
        let event = with(task_event(), "/detail/group", group.clone());
        let event = with(event, "/detail/taskArn", None);

        let trigger = Trigger::read(event).unwrap();

        let is_ignored = matches!(trigger, Trigger::Ignored { .. });
        assert!(is_ignored, "{group:?}: {trigger:?}");
    }
}
