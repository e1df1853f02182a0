//! The duties of a container's first process, in containers that have next to nothing.

use super::image::LOCKSTEP;
use super::{Fleet, Work};
use crate::support::lock;
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::now;
use serde_json::json;

#[tokio::test]
async fn a_task_exits_with_the_code_of_its_batch_and_its_holder_names_it() {
    let fleet = Fleet::open().await;
    for (code, outcome) in [(0, RunOutcome::Succeeded), (3, RunOutcome::Failed)] {
        let lock = lock("task-code");
        let work = Work::guarded(&lock, &[]).seconds(0.2);

        let task = fleet.start(&work.env("BATCH_EXIT", code)).await;
        let ended = fleet.ended(&task, 30).await;

        assert_eq!(ended.code, code, "{:#?}", fleet.lines(&task).await);
        let run = fleet.latest_run(&lock).await.expect("an entry");
        let container = task.runtime_id(fleet.stack()).await;
        let holder = format!("{}#{container}/", task.arn);
        assert!(run.holder.as_str().starts_with(&holder), "{run:?}");
        assert_eq!(run.outcome(), Some(outcome), "{run:?}");
        assert_eq!(fleet.held(&lock).await, 0);
    }
}

#[tokio::test]
async fn stop_task_reaches_the_batch_and_its_end_frees_the_lock() {
    let (fleet, lock) = Fleet::with_lock("stop-task").await;
    let work = Work::guarded(&lock, &[]).seconds(120.0);
    let (task, _) = fleet.at_work(&work).await;

    let asked = now();
    fleet.stop(&task).await;
    fleet.until_held(&lock, 0, 20).await;
    let freed = now() - asked;
    let ended = fleet.ended(&task, 20).await;

    eprintln!("figure: StopTask: the lock is free {freed} ms later");
    assert_eq!(ended.code, 143, "{:#?}", fleet.lines(&task).await);
    fleet.until_logged(&task, "sigterm", 5).await;
    // The run itself released, and no check had to find it dead.
    assert_eq!(fleet.outcome(&lock).await, Some(RunOutcome::Failed));
}

#[tokio::test]
async fn a_batch_that_ignores_sigterm_is_killed_after_its_grace_and_not_by_ecs() {
    let (fleet, lock) = Fleet::with_lock("stubborn").await;
    let work = Work::guarded(&lock, &["--grace", "2s"])
        .seconds(120.0)
        .env("BATCH_IGNORE_SIGTERM", 1)
        .with("stopTimeout", 60);
    let (task, _) = fleet.at_work(&work).await;

    let asked = now();
    fleet.stop(&task).await;
    let ended = fleet.ended(&task, 50).await;

    let took = ended.at - asked;
    eprintln!("figure: --grace 2s: the task has ended {took} ms after StopTask");
    // The code would be 137 if ECS had killed the batch.
    assert_eq!(ended.code, 143, "{:#?}", fleet.lines(&task).await);
    assert_eq!(fleet.outcome(&lock).await, Some(RunOutcome::Failed));
    assert_eq!(fleet.held(&lock).await, 0);
}

#[tokio::test]
async fn orphans_become_children_of_lockstep_and_leave_no_zombies() {
    let (fleet, lock) = Fleet::with_lock("orphans").await;
    // Each `sh -c` in the middle ends at once. Its child then asks the kernel for its parent.
    let script = r#"
        tell='while read -r name value; do
            [ "$name" = PPid: ] && echo "{\"event\":\"orphan\",\"env\":{\"of\":\"$value\"}}"
        done < /proc/self/status'
        for i in 1 2 3 4 5 6 7 8 9 10; do
            /bin/sh -c "(sleep 0.3; $tell) &"
        done
        sleep 1
        zombies=$(awk '$3 == "Z"' /proc/[0-9]*/stat | busybox wc -l)
        echo "{\"event\":\"counted\",\"env\":{\"zombies\":\"$zombies\",\"first\":\"$PPID\"}}""#
        .replace("busybox", "/bin/busybox");

    let work = Work::guarded(&lock, &[]).script(&script);
    let task = fleet.start(&work).await;
    let ended = fleet.ended(&task, 30).await;

    let logged = fleet.logged(&task).await;
    let counted = logged.iter().find(|logged| logged.event == "counted");
    let counted = counted.unwrap_or_else(|| panic!("{logged:?}"));
    assert_eq!(ended.code, 0);
    let counts = ["first", "zombies"].map(|name| counted.value(name));
    assert_eq!(counts, ["1", "0"]);
    let orphans = logged.iter().filter(|logged| logged.event == "orphan");
    let parents: Vec<_> = orphans.map(|logged| logged.value("of")).collect();
    assert_eq!(parents, ["1"; 10], "{logged:?}");
}

/// In this container nothing else could end a batch that has lost its deadline.
#[tokio::test]
async fn a_first_process_replaces_a_stopped_watchdog() {
    let (fleet, lock) = Fleet::with_lock("first-watchdog").await;
    let script = r#"
        watchdog() {
            for process in /proc/[0-9]*; do
                case $(/bin/busybox tr '\0' ' ' < $process/cmdline) in
                    /proc/self/exe\ watchdog*) echo ${process#/proc/} ;;
                esac
            done
        }
        first=$(watchdog)
        kill -STOP "$first"
        sleep 8
        echo "{\"event\":\"watchdogs\",\"env\":{\"first\":\"$first\",\"now\":\"$(watchdog)\"}}""#;
    let work = Work::guarded(&lock, &["--lease", "6s"]).script(script);

    let task = fleet.start(&work).await;
    let ended = fleet.ended(&task, 40).await;

    let lines = fleet.lines(&task).await;
    assert_eq!(ended.code, 0, "{lines:#?}");
    let logged = fleet.logged(&task).await;
    let watchdogs = logged.first().unwrap_or_else(|| panic!("{lines:#?}"));
    let number = |name| watchdogs.value(name).parse::<u32>().expect("one watchdog");
    assert_ne!(number("first"), number("now"), "{watchdogs:?}");
    assert_eq!(fleet.outcome(&lock).await, Some(RunOutcome::Succeeded));
}

/// For a first process, the kernel ignores signals that it has no handler for.
#[tokio::test]
async fn signals_for_the_container_reach_the_batch() {
    let (fleet, lock) = Fleet::with_lock("first-signals").await;
    let signals = ["HUP", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "PWR"];
    let traps =
        signals.map(|name| format!("trap 'echo \"{{\\\"event\\\":\\\"{name}\\\"}}\"' {name}\n"));
    let script = format!(
        "{}echo '{{\"event\":\"start\"}}'; while :; do sleep 0.1; done",
        traps.concat()
    );
    let work = Work::guarded(&lock, &[]).script(&script);
    let (task, _) = fleet.at_work(&work).await;

    for name in signals {
        fleet.docker_with(&["kill", "--signal", name], &task).await;
        fleet.until_logged(&task, name, 10).await;
    }

    fleet.stop(&task).await;
    assert_eq!(fleet.ended(&task, 20).await.code, 143);
}

/// A daemon that has left the group of the batch, ignores SIGTERM, and writes ten lines a second.
const DAEMON: &str = r#"
    /bin/busybox setsid /bin/sh -c '
        trap "" TERM HUP
        while :; do
            at=${EPOCHREALTIME%.*}${EPOCHREALTIME#*.}
            echo "{\"at\":${at%???},\"event\":\"alive\"}"
            sleep 0.1
        done' &
    trap 'exit 0' TERM
    echo '{"event":"start"}'
    while :; do sleep 0.1; done"#;

#[tokio::test]
async fn a_daemon_of_the_batch_is_dead_before_the_next_one_starts() {
    let (fleet, lock) = Fleet::with_lock("first-daemon").await;
    let flags = ["--grace", "1s", "--overlap", "queue"];
    let work = Work::guarded(&lock, &flags);
    let (first, _) = fleet.at_work(&work.clone().script(DAEMON)).await;
    fleet.until_logged(&first, "alive", 10).await;
    let next = work.seconds(0.3);
    let next = fleet.start_in_line(&lock, &next, 1).await;

    fleet.stop(&first).await;
    let began = fleet.until_logged(&next, "start", 60).await.at;
    fleet.ended(&first, 30).await;

    let logged = fleet.logged(&first).await;
    let alive = logged.iter().filter(|logged| logged.event == "alive");
    let last = alive.map(|logged| logged.at).max().expect("a line");
    assert!(last < began, "alive at {last}, the next at {began}");
    assert_eq!(fleet.ended(&next, 30).await.code, 0);
}

#[tokio::test]
async fn a_missing_command_ends_the_task_with_127_and_frees_the_lock() {
    let (fleet, lock) = Fleet::with_lock("first-missing").await;
    let work = Work::guarded(&lock, &[]).with("command", json!(["/no/such/program"]));

    let task = fleet.start(&work).await;
    let ended = fleet.ended(&task, 30).await;

    assert_eq!(ended.code, 127, "{:#?}", fleet.lines(&task).await);
    assert_eq!(fleet.held(&lock).await, 0);
}

#[tokio::test]
async fn a_task_that_waits_long_enough_ends_with_75_and_leaves_its_place() {
    let (fleet, lock) = Fleet::with_lock("first-max-wait").await;
    let first = fleet.holder(&lock).await;
    let flags = ["--overlap", "queue", "--max-wait", "3s"];

    let task = fleet.start(&Work::guarded(&lock, &flags)).await;
    let ended = fleet.ended(&task, 40).await;

    assert_eq!(ended.code, 75, "{:#?}", fleet.lines(&task).await);
    assert!(fleet.logged(&task).await.is_empty(), "it starts nothing");
    let left = (fleet.held(&lock).await, fleet.waiting(&lock).await);
    assert_eq!(left, (1, 0));
    fleet.stop(&first).await;
    assert_eq!(fleet.ended(&first, 30).await.code, 143);
}

/// Returns where the pipe for progress is, in a container with a read-only root file system whose
/// user no file of the image knows. Checks that progress reaches the table through the pipe.
async fn pipe_of(fleet: &Fleet, change: impl Fn(Work) -> Work) -> String {
    let lock = lock("bare");
    let script = format!(
        "echo \"{{\\\"event\\\":\\\"pipe\\\",\\\"env\\\":{{\\\"is\\\":\\\"$LOCKSTEP_PROGRESS\\\"}}}}\"; \
         {LOCKSTEP} progress 'file 3 of 9' && sleep 60"
    );
    let work = Work::guarded(&lock, &["--lease", "10s"]).script(&script);
    let work = change(work.with("readonlyRootFilesystem", true));

    let task = fleet.start(&work).await;
    let logged = fleet.until_logged(&task, "pipe", 30).await;
    fleet.until_progress(&lock, "file 3 of 9").await;
    fleet.stop(&task).await;
    assert_eq!(fleet.ended(&task, 30).await.code, 143);
    logged.value("is").to_owned()
}

#[tokio::test]
async fn a_read_only_container_has_its_pipe_in_a_writable_folder() {
    let fleet = Fleet::open().await;
    let mount = json!([{ "sourceVolume": "scratch", "containerPath": "/tmp" }]);
    let scratch = |work: Work| {
        let work = work.of_task("volumes", json!([{ "name": "scratch" }]));
        work.with("mountPoints", mount.clone())
    };

    let nothing = pipe_of(&fleet, |work| work).await;
    let volume = pipe_of(&fleet, scratch).await;
    // A volume of ECS belongs to root; this user exists in no file of the image.
    let unprivileged = pipe_of(&fleet, |work| scratch(work).with("user", "1000:1000")).await;

    assert!(nothing.starts_with("/dev/shm/"), "{nothing}");
    assert!(volume.starts_with("/tmp/"), "{volume}");
    assert!(unprivileged.starts_with("/dev/shm/"), "{unprivileged}");
}
