//! A table whose answers are late, or lost.

use crate::support::{FaultProxy, Scene, Started, WRITE_ON};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{now, pause, until};
use std::process::Stdio;
use tokio::process::Command;

#[tokio::test]
async fn a_permit_that_was_granted_while_sigterm_came_is_given_back() {
    for overlap in ["skip", "wait"] {
        let scene = Scene::with_record("late-answer").await;
        let proxy = scene.table_proxy().await;
        proxy.hold_answers();
        let run = scene.run(&["--overlap", overlap], &["echo", "ran"]);
        let mut run = Started::of(proxy.before(run));
        scene.until_held(1, 20).await;

        run.signal("TERM").await;
        // The signal arrives before the answer.
        pause(300).await;
        proxy.open_again();

        assert_eq!(run.code().await, 143, "{overlap}");
        let left = (scene.held().await, scene.waiting().await);
        assert_eq!(left, (0, 0), "{overlap}");
    }
}

#[tokio::test]
async fn a_signal_ends_the_wait_for_a_table_that_gives_no_answer() {
    let scene = Scene::open("deaf-table").await;
    let proxy = scene.table_proxy().await;
    proxy.close();
    let mut run = Started::of(proxy.before(scene.run(&[], &["echo", "ran"])));
    pause(500).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
}

#[tokio::test]
async fn a_waiter_gives_up_after_max_wait_although_the_table_is_silent() {
    let scene = Scene::open("patience-cut-off").await;
    let proxy = scene.table_proxy().await;
    let _active = scene.holder().await;
    let flags = ["--overlap", "queue", "--max-wait", "3s"];
    let mut waiter = Started::of(proxy.before(scene.run(&flags, &["echo", "ran"])));
    scene.until_waiting(1, 10).await;

    proxy.close();

    assert_eq!(waiter.code().await, 75);
}

#[tokio::test]
async fn a_run_that_never_had_an_answer_gives_its_grant_back_and_ends_with_69() {
    gives_an_unseen_grant_back(|run| run).await;
}

/// Checks that a run whose grant was never answered releases it and ends with 69. `place` is where
/// the command runs.
pub(crate) async fn gives_an_unseen_grant_back(place: impl Fn(Command) -> Command) {
    let scene = Scene::with_record("unseen-grant").await;
    let proxy = scene.table_proxy().await;
    proxy.hold_answers();
    let run = proxy.before(scene.run(&["--lease", "10m"], &["echo", "ran"]));
    let mut run = Started::with_stderr(place(run));
    scene.until_held(1, 20).await;

    // Five requests of six seconds are given up. After that, new connections work.
    pause(38_000).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 69, "{}", run.rest_of_stderr().await);
    assert_eq!(scene.held().await, 0);
}

#[tokio::test]
async fn max_wait_ends_a_wait_for_a_silent_table_with_69() {
    gives_up_on_a_silent_table(|run| run).await;
}

/// Checks that `--max-wait` ends the wait for a table without answers. `place` is where the command
/// runs.
pub(crate) async fn gives_up_on_a_silent_table(place: impl Fn(Command) -> Command) {
    let scene = Scene::open("max-wait-silent").await;
    let proxy = scene.table_proxy().await;
    proxy.close();
    let flags = ["--overlap", "queue", "--max-wait", "4s"];
    let run = place(proxy.before(scene.run(&flags, &["echo", "ran"])));
    let begun = now();
    let mut run = Started::with_stderr(run);

    // A container may take seconds to start, and they are no part of the wait.
    proxy.first_connection().await;
    let asked = now();
    let code = run.code().await;
    let ended = now();

    let stderr = run.rest_of_stderr().await;
    assert_eq!(code, 69, "{stderr}");
    assert!(stderr.contains("--max-wait is over"), "{stderr}");
    assert!(ended - begun >= 4_000, "{} ms", ended - begun);
    assert!(ended - asked < 12_000, "{} ms", ended - asked);
}

#[tokio::test]
async fn a_permit_that_was_granted_unseen_before_the_wait_is_over_is_used() {
    let scene = Scene::with_record("max-wait-unseen").await;
    let proxy = scene.table_proxy().await;
    proxy.hold_answers();
    let flags = ["--overlap", "queue", "--max-wait", "3s", "--lease", "10m"];
    let mut run = Started::of(proxy.before(scene.run(&flags, &["true"])));
    scene.until_held(1, 20).await;

    pause(3_500).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 0);
    assert_eq!(scene.held().await, 0);
}

#[tokio::test]
async fn an_outage_of_a_fifth_of_the_lease_costs_nothing() {
    outlives_a_short_outage(|run| run).await;
}

/// Checks that an outage of a fifth of the lease costs nothing. `place` is where the command runs.
pub(crate) async fn outlives_a_short_outage(place: impl Fn(Command) -> Command) {
    let scene = Scene::open("short-outage").await;
    let proxy = scene.table_proxy().await;
    let run = proxy.before(scene.bash(&["--lease", "15s"], WRITE_ON));
    let mut run = Started::of(place(run));
    scene.resource.until_received("work", 1, 20).await;
    let first = scene.lease_end().await;
    until("a renewal", 20, async || scene.lease_end().await > first).await;

    // The next renewal is due after a third of the lease in the record, which is 13 s long.
    pause(4_000).await;
    proxy.close();
    pause(3_000).await;
    proxy.cut_connections();

    let renewed = now();
    scene.resource.until_later("work", renewed, 10_000).await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
}

#[tokio::test]
async fn a_connection_that_falls_silent_does_not_cost_a_short_lease() {
    let scene = Scene::open("silent-connection").await;
    let proxy = scene.table_proxy().await;
    let mut run = Started::of(proxy.before(scene.bash(&["--lease", "6s"], WRITE_ON)));
    scene.resource.until_received("work", 1, 20).await;

    proxy.cut_connections();

    let received = scene.resource.received("work").len();
    let more = received + 80;
    scene.resource.until_received("work", more, 20).await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
}

/// Starts a run through `proxy` whose command ends with 0 when its standard input is closed.
async fn ends_at_eof(scene: &Scene, proxy: &FaultProxy, flags: &[&str]) -> Started {
    let mut run = proxy.before(scene.run(flags, &["sh", "-c", "read -r go; exit 0"]));
    run.stdin(Stdio::piped());
    let run = Started::of(run);
    scene.until_held(1, 10).await;
    until("the command", 10, async || !run.children().is_empty()).await;
    run
}

#[tokio::test]
async fn a_success_is_recorded_after_an_outage_at_its_end() {
    let scene = Scene::open("late-success").await;
    let proxy = scene.table_proxy().await;
    let flags = ["--run-key", "tick-1", "--lease", "5m"];
    let mut run = ends_at_eof(&scene, &proxy, &flags).await;
    pause(500).await;

    proxy.close();
    run.close_stdin();
    // Longer than five tries without an answer take. What was sent in that time never arrives.
    pause(37_000).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 0);
    assert_eq!(scene.held().await, 0);
    let (code, out, _) = scene.echo(&["--run-key", "tick-1"]).await;
    assert_eq!((code, out.as_str()), (0, ""), "it has succeeded already");
}

#[tokio::test]
async fn sigterm_does_not_interrupt_the_release_of_a_success() {
    let scene = Scene::open("cut-release").await;
    let proxy = scene.table_proxy().await;
    let mut run = ends_at_eof(&scene, &proxy, &[]).await;

    proxy.close();
    run.close_stdin();
    until("the command's end", 10, async || run.children().is_empty()).await;
    pause(300).await;
    run.signal("TERM").await;
    pause(300).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 0);
    assert_eq!(scene.held().await, 0);
    assert_eq!(scene.outcome().await, Some(RunOutcome::Succeeded));
}

#[tokio::test]
async fn a_lost_lease_is_learned_from_the_table_without_any_event() {
    let scene = Scene::open("silent-bus").await;
    let bus = FaultProxy::open(&scene.stack.endpoint).await;
    bus.close();
    let mut command = scene.run(&["--lease", "9s"], &["sleep", "60"]);
    command.env("AWS_ENDPOINT_URL_EVENTBRIDGE", bus.endpoint());
    let mut run = Started::with_stderr(command);
    scene.until_held(1, 10).await;

    scene.evict_all(&scene.lock).await;
    let stderr = run.rest_of_stderr().await;

    assert_eq!(run.code().await, 76);
    assert!(stderr.contains("the lease is lost"), "{stderr}");
    assert!(!stderr.contains("no answer"), "{stderr}");
}

#[tokio::test]
async fn with_a_slow_table_a_run_works_and_still_stops() {
    let scene = Scene::open("slow-table").await;
    let proxy = scene.table_proxy().await;
    proxy.slow_down(2_500);
    let script = "echo $$ >> $NOTES; exec sleep 300";
    let mut run = Started::of(proxy.before(scene.bash(&["--lease", "60s"], script)));
    scene.ids(1).await;

    let asked = now();
    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    let took = now() - asked;
    eprintln!("figure: SIGTERM under a table that takes 2.5 s: the end is {took} ms later");
    assert_eq!(scene.held().await, 0, "it is released");
}
