//! `--protect` in tasks of a service: protection is set, renewed and cleared, and it ends with the
//! work. Scale-in and deployments spare a task at work.

use super::{Fleet, Work};
use lockstep_tests::stack::{now, until};
use serde_json::json;

#[tokio::test]
async fn a_task_of_a_service_is_protected_while_its_batch_works_and_not_after() {
    let (fleet, lock) = Fleet::with_lock("protected").await;
    let flags = ["--overlap", "queue", "--lease", "90s", "--protect=required"];
    let work = Work::guarded(&lock, &flags).seconds(2.0);
    let (service, task) = fleet.serve_one(&work).await;

    fleet.until_logged(&task, "start", 30).await;
    let during = fleet.is_protected(&task).await;
    let ended = fleet.ended(&task, 30).await;

    let asked = fleet.asked(&task).await;
    fleet.remove(&service).await;
    assert!(during, "{asked:?}");
    assert_eq!(ended.code, 0, "{:#?}", fleet.lines(&task).await);
    let requests = asked.iter().map(|call| (call.enable, call.minutes));
    let requests: Vec<_> = requests.collect();
    // The record's lease of 88 s is two whole minutes. The protection is cleared before the task is
    // over.
    assert_eq!(requests, [(true, Some(2)), (false, None)], "{asked:?}");
    let cleared = &asked[1].answer["protection"]["ProtectionEnabled"];
    assert_eq!(cleared, false, "{asked:?}");
    assert!(asked[1].at <= ended.at, "{asked:?} {ended:?}");
}

#[tokio::test]
async fn protection_is_renewed_before_it_ends_as_long_as_the_batch_works() {
    let (fleet, lock) = Fleet::with_lock("renewed").await;
    let flags = ["--overlap", "queue", "--protect=required"];
    let work = Work::guarded(&lock, &flags).seconds(14.0);
    let (first, service, task) = fleet.waiting_service(&lock, &work).await;
    fleet.set_minute(&task.arn, 5).await;

    fleet.stop(&first).await;
    fleet.until_logged(&task, "start", 30).await;
    let mut samples = Vec::new();
    while fleet.end_of(&task).await.is_none() {
        let protected = fleet.is_protected(&task).await;
        // The time is taken after the response, which may have waited until the protection was
        // cleared.
        samples.push((now(), protected));
        lockstep_tests::stack::pause(50).await;
    }

    let asked = fleet.asked(&task).await;
    fleet.remove(&service).await;
    let set = asked.iter().filter(|call| call.enable);
    let set: Vec<_> = set.map(|call| call.at).collect();
    let gaps: Vec<_> = set.windows(2).map(|pair| pair[1] - pair[0]).collect();
    eprintln!("figure: a protection of 5000 ms is renewed after {gaps:?} ms");
    assert!(set.len() >= 3, "{asked:?}");
    let cleared = asked.last().expect("calls");
    assert!(!cleared.enable, "{asked:?}");
    let gone = samples.iter().find(|(at, is)| !is && *at < cleared.at);
    assert_eq!(gone, None, "unprotected at work: {asked:?}");
}

#[tokio::test]
async fn protection_of_a_killed_lockstep_expires_and_the_task_can_stop() {
    let (fleet, lock) = Fleet::with_lock("killed-guard").await;
    let flags = ["--overlap", "queue", "--protect=required"];
    // A second container keeps the task running when the guarded one is gone.
    let seconds = json!([{ "name": "BATCH_SECONDS", "value": "300" }]);
    let side = json!([
        { "name": "side", "essential": true, "stopTimeout": 2, "environment": seconds }
    ]);
    let work = Work::guarded(&lock, &flags)
        .seconds(300.0)
        .with("essential", false)
        .of_task("containerDefinitions", side);
    let (first, service, task) = fleet.waiting_service(&lock, &work).await;
    fleet.set_minute(&task.arn, 6).await;
    fleet.stop(&first).await;
    fleet.until_logged(&task, "start", 30).await;

    let killed = now();
    fleet.docker("kill", &task).await;
    let protected = fleet.is_protected(&task).await;
    fleet.update(&service, json!({ "desiredCount": 0 })).await;
    let is_over = async || !fleet.is_protected(&task).await;
    until("end of protection", 20, is_over).await;
    let gone = now();
    let asked = fleet.asked(&task).await;
    let set = asked.iter().filter(|call| call.enable);
    let set = set.map(|call| call.at).max();
    let took = gone - killed;
    eprintln!("figure: guard killed: its protection of 6000 ms ends {took} ms later");
    assert!(protected, "{asked:?}");
    let is_renewed = asked.iter().any(|call| call.at > killed);
    assert!(!is_renewed, "no call renews: {asked:?}");
    let most = set.expect("a call") + 6_000;
    // The sample that found no protection may have come a moment after its end.
    assert!(gone < most + 1_000, "{gone}, not {most}");
    let described = async || fleet.stack().task(&task.arn).await;
    let is_stopped = async || described().await["lastStatus"] == "STOPPED";
    until("scale-in", 60, is_stopped).await;
    let stopping = described().await["stoppingAt"].as_f64();
    let stopping = stopping.expect("a time") * 1000.0;
    // The endpoint counts its minutes from a moment before the call was noted.
    let is_spared = stopping + 100.0 >= most as f64;
    assert!(is_spared, "spared until {most}, not {stopping}");
    fleet.remove(&service).await;
}

const FLAGS: [&str; 3] = ["--overlap", "queue", "--protect"];

#[tokio::test]
async fn a_scale_in_spares_the_task_at_work_and_stops_the_idle_one() {
    let (fleet, lock) = Fleet::with_lock("scale-in").await;
    let work = Work::guarded(&lock, &FLAGS).seconds(6.0);
    let (first, service, older) = fleet.waiting_service(&lock, &work).await;
    fleet.update(&service, json!({ "desiredCount": 2 })).await;
    let newer = fleet.another_task(&service, &[&older]).await;
    fleet.until_waiting(&lock, 2, 30).await;
    // The older task loses its place, so the newer one works. Of two idle tasks, ECS would stop the
    // newer.
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
    let is_cut_off = logged.iter().any(|logged| logged.event == "sigterm");
    assert!(!is_cut_off, "{logged:?}");
    assert!(idle.at < done.at, "stopped while the other was at work");
}

#[tokio::test]
async fn a_deployment_waits_for_the_task_at_work_and_the_new_one_for_its_lock() {
    let (fleet, lock) = Fleet::with_lock("deployed").await;
    let work = Work::guarded(&lock, &FLAGS).seconds(8.0);
    let (service, old) = fleet.serve_one(&work).await;
    fleet.until_logged(&old, "start", 30).await;

    let anew = json!({ "forceNewDeployment": true });
    fleet.update(&service, anew).await;
    let new = fleet.another_task(&service, &[&old]).await;
    fleet.until_waiting(&lock, 1, 30).await;
    let ended = fleet.ended(&old, 30).await;
    let start = fleet.until_logged(&new, "start", 30).await;

    fleet.remove(&service).await;
    let logged = fleet.logged(&old).await;
    let end = logged.iter().find(|logged| logged.event == "end");
    let end = end.unwrap_or_else(|| panic!("cut off by the deployment: {logged:?}"));
    assert_eq!(ended.code, 0);
    assert!(end.at <= start.at, "{end:?} {start:?}");
    let gap = start.at - end.at;
    eprintln!("figure: a deployment during work: the new task works {gap} ms after the old one");
}

/// Returns the name under which a task waits.
async fn waiter_of(fleet: &Fleet, lock: &str, task: &str) -> String {
    let items = fleet.stack().items(lock).await;
    let is_waiter = |sort: &String| sort.starts_with("waiter#");
    let waiters = items
        .iter()
        .filter(|item| item["sk"].as_s().is_ok_and(is_waiter));
    let mut names = waiters.filter_map(|item| item.get("holder")?.as_s().ok());
    let found = names.find(|name| name.starts_with(task));
    found.expect("a waiter of the task").clone()
}
