//! A workflow whose container verifies the workflow's grant before it starts anything.

use super::image::LOCKSTEP;
use super::{Fleet, Task, Work};
use crate::support::found;
use lockstep::domain::HolderId;
use lockstep_tests::stack::BatchInput;

/// Returns the input of an exclusive run whose container begins with `lockstep run --`.
async fn guarded_inside(fleet: &Fleet, lock: &str) -> BatchInput {
    // The family is the one that exclusive-run may start.
    let work = Work::entered_by(&[LOCKSTEP, "run", "--"]);
    let work = work.of_task("family", "lockstep-fixture-batch");
    let definition = fleet.define(&work).await;
    let mut input = fleet.stack().batch_input(lock);
    input.run_task()["TaskDefinition"] = definition.into();
    input
}

/// Returns the tasks of a lock's executions.
async fn tasks(fleet: &Fleet, lock: &str) -> Vec<Task> {
    let tasks = fleet.stack().tasks(lock).await;
    let arns = tasks.iter().filter_map(|task| task["taskArn"].as_str());
    arns.map(Task::of).collect()
}

async fn first_task(fleet: &Fleet, lock: &str) -> Task {
    let first = async || tasks(fleet, lock).await.into_iter().next();
    found(&format!("task of {lock}"), 30, first).await
}

#[tokio::test]
async fn a_container_keeps_the_grant_of_its_workflow_and_takes_no_second_one() {
    let (fleet, lock) = Fleet::with_lock("one-grant").await;
    let input = guarded_inside(&fleet, &lock).await.seconds(3.0);

    let arn = fleet.stack().start(&input).await;
    let task = first_task(&fleet, &lock).await;
    let start = fleet.until_logged(&task, "start", 30).await;
    let record = fleet.record(&lock).await.expect("a record");
    let ended = fleet.stack().wait(&arn, 40).await;

    let holders: Vec<_> = record.holders.keys().map(HolderId::as_str).collect();
    assert_eq!(holders, [arn.as_str()]);
    assert_eq!(start.value("LOCKSTEP_HOLDER"), arn);
    assert_eq!(start.token(), record.last_token.number());
    assert!(ended.ran(), "{ended:?}");
    assert_eq!(fleet.stack().outcomes(&lock).await, ["succeeded"]);
}

#[tokio::test]
async fn a_redriven_container_without_its_grant_starts_nothing() {
    let (fleet, lock) = Fleet::with_lock("redriven").await;
    let input = guarded_inside(&fleet, &lock).await.seconds(300.0);
    let arn = fleet.stack().start(&input).await;
    let first = first_task(&fleet, &lock).await;
    let start = fleet.until_logged(&first, "start", 30).await;
    fleet.stack().abort(&arn).await;
    fleet.until_held(&lock, 0, 40).await;
    let other = fleet.holder(&lock).await;

    let redrive = fleet.stack().sfn.redrive_execution().execution_arn(&arn);
    redrive.send().await.expect("a redrive");
    let failed = fleet.stack().wait(&arn, 60).await;
    assert_eq!(failed.error, "Lockstep.LeaseLost", "{failed:?}");
    assert_eq!(tasks(&fleet, &lock).await, [first], "no second task");
    // This workflow starts its task without asking again: the container has to notice.
    let names = ["LOCKSTEP_LOCK", "LOCKSTEP_HOLDER", "LOCKSTEP_FENCING_TOKEN"];
    let old = Work::entered_by(&[LOCKSTEP, "run", "--"]).seconds(300.0);
    let old = names
        .into_iter()
        .fold(old, |work, name| work.env(name, start.value(name)));
    let second = fleet.start(&old).await;
    let ended = fleet.ended(&second, 40).await;

    let lines = fleet.lines(&second).await;
    assert_eq!(ended.code, 76, "{lines:#?}");
    let logged = fleet.logged(&second).await;
    assert!(logged.is_empty(), "nothing was started: {lines:#?}");
    let last = lines.last().expect("a line");
    for part in ["Lockstep.LeaseLost", &other.arn] {
        assert!(last.contains(part), "{last}");
    }
    let holders = fleet.holders(&lock).await;
    let is_other = holders.len() == 1 && holders[0].starts_with(&other.arn);
    assert!(is_other, "{holders:?}");
    let token = start.token();
    eprintln!("figure: redriven with token {token}: exit 76, nothing started");
    fleet.stop(&other).await;
}
