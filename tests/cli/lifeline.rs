//! What holds when the guarding process does not: the watchdog, and the death signal.

use crate::support::{FencedResource, Inside, Started, WRITE_ON, lock, signal_to, until_dead};
use lockstep_tests::stack::{now, until};

/// Starts a child in its group, and works.
fn writer() -> String {
    format!("sleep 300 & {WRITE_ON}")
}

/// A writer that is at work under `lock`, and where it writes.
async fn at_work(inside: &Inside, lock: &str, flags: &[&str]) -> (Started, FencedResource) {
    let resource = FencedResource::open().await;
    let mut command = inside.run(lock, flags, &["bash", "-c", &writer()]);
    command.envs([resource.variable()]);
    let run = Started::of(command);
    resource.until_received("work", 3, 20).await;
    (run, resource)
}

/// The last work came before the lease ended.
async fn assert_worked_within_lease(inside: &Inside, lock: &str, resource: &FencedResource) {
    let last = resource.received("work").last().expect("work").at;
    let end = inside.lease_end(lock).await;
    assert!(last < end, "{last} {end}");
}

#[tokio::test]
async fn a_command_dies_with_its_guard_its_children_too() {
    let (inside, lock) = Inside::with_lock("dies-with").await;
    let (mut run, _resource) = at_work(&inside, &lock, &[]).await;
    let group = run.children()[0].0;
    let sleeper = sleeper_of(group).await;

    run.signal("KILL").await;

    assert_eq!(run.code().await, 137);
    until_dead(&[group, sleeper], 5).await;
}

#[tokio::test]
async fn a_guard_that_is_stopped_loses_its_command_before_the_lease_ends() {
    let (inside, lock) = Inside::with_lock("stopped-guard").await;
    let (mut run, resource) = at_work(&inside, &lock, &["--lease", "5s"]).await;
    let group = run.children()[0].0;
    let sleeper = sleeper_of(group).await;

    run.signal("STOP").await;

    until_dead(&[group, sleeper], 10).await;
    assert_worked_within_lease(&inside, &lock, &resource).await;
    run.signal("CONT").await;
    assert_eq!(run.code().await, 76);
    inside.until_held(&lock, 0, 10).await;
}

#[tokio::test]
async fn a_watchdog_that_dies_is_replaced_and_its_successor_knows_the_deadlines() {
    let (inside, lock) = Inside::with_lock("new-watchdog").await;
    let (run, _resource) = at_work(&inside, &lock, &["--lease", "5s"]).await;
    let (group, first) = (run.children()[0].0, run.watchdog());

    signal_to(first, "KILL").await;
    until_dead(&[first], 5).await;
    until("next watchdog", 5, async || run.has_watchdog()).await;
    run.signal("STOP").await;

    until_dead(&[group], 10).await;
    run.signal("KILL").await;
}

#[tokio::test]
async fn a_watchdog_that_is_stopped_is_replaced_and_holds_up_neither_renewals_nor_sigterm() {
    let (inside, lock) = Inside::with_lock("stopped-watchdog").await;
    let (mut run, resource) = at_work(&inside, &lock, &["--lease", "5s"]).await;
    let group = run.children()[0].0;

    let first = run.stop_watchdog().await;
    let stopped = now();

    until_dead(&[first], 10).await;
    until("work after two leases", 30, async || {
        let last = resource.received("work").last().map_or(0, |entry| entry.at);
        last > stopped + 10_000
    })
    .await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
    until_dead(&[group], 5).await;
}

#[tokio::test]
async fn the_successor_of_a_stopped_watchdog_knows_the_deadlines() {
    let (inside, lock) = Inside::with_lock("stopped-successor").await;
    let (run, resource) = at_work(&inside, &lock, &["--lease", "5s"]).await;
    let group = run.children()[0].0;

    let first = run.stop_watchdog().await;
    until_dead(&[first], 10).await;
    run.signal("STOP").await;

    until_dead(&[group], 10).await;
    assert_worked_within_lease(&inside, &lock, &resource).await;
    run.signal("KILL").await;
}

#[tokio::test]
async fn a_run_is_stopped_with_76_when_the_table_is_out_of_reach() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("out-of-reach"), FencedResource::open().await);
    let wire = inside.table_proxy().await;
    let mut command = inside.run(&lock, &["--lease", "6s"], &["bash", "-c", &writer()]);
    command
        .envs([resource.variable()])
        .env("AWS_ENDPOINT_URL_DYNAMODB", wire.endpoint());
    let mut run = Started::of(command);
    resource.until_received("work", 3, 20).await;

    let group = run.children()[0].0;
    wire.close();

    // Before the lease ends, which is not renewed any more, and is freed by another.
    until_dead(&[group], 20).await;
    assert_worked_within_lease(&inside, &lock, &resource).await;
    assert_eq!(run.code().await, 76);
}

#[tokio::test]
async fn a_holder_that_was_evicted_has_its_command_stopped_with_76() {
    let (inside, lock) = Inside::with_lock("evicted").await;
    let (mut run, _resource) = at_work(&inside, &lock, &["--lease", "5s", "--grace", "1s"]).await;

    inside.evict_all(&lock).await;

    assert_eq!(run.code().await, 76);
}

/// The `sleep` in a group.
async fn sleeper_of(group: u32) -> u32 {
    let find = || {
        let all = crate::support::children_of(group);
        all.into_iter()
            .find(|(_, line)| line.starts_with("sleep 300"))
    };
    until("child of the command", 10, async || find().is_some()).await;
    find().expect("a child of the command").0
}
