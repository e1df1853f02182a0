//! Scale-in protection: the requests to ECS, and how the adapter reads the answers.

use super::scripted::{Asked, on, refusal};
use lockstep::domain::TaskArn;
use lockstep::tasks::ecs::Ecs;
use lockstep::tasks::{ProtectionAnswer, Tasks, TasksError};
use serde_json::{Value, json};

const TASK: &str = "arn:aws:ecs:eu-west-1:1:task/batch/a";

fn answer(protected: Value, failures: Value) -> (u16, Value) {
    let body = json!({ "protectedTasks": protected, "failures": failures });
    (200, body)
}

fn protection(task: &str, enabled: bool) -> (u16, Value) {
    let described = json!({ "taskArn": task, "protectionEnabled": enabled, "expirationDate": 1.5 });
    answer(json!([described]), json!([]))
}

/// Asks for protection at an ECS that gives `answers`. Returns the result and the requests.
async fn protect(
    answers: Vec<(u16, Value)>,
    minutes: Option<u16>,
) -> (Result<ProtectionAnswer, TasksError>, Vec<Asked>) {
    let task = TaskArn::new(TASK).unwrap();
    on(answers, async |sdk| {
        Ecs::from_sdk(sdk).protect(&task, minutes).await
    })
    .await
}

#[tokio::test]
async fn a_request_for_protection_returns_until_when_it_lasts() {
    let (done, asked) = protect(vec![protection(TASK, true)], Some(5)).await;

    let Ok(ProtectionAnswer::On(Some(until))) = done else {
        panic!("{done:?}");
    };
    assert_eq!(until.millis(), 1500);
    let body = json!({
        "cluster": "batch", "tasks": [TASK], "protectionEnabled": true, "expiresInMinutes": 5
    });
    assert_eq!(asked, [("UpdateTaskProtection".into(), body)]);
}

#[tokio::test]
async fn protection_is_cleared_without_minutes() {
    let (done, asked) = protect(vec![protection(TASK, false)], None).await;

    assert_eq!(done, Ok(ProtectionAnswer::Off));
    let body = json!({ "cluster": "batch", "tasks": [TASK], "protectionEnabled": false });
    assert_eq!(asked[0].1, body);
}

#[tokio::test]
async fn an_answer_with_a_failure_in_it_is_a_refusal() {
    for reason in ["DEPLOYMENT_BLOCKED", "TASK_NOT_VALID", "MISSING"] {
        let failure = json!([{ "arn": TASK, "reason": reason, "detail": "in its words" }]);

        let (done, asked) = protect(vec![answer(json!([]), failure)], Some(5)).await;

        let refused = ProtectionAnswer::Refused {
            reason: reason.into(),
            detail: "in its words".into(),
        };
        assert_eq!(done, Ok(refused));
        assert_eq!(asked.len(), 1, "not retried");
    }
}

#[tokio::test]
async fn a_protection_answer_that_contradicts_the_request_is_an_error() {
    let silent = answer(json!([]), json!([]));
    for answer in [protection(TASK, false), protection("another", true), silent] {
        let (done, _) = protect(vec![answer.clone()], Some(5)).await;

        assert!(
            matches!(done, Err(TasksError::Unavailable(_))),
            "{answer:?}: {done:?}"
        );
    }
}

#[tokio::test]
async fn denial_fails_at_once_and_throttling_is_retried() {
    let throttled = || refusal("ThrottlingException", "Rate exceeded");

    let (denied, once) = protect(vec![refusal("AccessDeniedException", "no")], Some(1)).await;
    let (late, twice) = protect(vec![throttled(), protection(TASK, true)], Some(1)).await;

    assert!(matches!(denied, Err(TasksError::Denied(_))), "{denied:?}");
    assert!(matches!(late, Ok(ProtectionAnswer::On(_))), "{late:?}");
    assert_eq!((once.len(), twice.len()), (1, 2));
}
