//! Waiting in the queue from inside a container, and two runs of one lock as active and standby.

use crate::support::{Scene, Started, lives, signal_to, until_dead};
use lockstep_tests::stack::{now, pause, until};

/// `say WHAT` in a script writes a line to the resource, under the lock and the fencing token.
const SAY: &str = "exec 3<>/dev/tcp/127.0.0.1/$LEDGER; \
    say() { echo \"$LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN $1\" >&3; read -r answer <&3; }; ";

/// Starts a run that may wait in the queue, with its name in `$NAME`.
fn queued(scene: &Scene, flags: &[&str], name: &str, work: &str) -> Started {
    let flags = [&["--overlap", "queue"], flags].concat();
    let mut command = scene.bash(&flags, &format!("{SAY}{work}"));
    command.env("NAME", name);
    Started::of(command)
}

/// Starts a run that waits, and waits until `count` runs are in the queue.
async fn waiter(scene: &Scene, flags: &[&str], name: &str, work: &str, count: usize) -> Started {
    let waiter = queued(scene, flags, name, work);
    scene.until_waiting(count, 20).await;
    waiter
}

#[tokio::test]
async fn waiters_run_one_by_one_in_the_order_of_their_arrival() {
    let scene = Scene::open("line").await;
    let mut first = scene.holder().await;
    let work = "say \"start $NAME\"; sleep 0.3; say \"end $NAME\"";
    let mut line = Vec::new();
    for name in ["a", "b", "c"] {
        line.push(waiter(&scene, &[], name, work, line.len() + 1).await);
    }

    first.signal("TERM").await;
    first.code().await;
    for run in &mut line {
        assert_eq!(run.code().await, 0);
    }

    let entries = scene.resource.entries().into_iter();
    let received: Vec<_> = entries.map(|entry| entry.what).collect();
    let in_order = ["start a", "end a", "start b", "end b", "start c", "end c"];
    assert_eq!(received, in_order);
    assert_eq!((scene.held().await, scene.waiting().await), (0, 0));
}

#[tokio::test]
async fn a_turn_that_is_taken_up_late_begins_with_a_whole_lease() {
    let scene = Scene::open("late-turn").await;
    let mut active = scene.holder().await;
    let work = "say start; sleep 300";
    let waiter = waiter(&scene, &["--lease", "8s"], "late", work, 1).await;
    // The waiter does not notice its turn, and most of its lease passes.
    waiter.signal("STOP").await;
    active.signal("TERM").await;
    active.code().await;
    scene.until_waiting(0, 10).await;
    pause(4_000).await;

    waiter.signal("CONT").await;
    scene.resource.until_received("start", 1, 10).await;

    let start = scene.resource.received("start")[0].at;
    let left = scene.lease_end().await.saturating_sub(start);
    assert!(left > 5_000, "{left} ms of 6 s are left at the start");
}

#[tokio::test]
async fn a_waiter_leaves_the_queue_with_75_after_max_wait() {
    let scene = Scene::open("patience").await;
    let _active = scene.holder().await;

    // `wait` is another name of `queue`.
    let flags = ["--overlap", "wait", "--max-wait", "1s"];
    let (code, out, stderr) = scene.echo(&flags).await;

    assert_eq!((code, out.as_str()), (75, ""), "{stderr}");
    assert_eq!(scene.waiting().await, 0);
}

#[tokio::test]
async fn a_waiter_that_is_stopped_leaves_nothing_behind() {
    let scene = Scene::open("stopped-waiter").await;
    let _active = scene.holder().await;
    let mut waiter = waiter(&scene, &[], "a", "say start", 1).await;

    waiter.signal("TERM").await;

    assert_eq!(waiter.code().await, 143);
    assert_eq!(scene.waiting().await, 0);
}

#[tokio::test]
async fn a_full_queue_is_refused_with_75_or_skipped() {
    let scene = Scene::open("full-line").await;
    let _active = scene.holder().await;
    let _waiter = waiter(&scene, &["--max-queue", "1"], "a", "say start", 1).await;

    for (policy, expected) in [("fail", 75), ("skip", 9)] {
        let flags = [
            "--overlap",
            "queue",
            "--max-queue",
            "1",
            "--when-queue-full",
            policy,
            "--skip-code",
            "9",
        ];
        let (code, out, stderr) = scene.echo(&flags).await;

        assert_eq!((code, out.as_str()), (expected, ""), "{stderr}");
        assert!(stderr.contains("maxQueue 1"), "{stderr}");
    }
}

#[tokio::test]
async fn a_lock_has_as_many_holders_as_permits_and_no_more() {
    let scene = Scene::open("semaphore").await;
    let flags = ["--permits", "2"];
    let _two = [(); 2].map(|()| scene.start(&flags, "sleep 300"));
    scene.until_held(2, 10).await;

    let (code, out, _) = scene.echo(&flags).await;

    assert_eq!((code, out.as_str()), (0, ""));
}

/// Writes `start` once, and then its name ten times a second.
const WRITE: &str = "say start; while :; do say $NAME; sleep 0.1; done";
const LEASE: u64 = 6_000;

/// Starts an active run, and a standby that waits.
async fn pair(scene: &Scene) -> (Started, Started) {
    let flags = ["--lease", "6s", "--grace", "1s"];
    let active = queued(scene, &flags, "active", WRITE);
    scene.resource.until_received("active", 2, 20).await;
    let standby = waiter(scene, &flags, "standby", WRITE, 1).await;
    (active, standby)
}

#[tokio::test]
async fn after_a_kill_the_standby_starts_within_the_lease_and_a_second() {
    let scene = Scene::open("standby-kill").await;
    let (active, mut standby) = pair(&scene).await;

    let killed = now();
    active.signal("KILL").await;
    scene.resource.until_received("start", 2, 30).await;

    let start = &scene.resource.received("start")[1];
    let last = scene.resource.last("active").expect("work");
    let took = start.at - killed;
    eprintln!("figure: killed, the standby starts {took} ms later");
    assert!(start.at <= killed + LEASE + 1_000, "the promise of --lease");
    assert!(last.at < start.at, "never both");
    assert!(start.token > last.token);
    standby.signal("TERM").await;
    assert_eq!(standby.code().await, 143);
}

#[tokio::test]
async fn a_frozen_run_that_goes_on_late_cannot_write_and_loses_its_command() {
    let scene = Scene::open("standby-stop").await;
    let (mut active, _standby) = pair(&scene).await;
    let command = active.children()[0].0;
    let (guard, group) = ([active.pid, active.watchdog()], format!("-{command}"));

    // As if the whole container, or its host, were paused.
    for pid in guard {
        signal_to(pid, "STOP").await;
    }
    signal_to(&group, "STOP").await;
    scene.resource.until_received("standby", 3, 30).await;
    let resumed = now();
    let late = || {
        let entries = scene.resource.received("active").into_iter();
        entries
            .filter(|entry| entry.at >= resumed)
            .collect::<Vec<_>>()
    };
    // The command continues first: fencing has to stop what it does before its guards wake up.
    signal_to(&group, "CONT").await;
    until("late write", 10, async || !late().is_empty()).await;
    // The guards end as soon as they continue, and one of them may have ended by now.
    for pid in guard.into_iter().filter(|pid| lives(*pid)) {
        signal_to(pid, "CONT").await;
    }

    assert_eq!(active.code().await, 76);
    until_dead(&[command], 5).await;
    assert!(late().iter().all(|entry| !entry.taken), "{:?}", late());
    let standby = scene.resource.received("standby");
    assert!(standby.iter().all(|entry| entry.taken));
}

#[tokio::test]
async fn the_standby_starts_at_once_when_the_active_one_ends() {
    let scene = Scene::open("standby-end").await;
    let (mut active, _standby) = pair(&scene).await;

    active.signal("TERM").await;
    let code = active.code().await;
    let ended = now();
    scene.resource.until_received("start", 2, 30).await;

    assert_eq!(code, 143);
    let wait = scene.resource.received("start")[1].at.saturating_sub(ended);
    eprintln!("figure: released, the standby starts {wait} ms later");
}
