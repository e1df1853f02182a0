//! Waiting in line from inside a container.

use crate::support::{FencedResource, Inside, Started, lock, output};
use lockstep_tests::stack::{pause, until};

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
        until("a place in line", 20, async || {
            inside.waiting(&lock).await == count
        })
        .await;
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
    until("a waiter", 20, async || inside.waiting(&lock).await == 1).await;
    // It does not notice that its turn comes, and most of its lease goes by.
    waiter.signal("STOP").await;
    active.signal("TERM").await;
    active.code().await;
    until("its turn", 10, async || inside.waiting(&lock).await == 0).await;
    pause(4_000).await;

    waiter.signal("CONT").await;
    resource.until_received("start late", 1, 10).await;

    let start = resource.received("start late")[0].at;
    let left = inside.lease_end(&lock).await.saturating_sub(start);
    assert!(left > 5_000, "{left} ms of 6 s are left at the start");
}

#[tokio::test]
async fn who_has_waited_long_enough_leaves_the_line_with_75() {
    let inside = Inside::open().await;
    let lock = lock("patience");
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
    let inside = Inside::open().await;
    let lock = lock("stopped-waiter");
    let active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    let mut waiter = Started::of(inside.run(&lock, &["--overlap", "queue"], &["echo", "ran"]));
    until("a waiter", 20, async || inside.waiting(&lock).await == 1).await;

    waiter.signal("TERM").await;

    assert_eq!(waiter.code().await, 143);
    assert_eq!(inside.waiting(&lock).await, 0);
    drop(active);
}

#[tokio::test]
async fn a_full_line_is_refused_with_75() {
    let inside = Inside::open().await;
    let lock = lock("full-line");
    let active = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    let flags = ["--overlap", "queue", "--max-queue", "1"];
    let waiter = Started::of(inside.run(&lock, &flags, &["true"]));
    until("a waiter", 20, async || inside.waiting(&lock).await == 1).await;

    let (code, _, stderr) = output(inside.run(&lock, &flags, &["true"])).await;

    assert_eq!(code, 75, "{stderr}");
    assert!(stderr.contains("maxQueue"), "{stderr}");
    drop((active, waiter));
}

#[tokio::test]
async fn a_semaphore_lets_as_many_in_as_it_has_permits() {
    let inside = Inside::open().await;
    let lock = lock("semaphore");
    let run = || inside.run(&lock, &["--permits", "2"], &["sleep", "300"]);
    let two = [Started::of(run()), Started::of(run())];
    inside.until_held(&lock, 2, 10).await;

    let third = output(inside.run(&lock, &["--permits", "2"], &["echo", "ran"])).await;

    assert_eq!((third.0, third.1.as_str()), (0, ""));
    drop(two);
}
