//! Waiting in line from inside a container, and two runs of one lock, as active and standby.

use crate::support::{FencedResource, Inside, Started, lives, lock, output, signal_to, until_dead};
use lockstep_tests::stack::{now, pause, until};
use tokio::process::Command;

const WORK: &str = "exec 3<>/dev/tcp/127.0.0.1/$LEDGER; \
    say() { echo \"$LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN $1\" >&3; read -r answer <&3; }; \
    say \"start $NAME\"; sleep 0.3; say \"end $NAME\"";

#[tokio::test]
async fn those_who_wait_run_one_by_one_in_the_order_of_their_arrival() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("line"), FencedResource::open().await);
    let mut first = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    let mut line = Vec::new();
    for name in ["a", "b", "c"] {
        let mut command = inside.run(&lock, &["--overlap", "queue"], &["bash", "-c", WORK]);
        command.envs([resource.variable()]).env("NAME", name);
        line.push(Started::of(command));
        let count = line.len();
        inside.until_waiting(&lock, count, 20).await;
    }

    first.signal("TERM").await;
    first.code().await;
    for run in &mut line {
        assert_eq!(run.code().await, 0);
    }

    let received: Vec<_> = resource
        .entries()
        .into_iter()
        .map(|entry| entry.what)
        .collect();
    assert_eq!(
        received,
        ["start a", "end a", "start b", "end b", "start c", "end c"]
    );
    assert_eq!(
        (inside.held(&lock).await, inside.waiting(&lock).await),
        (0, 0)
    );
}

#[tokio::test]
async fn a_turn_that_is_taken_up_late_begins_with_a_whole_lease() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("late-turn"), FencedResource::open().await);
    let mut active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    let flags = ["--overlap", "queue", "--lease", "8s"];
    let script = format!("{WORK}; sleep 300");
    let mut command = inside.run(&lock, &flags, &["bash", "-c", &script]);
    command.envs([resource.variable()]).env("NAME", "late");
    let waiter = Started::of(command);
    inside.until_waiting(&lock, 1, 20).await;
    // It does not notice that its turn comes, and most of its lease goes by.
    waiter.signal("STOP").await;
    active.signal("TERM").await;
    active.code().await;
    inside.until_waiting(&lock, 0, 10).await;
    pause(4_000).await;

    waiter.signal("CONT").await;
    resource.until_received("start late", 1, 10).await;

    let start = resource.received("start late")[0].at;
    let left = inside.lease_end(&lock).await.saturating_sub(start);
    assert!(left > 5_000, "{left} ms of 6 s are left at the start");
}

#[tokio::test]
async fn who_has_waited_long_enough_leaves_the_line_with_75() {
    let (inside, lock) = Inside::with_lock("patience").await;
    let active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    // `wait` is another name of `queue`.
    let flags = ["--overlap", "wait", "--max-wait", "1s"];

    let (code, out, stderr) = output(inside.run(&lock, &flags, &["echo", "ran"])).await;

    assert_eq!((code, out.as_str()), (75, ""), "{stderr}");
    assert_eq!(inside.waiting(&lock).await, 0);
    drop(active);
}

#[tokio::test]
async fn who_is_stopped_while_waiting_leaves_nothing_behind() {
    let (inside, lock) = Inside::with_lock("stopped-waiter").await;
    let active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    let mut waiter = Started::of(inside.run(&lock, &["--overlap", "queue"], &["echo", "ran"]));
    inside.until_waiting(&lock, 1, 20).await;

    waiter.signal("TERM").await;

    assert_eq!(waiter.code().await, 143);
    assert_eq!(inside.waiting(&lock).await, 0);
    drop(active);
}

#[tokio::test]
async fn a_full_line_is_refused_with_75() {
    let (inside, lock) = Inside::with_lock("full-line").await;
    let active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    let flags = ["--overlap", "queue", "--max-queue", "1"];
    let waiter = Started::of(inside.run(&lock, &flags, &["true"]));
    inside.until_waiting(&lock, 1, 20).await;

    let (code, _, stderr) = output(inside.run(&lock, &flags, &["true"])).await;

    assert_eq!(code, 75, "{stderr}");
    assert!(stderr.contains("maxQueue"), "{stderr}");
    drop((active, waiter));
}

#[tokio::test]
async fn a_semaphore_lets_as_many_in_as_it_has_permits() {
    let (inside, lock) = Inside::with_lock("semaphore").await;
    let run = || inside.run(&lock, &["--permits", "2"], &["sleep", "300"]);
    let two = [Started::of(run()), Started::of(run())];
    inside.until_held(&lock, 2, 10).await;

    let third = output(inside.run(&lock, &["--permits", "2"], &["echo", "ran"])).await;

    assert_eq!((third.0, third.1.as_str()), (0, ""));
    drop(two);
}

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
    inside.until_waiting(lock, 1, 20).await;
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
