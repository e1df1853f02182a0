//! Scale-in and deployments of a service, while one of its tasks is at work under `--protect`.

use super::{Fleet, Work};
use crate::support::lock;
use lockstep_tests::stack::until;
use serde_json::json;

const FLAGS: [&str; 3] = ["--overlap", "queue", "--protect"];

#[tokio::test]
async fn a_scale_in_spares_the_task_at_work_and_stops_the_idle_one() {
    let fleet = Fleet::open().await;
    let lock = lock("scale-in");
    let (first, _) = fleet
        .at_work(&Work::guarded(&lock, &[]).seconds(300.0))
        .await;
    let service = fleet
        .serve(&Work::guarded(&lock, &FLAGS).seconds(6.0), 1)
        .await;
    let older = fleet.another_task(&service, &[]).await;
    until("the older in line", 30, async || {
        fleet.waiting(&lock).await == 1
    })
    .await;
    fleet.update(&service, json!({ "desiredCount": 2 })).await;
    let newer = fleet.another_task(&service, &[&older]).await;
    until("both in line", 30, async || fleet.waiting(&lock).await == 2).await;
    // The older loses its place, so the newer works: of two idle tasks the newer would be stopped.
    fleet.docker("pause", &older).await;
    let holder = waiter_of(&fleet, &lock, &older.arn).await;
    fleet.stack().evict(&lock, &holder, "by a test").await;
    fleet.stop(&first).await;
    fleet.until_logged(&newer, "start", 30).await;
    fleet.docker("unpause", &older).await;

    fleet.update(&service, json!({ "desiredCount": 1 })).await;
    let idle = fleet.ended(&older, 30).await;
    let done = fleet.ended(&newer, 30).await;

    fleet.remove(&service).await;
    assert_eq!((idle.code, done.code), (143, 0));
    assert_eq!(idle.task["stopCode"], "ServiceSchedulerInitiated");
    let logged = fleet.logged(&newer).await;
    assert!(
        logged.iter().all(|logged| logged.event != "sigterm"),
        "{logged:?}"
    );
    assert!(idle.at < done.at, "stopped while the other was at work");
}

#[tokio::test]
async fn a_deployment_waits_for_the_task_at_work_and_the_new_one_for_its_lock() {
    let fleet = Fleet::open().await;
    let lock = lock("deployed");
    let service = fleet
        .serve(&Work::guarded(&lock, &FLAGS).seconds(8.0), 1)
        .await;
    let old = fleet.another_task(&service, &[]).await;
    fleet.until_logged(&old, "start", 30).await;

    fleet
        .update(&service, json!({ "forceNewDeployment": true }))
        .await;
    let new = fleet.another_task(&service, &[&old]).await;
    until("the new one in line", 30, async || {
        fleet.waiting(&lock).await == 1
    })
    .await;
    let ended = fleet.ended(&old, 30).await;
    let start = fleet.until_logged(&new, "start", 30).await;

    fleet.remove(&service).await;
    let logged = fleet.logged(&old).await;
    let end = logged.iter().find(|logged| logged.event == "end");
    let end = end.unwrap_or_else(|| panic!("cut off by the deployment: {logged:?}"));
    assert_eq!(ended.code, 0);
    assert!(end.at <= start.at, "{end:?} {start:?}");
    eprintln!(
        "figure: a deployment during work: the new task works {} ms after the old one",
        start.at - end.at
    );
}

/// The name under which a task waits.
async fn waiter_of(fleet: &Fleet, lock: &str, task: &str) -> String {
    let items = fleet.stack().items(lock).await;
    let names = items.iter().filter(|item| {
        let sort = item["sk"].as_s();
        sort.is_ok_and(|sort| sort.starts_with("waiter#"))
    });
    let mut names = names.filter_map(|item| item.get("holder")?.as_s().ok());
    let found = names.find(|name| name.starts_with(task));
    found
        .unwrap_or_else(|| panic!("{task} does not wait: {items:?}"))
        .clone()
}
