//! What each step of a successful run costs at the table, in requests and in request units, and how
//! large its items are, compared with `benches/figures.toml`.
//!
//! The functions receive the requests that exclusive-run makes.

mod scene;

use lockstep::domain::{HolderId, LockKey, task_group};
use lockstep_tests::figures;
use lockstep_tests::steps::{self, container};
use lockstep_tests::units::{Items, size};
use scene::{Cost, Scene};
use serde_json::{Value, json};

const LOCK: &str = "nightly-report";
const CLUSTER: &str = "arn:aws:ecs:eu-west-1:123456789012:cluster/batch";

#[tokio::test]
async fn each_step_of_a_run_costs_what_figures_toml_says() {
    let mut scene = Scene::new().await;
    let earlier = scene.acquires(ask("earlier")).await.0;
    scene.step("heartbeat", beat(&earlier)).await;
    scene.step("release", released(&earlier)).await;
    let mut counted = Vec::new();
    let mut note = |step: &str, cost: Cost| {
        let cost = cost.into_iter();
        counted.extend(cost.map(|(what, count)| (format!("{step}: {what}"), count)));
    };

    let (grant, cost) = scene.acquires(ask("a")).await;
    note(steps::ACQUIRE, cost);
    let first = scene.cost("heartbeat", beat(&grant)).await;
    let later = scene.cost("heartbeat", beat(&grant)).await;
    assert_eq!(first, later, "every heartbeat costs the same");
    note(steps::RENEW, later);
    let held = merged(ask("b"), json!({ "overlap": "skip", "mayWait": true }));
    note(steps::HELD, scene.cost("acquire", held.clone()).await);
    let waiting = merged(ask("b"), json!({ "overlap": "queue", "taskToken": "" }));
    note(steps::QUEUE, scene.cost("acquire", waiting.clone()).await);
    note(steps::QUEUE_AGAIN, scene.cost("acquire", waiting).await);
    let cost = scene.cost("release", released(&grant)).await;
    note(steps::HAND_OVER, cost);
    let (confirmed, cost) = scene.step("acquire", held).await;
    note(steps::CONFIRM, cost);
    let grant = confirmed["grant"].clone();
    scene.step("heartbeat", beat(&grant)).await;
    let cost = scene.cost("release", released(&grant)).await;
    note(steps::RELEASE, cost);
    let cost = scene.cost("reap", stopped("b", &grant)).await;
    note(steps::STOPPED, cost);
    let grant = scene.acquires(ask("failing")).await.0;
    scene.step("heartbeat", beat(&grant)).await;
    let failed = merged(released(&grant), json!({ "outcome": "failed" }));
    note(steps::RELEASE_FAILED, scene.cost("release", failed).await);
    let earlier = scene.acquires(contained("earlier")).await.0;
    scene.step("release", released(&earlier)).await;
    let (grant, cost) = scene.acquires(contained("c")).await;
    note(container::ACQUIRE, cost);
    let renewal = json!({ "grant": grant, "leaseSeconds": 58, "heartbeatSeconds": 19 });
    note(container::RENEW, scene.cost("heartbeat", renewal).await);
    let cost = scene.cost("release", released(&grant)).await;
    note(container::RELEASE, cost);
    scene.acquires(contained("d")).await;
    let waiting = merged(contained("e"), json!({ "overlap": "queue" }));
    let cost = scene.cost("acquire", waiting.clone()).await;
    note(container::QUEUE, cost);
    note(container::POLL, scene.cost("acquire", waiting).await);

    figures::check("steps", &counted);
}

#[tokio::test]
async fn each_item_of_a_run_is_as_large_as_figures_toml_says() {
    let mut scene = Scene::new().await;
    let waiting = merged(ask("b"), json!({ "overlap": "queue", "taskToken": "" }));
    let mut counted = Vec::new();
    let mut note = |what: &str, items: &Items, sort_key: &str| {
        let mut found = items.iter().filter(|(name, _)| name.starts_with(sort_key));
        let (Some((_, item)), None) = (found.next(), found.next()) else {
            panic!("{what}: not one item of {sort_key} in {:?}", items.keys());
        };
        counted.push((what.to_owned(), size(item) as u64));
    };

    let grant = scene.acquires(ask("a")).await.0;
    note("lock, held", &scene.items(LOCK).await, "lock");
    scene.step("heartbeat", beat(&grant)).await;
    note("lock, held, renewed", &scene.items(LOCK).await, "lock");
    scene.step("acquire", waiting).await;
    let items = scene.items(LOCK).await;
    note("lock, held, renewed, one waits", &items, "lock");
    note("waiter", &items, "waiter#");
    scene.step("release", released(&grant)).await;
    let items = scene.items(LOCK).await;
    note("lock, handed over", &items, "lock");
    note("run", &items, "run#");

    figures::check("items", &counted);
}

fn execution(name: &str) -> String {
    format!(
        "arn:aws:states:eu-west-1:123456789012:execution:exclusive-run:{name}-7b1d4a55-9c0e-4f0b-8a67"
    )
}

/// Returns the request of the state Acquire Lock of exclusive-run.
fn ask(name: &str) -> Value {
    json!({
        "lock": LOCK, "holder": execution(name), "waitForEnding": true, "redriveCount": 0,
        "work": { "container": "app", "cluster": CLUSTER, "family": "nightly-report" },
    })
}

/// Returns the request of `lockstep run` in a container of a task.
fn contained(name: &str) -> Value {
    let task = "arn:aws:ecs:eu-west-1:123456789012:task/batch/0123456789abcdef0123456789abcdef";
    json!({
        "lock": "contained", "holder": format!("{task}#app/{name}"), "leaseSeconds": 58, "heartbeatSeconds": 19,
    })
}

/// Returns the request of the state Keep Lease after some minutes of work.
fn beat(grant: &Value) -> Value {
    json!({
        "grant": grant, "taskToken": "", "redriveCount": 0, "heartbeatSeconds": 400, "leaseSeconds": 1203,
    })
}

fn released(grant: &Value) -> Value {
    json!({ "grant": grant, "outcome": "succeeded" })
}

/// Returns the event of the task of a run that ended by itself.
fn stopped(name: &str, grant: &Value) -> Value {
    let (lock, holder) = (
        LockKey::new(LOCK).unwrap(),
        HolderId::new(execution(name)).unwrap(),
    );
    let task = "arn:aws:ecs:eu-west-1:123456789012:task/batch/0123456789abcdef0123456789abcdef";
    let environment =
        json!([{ "name": "LOCKSTEP_FENCING_TOKEN", "value": grant["token"].to_string() }]);
    json!({
        "source": "aws.ecs",
        "detail-type": "ECS Task State Change",
        "detail": {
            "taskArn": task, "clusterArn": CLUSTER, "version": 5, "lastStatus": "STOPPED",
            "stopCode": "EssentialContainerExited", "group": task_group(&lock, &holder),
            "containers": [{ "name": "app", "runtimeId": "0123456789abcdef-1234567890", "exitCode": 0 }],
            "overrides": { "containerOverrides": [{ "name": "app", "environment": environment }] },
        },
    })
}

fn merged(mut value: Value, more: Value) -> Value {
    let fields = more.as_object().expect("fields").clone();
    value.as_object_mut().expect("an object").extend(fields);
    value
}
