//! A table whose answers are late, or lost.

use crate::support::{FaultProxy, FencedResource, Inside, Started, WRITE_ON, lock, output};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{now, pause, until};
use tokio::process::Command;

/// `lockstep run` on the other side of a proxy.
async fn behind_proxy(
    inside: &Inside,
    lock: &str,
    flags: &[&str],
    command: &[&str],
) -> (FaultProxy, Command) {
    let proxy = inside.table_proxy().await;
    let mut run = inside.run(lock, flags, command);
    run.env("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint());
    (proxy, run)
}

#[tokio::test]
async fn a_permit_that_was_granted_while_sigterm_came_is_given_back() {
    let inside = Inside::open().await;
    for overlap in ["skip", "wait"] {
        let lock = lock("late-answer");
        // From then on there is a record, and one request takes a permit.
        output(inside.run(&lock, &[], &["true"])).await;
        let flags = ["--overlap", overlap];
        let (proxy, run) = behind_proxy(&inside, &lock, &flags, &["echo", "ran"]).await;
        proxy.hold_answers();
        let mut run = Started::of(run);
        inside.until_held(&lock, 1, 20).await;

        run.signal("TERM").await;
        // The signal is there before the answer.
        pause(300).await;
        proxy.open_again();

        assert_eq!(run.code().await, 143, "{overlap}");
        assert_eq!(inside.held(&lock).await, 0, "{overlap}");
        assert_eq!(inside.waiting(&lock).await, 0, "{overlap}");
    }
}

#[tokio::test]
async fn a_signal_ends_the_wait_for_a_table_that_gives_no_answer() {
    let (inside, lock) = Inside::with_lock("deaf-table").await;
    let (proxy, run) = behind_proxy(&inside, &lock, &[], &["echo", "ran"]).await;
    proxy.close();
    let mut run = Started::of(run);
    pause(500).await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
}

#[tokio::test]
async fn who_has_waited_long_enough_gives_up_although_the_table_gives_no_answer() {
    let (inside, lock) = Inside::with_lock("patience-cut-off").await;
    let active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    let flags = ["--overlap", "queue", "--max-wait", "3s"];
    let (proxy, run) = behind_proxy(&inside, &lock, &flags, &["echo", "ran"]).await;
    let mut waiter = Started::of(run);
    inside.until_waiting(&lock, 1, 10).await;

    proxy.close();

    assert_eq!(waiter.code().await, 75);
    drop(active);
}

#[tokio::test]
async fn a_run_that_never_had_an_answer_gives_its_grant_back_and_ends_with_69() {
    gives_an_unseen_grant_back(&Inside::open().await, |run| run).await;
}

/// `place` is where the command runs.
pub(crate) async fn gives_an_unseen_grant_back(
    inside: &Inside,
    place: impl Fn(Command) -> Command,
) {
    let lock = lock("unseen-grant");
    // From then on there is a record, and one request takes a permit.
    output(inside.run(&lock, &[], &["true"])).await;
    let flags = ["--lease", "10m"];
    let (proxy, run) = behind_proxy(inside, &lock, &flags, &["echo", "ran"]).await;
    let mut run = place(run);
    run.stderr(std::process::Stdio::piped());
    proxy.hold_answers();
    let mut run = Started::of(run);
    inside.until_held(&lock, 1, 20).await;

    // Five requests of six seconds are given up. After that connections work.
    pause(38_000).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 69, "{}", run.rest_of_stderr().await);
    assert_eq!(inside.held(&lock).await, 0);
}

#[tokio::test]
async fn a_wait_for_a_table_that_never_answers_ends_in_time_and_with_69() {
    gives_up_on_a_silent_table(&Inside::open().await, |run| run).await;
}

/// `place` is where the command runs.
pub(crate) async fn gives_up_on_a_silent_table(
    inside: &Inside,
    place: impl Fn(Command) -> Command,
) {
    let lock = lock("max-wait-silent");
    let flags = ["--overlap", "queue", "--max-wait", "4s"];
    let (proxy, run) = behind_proxy(inside, &lock, &flags, &["echo", "ran"]).await;
    let mut run = place(run);
    run.stderr(std::process::Stdio::piped());
    proxy.close();
    let begun = now();
    let mut run = Started::of(run);

    let code = run.code().await;
    let took = now() - begun;

    let stderr = run.rest_of_stderr().await;
    assert_eq!(code, 69, "{stderr}");
    assert!(stderr.contains("--max-wait is over"), "{stderr}");
    assert!((4_000..12_000).contains(&took), "{took} ms");
}

#[tokio::test]
async fn a_permit_that_was_granted_unseen_before_the_wait_is_over_is_used() {
    let (inside, lock) = Inside::with_lock("max-wait-unseen").await;
    output(inside.run(&lock, &[], &["true"])).await;
    let flags = ["--overlap", "queue", "--max-wait", "3s", "--lease", "10m"];
    let (proxy, run) = behind_proxy(&inside, &lock, &flags, &["true"]).await;
    proxy.hold_answers();
    let mut run = Started::of(run);
    inside.until_held(&lock, 1, 20).await;

    pause(3_500).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 0);
    assert_eq!(inside.held(&lock).await, 0);
}

#[tokio::test]
async fn an_outage_of_a_fifth_of_the_lease_costs_nothing() {
    outlives_a_short_outage(&Inside::open().await, |run| run).await;
}

/// `place` is where the command runs.
pub(crate) async fn outlives_a_short_outage(inside: &Inside, place: impl Fn(Command) -> Command) {
    let (lock, resource) = (lock("short-outage"), FencedResource::open().await);
    let flags = ["--lease", "15s"];
    let (proxy, mut run) = behind_proxy(inside, &lock, &flags, &["bash", "-c", WRITE_ON]).await;
    run.envs([resource.variable()]);
    let mut run = Started::of(place(run));
    resource.until_received("work", 1, 20).await;
    let first = inside.lease_end(&lock).await;
    until("a renewal", 20, async || {
        inside.lease_end(&lock).await > first
    })
    .await;

    // The next renewal is due after a third of the lease in the record, 13 s long.
    pause(4_000).await;
    proxy.close();
    pause(3_000).await;
    proxy.cut_connections();

    let renewed = now();
    let received = async || {
        let last = resource.received("work").last().map_or(0, |entry| entry.at);
        last > renewed + 10_000
    };
    until("work after the outage", 30, received).await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
}

#[tokio::test]
async fn a_connection_that_falls_silent_does_not_cost_a_short_lease() {
    let inside = Inside::open().await;
    let (lock, resource) = (lock("silent-connection"), FencedResource::open().await);
    let flags = ["--lease", "6s"];
    let (proxy, mut run) = behind_proxy(&inside, &lock, &flags, &["bash", "-c", WRITE_ON]).await;
    run.envs([resource.variable()]);
    let mut run = Started::of(run);
    resource.until_received("work", 1, 20).await;

    proxy.cut_connections();

    let received = resource.received("work").len();
    resource.until_received("work", received + 80, 20).await;
    run.signal("TERM").await;
    assert_eq!(run.code().await, 143);
}

#[tokio::test]
async fn a_success_is_written_down_after_an_outage_at_its_end() {
    let (inside, lock) = Inside::with_lock("late-success").await;
    let flags = ["--run-key", "tick-1", "--lease", "5m"];
    let script = "echo started; read -r go; exit 0";
    let (proxy, mut run) = behind_proxy(&inside, &lock, &flags, &["sh", "-c", script]).await;
    run.stdin(std::process::Stdio::piped());
    let mut run = Started::of(run);
    inside.until_held(&lock, 1, 10).await;
    pause(500).await;

    proxy.close();
    run.close_stdin();
    // Longer than five tries without an answer take. What was sent meanwhile never arrives.
    pause(37_000).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 0);
    assert_eq!(inside.held(&lock).await, 0);
    let key = ["--run-key", "tick-1"];
    let (code, out, _) = output(inside.run(&lock, &key, &["echo", "ran"])).await;
    assert_eq!((code, out.as_str()), (0, ""), "it has succeeded already");
}

#[tokio::test]
async fn a_signal_does_not_cut_the_release_of_a_success_off() {
    let (inside, lock) = Inside::with_lock("cut-release").await;
    let script = "read -r go; exit 0";
    let (proxy, mut run) = behind_proxy(&inside, &lock, &[], &["sh", "-c", script]).await;
    run.stdin(std::process::Stdio::piped());
    let mut run = Started::of(run);
    inside.until_held(&lock, 1, 10).await;
    until("the command", 10, async || !run.children().is_empty()).await;

    proxy.close();
    run.close_stdin();
    until("the command's end", 10, async || run.children().is_empty()).await;
    pause(300).await;
    run.signal("TERM").await;
    pause(300).await;
    proxy.cut_connections();

    assert_eq!(run.code().await, 0);
    assert_eq!(inside.held(&lock).await, 0);
    let entry = inside.latest_run(&lock).await.expect("an entry");
    assert_eq!(entry.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test]
async fn a_lost_lease_is_learned_from_the_table_without_any_event() {
    let (inside, lock) = Inside::with_lock("silent-bus").await;
    let bus = FaultProxy::open(&inside.stack.endpoint).await;
    bus.close();
    let mut command = inside.run(&lock, &["--lease", "9s"], &["sleep", "60"]);
    command
        .env("AWS_ENDPOINT_URL_EVENTBRIDGE", bus.endpoint())
        .stderr(std::process::Stdio::piped());
    let mut run = Started::of(command);
    inside.until_held(&lock, 1, 10).await;

    inside.evict_all(&lock).await;
    let stderr = run.rest_of_stderr().await;

    assert_eq!(run.code().await, 76);
    assert!(stderr.contains("the lease is lost"), "{stderr}");
    assert!(!stderr.contains("no answer"), "{stderr}");
}
