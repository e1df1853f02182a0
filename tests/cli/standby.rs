//! Two runs of one lock, as active and standby.

use crate::support::{FencedResource, Inside, Started, lives, lock, signal_to, until_dead};
use lockstep_tests::stack::{now, until};
use tokio::process::Command;

/// Says when it starts, then writes ten times a second.
const WRITER: &str = "exec 3<>/dev/tcp/127.0.0.1/$LEDGER; \
    say() { echo \"$LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN $1\" >&3; read -r answer <&3; }; \
    say start; while :; do say $ROLE; sleep 0.1; done";
const LEASE: u64 = 6_000;

fn writer(inside: &Inside, resource: &FencedResource, lock: &str, role: &str) -> Command {
    let flags = ["--lease", "6s", "--overlap", "queue", "--grace", "1s"];
    let mut command = inside.run(lock, &flags, &["bash", "-c", WRITER]);
    command.envs([resource.variable()]).env("ROLE", role);
    command
}

/// An active run, and a standby that waits.
async fn pair(inside: &Inside, resource: &FencedResource, lock: &str) -> (Started, Started) {
    let active = Started::of(writer(inside, resource, lock, "active"));
    resource.until_received("active", 2, 20).await;
    let standby = Started::of(writer(inside, resource, lock, "standby"));
    until("a waiter", 20, async || inside.waiting(lock).await == 1).await;
    (active, standby)
}

#[tokio::test]
async fn the_standby_starts_within_the_lease_and_a_second_when_the_active_one_is_killed() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("standby-kill"), FencedResource::open().await);
    let (active, mut standby) = pair(&inside, &resource, &lock).await;

    let killed = now();
    active.signal("KILL").await;
    resource.until_received("start", 2, 30).await;

    let (start, last) = (
        &resource.received("start")[1],
        &resource.received("active").pop().expect("work"),
    );
    eprintln!(
        "figure: killed, the standby starts {} ms later",
        start.at - killed
    );
    assert!(start.at <= killed + LEASE + 1_000, "the promise of --lease");
    assert!(last.at < start.at, "never both");
    assert!(start.token > last.token);
    standby.signal("TERM").await;
    assert_eq!(standby.code().await, 143);
}

#[tokio::test]
async fn a_frozen_run_that_goes_on_late_cannot_write_and_loses_its_command() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("standby-stop"), FencedResource::open().await);
    let (mut active, standby) = pair(&inside, &resource, &lock).await;
    let command = active.children()[0].0;
    let (guard, group) = ([active.pid, active.watchdog()], format!("-{command}"));

    // As when the whole container is paused, or its host.
    for pid in guard {
        signal_to(pid, "STOP").await;
    }
    signal_to(&group, "STOP").await;
    resource.until_received("standby", 3, 30).await;
    let resumed = now();
    // The command first: what it can do before its guards wake up is what fencing is for.
    signal_to(&group, "CONT").await;
    until("late write", 10, async || {
        resource
            .received("active")
            .iter()
            .any(|entry| entry.at >= resumed)
    })
    .await;
    // They end as soon as they go on, one maybe before its turn here.
    for pid in guard.into_iter().filter(|pid| lives(*pid)) {
        signal_to(pid, "CONT").await;
    }

    assert_eq!(active.code().await, 76);
    until_dead(&[command], 5).await;
    let late: Vec<_> = resource
        .received("active")
        .into_iter()
        .filter(|e| e.at >= resumed)
        .collect();
    assert!(
        !late.is_empty() && late.iter().all(|entry| !entry.taken),
        "{late:?}"
    );
    assert!(resource.received("standby").iter().all(|entry| entry.taken));
    drop(standby);
}

#[tokio::test]
async fn the_standby_starts_at_once_when_the_active_one_ends() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("standby-end"), FencedResource::open().await);
    let (mut active, standby) = pair(&inside, &resource, &lock).await;

    active.signal("TERM").await;
    let code = active.code().await;
    let ended = now();
    resource.until_received("start", 2, 30).await;

    assert_eq!(code, 143);
    let wait = resource.received("start")[1].at.saturating_sub(ended);
    eprintln!("figure: released, the standby starts {wait} ms later");
    drop(standby);
}
