//! `--protect` in tasks of a service: set, renewed, cleared, and gone with its task's work.

use super::{Fleet, Service, Task, Work};
use crate::support::lock;
use lockstep_tests::stack::{now, until};
use serde_json::json;

/// A run that holds `lock` until it is stopped, and a service whose one task waits for that lock.
/// So a test can see to the task before it asks for protection.
async fn waits(fleet: &Fleet, lock: &str, work: &Work) -> (Task, Service, Task) {
    let (first, _) = fleet
        .at_work(&Work::guarded(lock, &[]).seconds(300.0))
        .await;
    let service = fleet.serve(work, 1).await;
    let task = fleet.another_task(&service, &[]).await;
    until("a task in line", 30, async || {
        fleet.waiting(lock).await == 1
    })
    .await;
    (first, service, task)
}

#[tokio::test]
async fn a_task_of_a_service_is_protected_while_its_batch_works_and_not_after() {
    let fleet = Fleet::open().await;
    let lock = lock("protected");
    let flags = ["--overlap", "queue", "--lease", "90s", "--protect=required"];
    let work = Work::guarded(&lock, &flags).seconds(2.0);
    let service = fleet.serve(&work, 1).await;
    let task = fleet.another_task(&service, &[]).await;

    fleet.until_logged(&task, "start", 30).await;
    let during = fleet.is_protected(&task).await;
    let ended = fleet.ended(&task, 30).await;

    let asked = fleet.asked(&task).await;
    fleet.remove(&service).await;
    assert!(during, "{asked:?}");
    assert_eq!(ended.code, 0, "{:#?}", fleet.lines(&task).await);
    let requests: Vec<_> = asked
        .iter()
        .map(|call| (call.enable, call.minutes))
        .collect();
    // The record's lease of 88 s in whole minutes; cleared before the task was over.
    assert_eq!(requests, [(true, Some(2)), (false, None)], "{asked:?}");
    let cleared = &asked[1].answer["protection"]["ProtectionEnabled"];
    assert_eq!(cleared, false, "{asked:?}");
    assert!(asked[1].at <= ended.at, "{asked:?} {ended:?}");
}

#[tokio::test]
async fn protection_is_renewed_before_it_ends_as_long_as_the_batch_works() {
    let fleet = Fleet::open().await;
    let lock = lock("renewed");
    let flags = ["--overlap", "queue", "--protect=required"];
    let work = Work::guarded(&lock, &flags).seconds(14.0);
    let (first, service, task) = waits(&fleet, &lock, &work).await;
    fleet.set_minute(&task, 5).await;

    fleet.stop(&first).await;
    fleet.until_logged(&task, "start", 30).await;
    let mut samples = Vec::new();
    while fleet.end_of(&task).await.is_none() {
        samples.push((now(), fleet.is_protected(&task).await));
        lockstep_tests::stack::pause(50).await;
    }

    let asked = fleet.asked(&task).await;
    fleet.remove(&service).await;
    let set: Vec<_> = asked
        .iter()
        .filter(|call| call.enable)
        .map(|call| call.at)
        .collect();
    let gaps: Vec<_> = set.windows(2).map(|pair| pair[1] - pair[0]).collect();
    eprintln!("figure: a protection of 5000 ms is renewed after {gaps:?} ms");
    assert!(set.len() >= 3, "{asked:?}");
    let cleared = asked.last().expect("calls");
    assert!(!cleared.enable, "{asked:?}");
    let gone = samples.iter().find(|(at, is)| !is && *at < cleared.at);
    assert_eq!(gone, None, "unprotected at work: {asked:?}");
}

#[tokio::test]
async fn protection_of_a_guard_that_was_killed_ends_by_itself_and_the_task_can_go() {
    let fleet = Fleet::open().await;
    let lock = lock("killed-guard");
    let flags = ["--overlap", "queue", "--protect=required"];
    // A second container keeps the task running when the guarded one is gone.
    let side = json!([{
        "name": "side", "essential": true, "stopTimeout": 2, "environment": [
            { "name": "BATCH_SECONDS", "value": "300" }
        ]
    }]);
    let work = Work::guarded(&lock, &flags)
        .seconds(300.0)
        .with("essential", false)
        .of_task("containerDefinitions", side);
    let (first, service, task) = waits(&fleet, &lock, &work).await;
    fleet.set_minute(&task, 6).await;
    fleet.stop(&first).await;
    fleet.until_logged(&task, "start", 30).await;

    let killed = now();
    fleet.docker("kill", &task).await;
    let protected = fleet.is_protected(&task).await;
    fleet.update(&service, json!({ "desiredCount": 0 })).await;
    until("end of protection", 20, async || {
        !fleet.is_protected(&task).await
    })
    .await;
    let gone = now();
    let asked = fleet.asked(&task).await;
    let set = asked
        .iter()
        .filter(|call| call.enable)
        .map(|call| call.at)
        .max();
    eprintln!(
        "figure: guard killed: its protection of 6000 ms ends {} ms later",
        gone - killed
    );
    assert!(protected, "{asked:?}");
    assert!(
        asked.iter().all(|call| call.at <= killed),
        "no call renews: {asked:?}"
    );
    let most = set.expect("a call") + 6_000;
    // The sample that found it gone may have come a moment after its end.
    assert!(gone < most + 1_000, "{gone}, not {most}");
    until("scale-in", 60, async || {
        fleet.stack().task(&task.arn).await["lastStatus"] == "STOPPED"
    })
    .await;
    let stopping = fleet.stack().task(&task.arn).await["stoppingAt"].as_f64();
    let stopping = stopping.expect("a time") * 1000.0;
    // The endpoint counts its minutes from a moment before the call was noted.
    assert!(
        stopping + 100.0 >= most as f64,
        "spared until {most}, not {stopping}"
    );
    fleet.remove(&service).await;
}
