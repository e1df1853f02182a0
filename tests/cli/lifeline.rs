//! What holds when the guarding process does not: the watchdog, and the death signal.

use crate::support::{FencedResource, Inside, Started, WRITE_ON, lock, signal_to, until_dead};
use lockstep_tests::stack::{now, until};

/// Starts a child in its group, and works.
fn writer() -> String {
    format!("sleep 300 & {WRITE_ON}")
}

#[tokio::test]
async fn a_command_dies_with_its_guard_its_children_too() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("dies-with"), FencedResource::open().await);
    let mut command = inside.run(&lock, &[], &["bash", "-c", &writer()]);
    command.envs([resource.variable()]);
    let mut run = Started::of(command);
    resource.until_told("work", 3, 20).await;
    let group = run.children()[0].0;
    let sleeper = sleeper_of(group).await;

    run.signal("KILL").await;

    assert_eq!(run.code().await, 137);
    until_dead(&[group, sleeper], 5).await;
}

#[tokio::test]
async fn a_guard_that_is_stopped_loses_its_command_before_the_lease_ends() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("stopped-guard"), FencedResource::open().await);
    let mut command = inside.run(&lock, &["--lease", "5s"], &["bash", "-c", &writer()]);
    command.envs([resource.variable()]);
    let mut run = Started::of(command);
    resource.until_told("work", 3, 20).await;
    let group = run.children()[0].0;
    let sleeper = sleeper_of(group).await;

    run.signal("STOP").await;

    until_dead(&[group, sleeper], 10).await;
    let last = resource.told("work").last().expect("work").at;
    let end = inside.lease_end(&lock).await;
    assert!(last < end, "{last} {end}");
    run.signal("CONT").await;
    assert_eq!(run.code().await, 76);
    until(&format!("free {lock}"), 10, async || {
        inside.held(&lock).await == 0
    })
    .await;
}

#[tokio::test]
async fn a_watchdog_that_dies_is_replaced_and_its_successor_knows_the_deadlines() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("new-watchdog"), FencedResource::open().await);
    let mut command = inside.run(&lock, &["--lease", "5s"], &["bash", "-c", &writer()]);
    command.envs([resource.variable()]);
    let run = Started::of(command);
    resource.until_told("work", 3, 20).await;
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
    let inside = Inside::open().await;
    let (lock, resource) = (lock("stopped-watchdog"), FencedResource::open().await);
    let mut command = inside.run(&lock, &["--lease", "5s"], &["bash", "-c", &writer()]);
    command.envs([resource.variable()]);
    let mut run = Started::of(command);
    resource.until_told("work", 3, 20).await;
    let group = run.children()[0].0;

    let first = run.stop_watchdog().await;
    let stopped = now();

    until_dead(&[first], 10).await;
    until("work after two leases", 30, async || {
        let last = resource.told("work").last().map_or(0, |entry| entry.at);
        last > stopped + 10_000
    })
    .await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
    until_dead(&[group], 5).await;
}

#[tokio::test]
async fn the_successor_of_a_stopped_watchdog_knows_the_deadlines() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("stopped-successor"), FencedResource::open().await);
    let mut command = inside.run(&lock, &["--lease", "5s"], &["bash", "-c", &writer()]);
    command.envs([resource.variable()]);
    let run = Started::of(command);
    resource.until_told("work", 3, 20).await;
    let group = run.children()[0].0;

    let first = run.stop_watchdog().await;
    until_dead(&[first], 10).await;
    run.signal("STOP").await;

    until_dead(&[group], 10).await;
    let last = resource.told("work").last().expect("work").at;
    let end = inside.lease_end(&lock).await;
    assert!(last < end, "{last} {end}");
    run.signal("KILL").await;
}

#[tokio::test]
async fn a_run_is_stopped_with_76_when_the_table_is_out_of_reach() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("out-of-reach"), FencedResource::open().await);
    let wire =
        crate::support::FaultProxy::open(inside.stack.setting("AWS_ENDPOINT_URL_DYNAMODB")).await;
    let mut command = inside.run(&lock, &["--lease", "6s"], &["bash", "-c", &writer()]);
    command
        .envs([resource.variable()])
        .env("AWS_ENDPOINT_URL_DYNAMODB", wire.endpoint());
    let mut run = Started::of(command);
    resource.until_told("work", 3, 20).await;

    let group = run.children()[0].0;
    wire.close();

    // Before anybody else frees it: the lease that nobody renewed any more.
    until_dead(&[group], 20).await;
    let last = resource.told("work").last().expect("work").at;
    let end = inside.lease_end(&lock).await;
    assert!(last < end, "{last} {end}");
    assert_eq!(run.code().await, 76);
}

#[tokio::test]
async fn a_holder_that_was_evicted_has_its_command_stopped_with_76() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("evicted"), FencedResource::open().await);
    let mut command = inside.run(
        &lock,
        &["--lease", "5s", "--grace", "1s"],
        &["bash", "-c", &writer()],
    );
    command.envs([resource.variable()]);
    let mut run = Started::of(command);
    resource.until_told("work", 3, 20).await;

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
