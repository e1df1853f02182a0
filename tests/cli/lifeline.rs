//! What ends a command when its `lockstep` no longer can: the watchdog, and the death signal.

use crate::support::{Scene, Started, WRITE_ON, children_of, found, lives, signal_to, until_dead};
use lockstep_tests::stack::{now, pause};
use tokio::process::Command;

/// Starts a run through `place`, whose command starts a child in its group. Returns the run at
/// work, and its command.
async fn at_work(
    scene: &Scene,
    flags: &[&str],
    place: impl Fn(Command) -> Command,
) -> (Started, u32) {
    let run = scene.bash(flags, &format!("sleep 300 & {WRITE_ON}"));
    let run = Started::of(place(run));
    scene.resource.until_received("work", 3, 20).await;
    let group = run.children()[0].0;
    (run, group)
}

/// Opens a scene with a run that is at work.
async fn working(test: &str, flags: &[&str]) -> (Scene, Started, u32) {
    let scene = Scene::open(test).await;
    let (run, group) = at_work(&scene, flags, |run| run).await;
    (scene, run, group)
}

/// Asserts that the last work came before the lease ended.
async fn assert_worked_within_lease(scene: &Scene) {
    let last = scene.resource.last("work").expect("work").at;
    let end = scene.lease_end().await;
    assert!(last < end, "{last} {end}");
}

#[tokio::test]
async fn a_killed_lockstep_takes_its_command_and_its_children_with_it() {
    let (_scene, mut run, group) = working("dies-with", &[]).await;
    let sleeper = sleeper_of(group).await;

    run.signal("KILL").await;

    assert_eq!(run.code().await, 137);
    until_dead(&[group, sleeper], 5).await;
}

#[tokio::test]
async fn a_stopped_lockstep_loses_its_command_before_the_lease_ends() {
    let (scene, mut run, group) = working("stopped-guard", &["--lease", "5s"]).await;
    let sleeper = sleeper_of(group).await;

    run.signal("STOP").await;

    until_dead(&[group, sleeper], 10).await;
    assert_worked_within_lease(&scene).await;
    run.signal("CONT").await;
    assert_eq!(run.code().await, 76);
    scene.until_held(0, 10).await;
}

#[tokio::test]
async fn a_stopped_watchdog_is_replaced_and_delays_nothing() {
    let (scene, mut run, group) = working("stopped-watchdog", &["--lease", "5s"]).await;

    let first = run.stop_watchdog().await;
    let stopped = now();

    until_dead(&[first], 10).await;
    // Two leases later the command still works.
    scene.resource.until_later("work", stopped, 10_000).await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
    until_dead(&[group], 5).await;
}

#[tokio::test]
async fn a_signal_to_all_processes_ends_no_watchdog() {
    let (_scene, run, _) = working("signalled-watchdog", &[]).await;
    let watchdog = run.watchdog();

    for signal in ["TERM", "INT", "HUP", "QUIT", "USR1", "ALRM", "TSTP"] {
        signal_to(watchdog, signal).await;
    }
    pause(500).await;

    assert!(lives(watchdog));
}

#[tokio::test]
async fn the_successor_of_a_watchdog_knows_the_deadlines() {
    for is_stopped in [false, true] {
        let (scene, run, group) = working("new-watchdog", &["--lease", "5s"]).await;

        if is_stopped {
            until_dead(&[run.stop_watchdog().await], 10).await;
        } else {
            let first = run.watchdog();
            signal_to(first, "KILL").await;
            until_dead(&[first], 5).await;
            found("next watchdog", 5, async || run.find_watchdog()).await;
        }
        run.signal("STOP").await;

        until_dead(&[group], 10).await;
        assert_worked_within_lease(&scene).await;
        run.signal("KILL").await;
    }
}

#[tokio::test]
async fn a_run_is_stopped_with_76_when_the_table_is_out_of_reach() {
    let scene = Scene::open("out-of-reach").await;
    let proxy = scene.table_proxy().await;
    let flags = ["--lease", "6s"];
    let (mut run, group) = at_work(&scene, &flags, |run| proxy.before(run)).await;

    proxy.close();

    // The group is dead before the lease ends. The lease is not renewed any more, and another run
    // frees it.
    until_dead(&[group], 20).await;
    assert_worked_within_lease(&scene).await;
    assert_eq!(run.code().await, 76);
}

#[tokio::test]
async fn a_holder_that_was_evicted_has_its_command_stopped_with_76() {
    let flags = ["--lease", "5s", "--grace", "1s"];
    let (scene, mut run, _) = working("evicted", &flags).await;

    scene.evict_all(&scene.lock).await;

    assert_eq!(run.code().await, 76);
}

/// Returns the `sleep` in a group.
async fn sleeper_of(group: u32) -> u32 {
    let find = async || {
        let mut all = children_of(group).into_iter();
        all.find(|(_, line)| line.starts_with("sleep 300"))
    };
    found("child of the command", 10, find).await.0
}
