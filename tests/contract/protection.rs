//! Scale-in protection lasts as long as the lease, and an error of it fails no heartbeat and no release.

use crate::bad_input::{Case, NULL, assert_refuses, cases, with};
use crate::functions::Functions;
use crate::scene::{CLUSTER, assert_has, execution, status_of, task};
use lockstep::domain::TaskArn;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::{Value, json};

/// Returns the `protect` of a request: the task of a service, with the name of its cluster.
fn service_task() -> Value {
    json!({ "cluster": "batch", "task": task("t", 1, false).arn })
}

fn arn() -> TaskArn {
    TaskArn::new(task("t", 1, false).arn).unwrap()
}

/// Grants the lock for `lease` seconds, and returns a heartbeat and a release that name a task to protect.
async fn held(lease: u32) -> (Functions, Value, Value) {
    let lasts = json!({ "leaseSeconds": lease });
    let (functions, grant) = Functions::held_with(&["a"], lasts).await;
    let beat = json!({ "grant": grant, "protect": service_task() });
    let release = with(&beat, "outcome", json!("succeeded"));
    (functions, beat, release)
}

#[tokio::test]
async fn a_renewal_protects_the_task_until_the_lease_ends_in_whole_minutes() {
    for (lease, minutes) in [(20, 1), (60, 1), (61, 2), (300, 5), (86_400, 1440)] {
        let (functions, beat, _) = held(lease).await;
        functions.wait(5);

        let answer = functions.heartbeat(beat).await.unwrap();

        assert_eq!(functions.tasks.wishes(), [(arn(), Some(minutes))]);
        let until = functions.time_in(u32::from(minutes) * 60);
        let expected = json!({
            "status": "renewed", "expiresAt": functions.time_in(lease),
            "protection": { "status": "protected", "until": until }
        });
        assert_eq!(answer, expected);
    }
}

#[tokio::test]
async fn a_release_clears_the_protection_even_after_a_lost_permit() {
    let (functions, _, release) = held(60).await;

    let first = functions.release(release.clone()).await.unwrap();
    let again = functions.release(release.clone()).await.unwrap();
    let lost = with(&release, "grant.holder", json!(execution("z")));
    let lost = functions.release(lost).await.unwrap();

    let cleared = json!({ "status": "cleared" });
    for (answer, status) in [(first, "released"), (again, "released"), (lost, "lost")] {
        assert_has(&answer, json!({ "status": status, "protection": cleared }));
    }
    let wish = || (arn(), None);
    assert_eq!(functions.tasks.wishes(), [wish(), wish(), wish()]);
}

#[tokio::test]
async fn a_request_without_protection_is_answered_without_it() {
    let (functions, beat, release) = held(60).await;
    let plain = |request| with(request, "protect", Value::Null);

    let renewed = functions.heartbeat(plain(&beat)).await.unwrap();
    let released = functions.release(plain(&release)).await.unwrap();

    assert_eq!(renewed.get("protection"), None);
    assert_eq!(released.get("protection"), None);
    assert_eq!(functions.tasks.wishes(), []);
}

#[tokio::test]
async fn a_failed_protection_is_reported_and_fails_no_request() {
    type Fails = Option<fn(String) -> TasksError>;
    let cases: [(&str, Fails); 5] = [
        ("DEPLOYMENT_BLOCKED", None),
        ("TASK_NOT_VALID", None),
        ("MISSING", None),
        ("Denied", Some(TasksError::Denied)),
        ("Unavailable", Some(TasksError::Unavailable)),
    ];
    for (reason, fails) in cases {
        let (functions, beat, release) = held(60).await;
        let mut detail = "in its words".to_owned();
        match fails.map(|fails| fails(detail.clone())) {
            None => functions.tasks.refuse_protection(reason, &detail),
            Some(error) => {
                detail = error.to_string();
                functions.tasks.fail_every(TasksCall::Protect, error);
            }
        }

        let renewed = functions.heartbeat(beat).await.unwrap();
        let released = functions.release(release).await.unwrap();

        let refused = json!({ "status": "refused", "reason": reason, "detail": detail });
        for (answer, status) in [(renewed, "renewed"), (released, "released")] {
            assert_eq!(answer["status"], status, "{reason}");
            assert_eq!(answer["protection"], refused);
        }
        assert!(functions.holders("nightly").await.is_empty());
    }
}

#[tokio::test]
async fn a_heartbeat_that_renews_nothing_protects_nothing() {
    let (functions, beat, release) = held(60).await;
    functions.release(release).await.unwrap();
    let cleared = functions.tasks.wishes();
    let stranger = with(&beat, "grant.holder", json!(execution("z")));

    let ended = functions.heartbeat(beat).await.unwrap();
    let lost = functions.heartbeat(stranger).await;

    assert_eq!(ended, json!({ "status": "ended" }));
    assert_eq!(status_of(&lost), "Lockstep.LeaseLost");
    assert_eq!(functions.tasks.wishes(), cleared);
}

#[tokio::test]
async fn protection_accepts_the_cluster_by_name_or_by_arn() {
    let (functions, beat, _) = held(60).await;

    for cluster in ["batch", CLUSTER] {
        let beat = with(&beat, "protect.cluster", json!(cluster));
        let answer = functions.heartbeat(beat).await.unwrap();

        assert_eq!(answer["protection"]["status"], "protected", "{cluster}");
    }
}

#[tokio::test]
async fn a_wrong_task_to_protect_is_refused_with_field_value_and_rule() {
    let (functions, beat, release) = held(60).await;

    assert_refuses(&functions, Functions::heartbeat, &beat, bad_tasks()).await;
    assert_refuses(&functions, Functions::release, &release, bad_tasks()).await;

    assert_eq!(functions.tasks.wishes(), []);
}

fn bad_tasks() -> Vec<Case<'static>> {
    let rule = "the ARN of an ECS task with its cluster";
    let of_cluster = "the cluster of protect.task, batch or arn:aws:ecs";
    cases! {
        "protect", "t" => "protect", "string \"t\"";
        "protect.task", NULL => "protect", "missing field `task`";
        "protect.task", "" => "protect.task", "\"\"", rule;
        "protect.task", 7 => "protect.task", "integer `7`";
        "protect.task", "4f0c" => "protect.task", "4f0c", rule;
        "protect.task", "arn:aws:ecs:eu-west-1:123456789012:task/4f0c" => "protect.task", "task/4f0c", rule;
        "protect.task", "arn:aws:ecs:eu-west-1:123456789012:service/batch/api" => "protect.task", "service/batch/api", rule;
        "protect.task", "arn:aws:ecs:eu-west-1:123456789012:task/bätch/4f0c" => "protect.task", "b\\u{e4}tch", rule;
        "protect.task", "x".repeat(300_000) => "protect.task", rule;
        "protect.cluster", NULL => "protect", "missing field `cluster`";
        "protect.cluster", "" => "protect.cluster", "\"\"", of_cluster;
        "protect.cluster", "other" => "protect.cluster", "\"other\"", of_cluster;
        "protect.cluster", "arn:aws:ecs:eu-west-1:999999999999:cluster/batch" => "protect.cluster", "999999999999", of_cluster;
    }
}
