//! Processes that outlive the first process of a worker's command.

use super::{Scene, Worker};
use crate::support::{HOPPER, found, scratch, terminate};
use lockstep_tests::stack::{pause, until};
use std::fs;

/// Has its work in a session of its own. The message `a` makes no progress, and its first process
/// ends at SIGTERM. Any other message reports its progress.
const APART: &str = r#"
    read -r name
    export name
    [ $LOCKSTEP_RECEIVE_COUNT = 1 ] || exit 0
    setsid sh -c '
        trap "echo term >> $NOTES.$name" TERM
        echo up >> $NOTES.$name
        until [ -e $NOTES.$name.end ]; do sleep 0.05; done
        echo saved >> $NOTES.$name' &
    if [ "$name" = a ]; then exec sleep 300; fi
    until [ -e $NOTES.$name.end ]; do echo $RANDOM > $LOCKSTEP_PROGRESS; sleep 0.2; done
    wait"#;

/// Returns the command's first process, once it sleeps.
async fn first_process(worker: &Worker) -> u32 {
    let find = async || {
        let mut children = worker.process.children().into_iter();
        children.find(|(_, line)| line.starts_with("sleep"))
    };
    found("first process", 30, find).await.0
}

#[tokio::test]
async fn a_stop_signals_all_processes_of_its_message_and_of_no_other() {
    let scene = Scene::new("rest", 9).await;
    let notes = scratch("rest");
    let path = notes.to_str().expect("a path of plain letters");
    let noted = |name: &str| fs::read_to_string(format!("{path}.{name}")).unwrap_or_default();
    let let_end = |name: &str| fs::write(format!("{path}.{name}.end"), "").expect("a file");
    let flags = [
        "--concurrency",
        "2",
        "--no-progress",
        "5s",
        "--grace",
        "60s",
    ];
    let worker = scene.worker_with(&flags, APART, ("NOTES", path));
    scene.send("b").await;
    scene.send("a").await;

    until("SIGTERM", 60, async || noted("a") == "up\nterm\n").await;
    let of_other = noted("b");
    let_end("a");
    until("a state", 10, async || noted("a").ends_with("saved\n")).await;
    worker.until_logged("command failed", 10).await;
    let_end("b");
    scene.until_empty(60).await;
    worker.end().await;

    assert_eq!(of_other, "up\n");
    assert_eq!(noted("a"), "up\nterm\nsaved\n");
    assert_eq!(noted("b"), "up\nsaved\n");
}

#[tokio::test]
async fn a_worker_that_shuts_down_gives_remaining_processes_its_grace() {
    let scene = Scene::new("rest-shutdown", 9).await;
    let notes = scratch("rest");
    let path = notes.to_str().expect("a path of plain letters");
    let noted = || fs::read_to_string(format!("{path}.a")).unwrap_or_default();
    let worker = scene.worker_with(&["--grace", "12s"], APART, ("NOTES", path));
    scene.send("a").await;
    until("work", 30, async || noted() == "up\n").await;

    worker.process.signal("TERM").await;
    until("SIGTERM", 20, async || noted() == "up\nterm\n").await;
    fs::write(format!("{path}.a.end"), "").expect("a file");
    worker.until_logged("given back", 10).await;

    assert_eq!(noted(), "up\nterm\nsaved\n");
}

#[tokio::test]
async fn a_sigterm_to_worker_and_command_leaves_the_grace_to_the_rest() {
    let scene = Scene::new("rest-at-once", 9).await;
    let notes = scratch("rest");
    let path = notes.to_str().expect("a path of plain letters");
    let noted = || fs::read_to_string(format!("{path}.a")).unwrap_or_default();
    let worker = scene.worker_with(&["--grace", "60s"], APART, ("NOTES", path));
    scene.send("a").await;
    let sleeps = || {
        let children = worker.process.children().into_iter();
        children.filter(|(_, line)| line.starts_with("sleep"))
    };
    until("work", 30, async || {
        noted() == "up\n" && sleeps().count() == 1
    })
    .await;

    let first = sleeps().next().expect("a first process").0;
    terminate(&[first, worker.process.pid]).await;
    // Without a stop, the remaining process is killed within a second.
    pause(2_000).await;
    fs::write(format!("{path}.a.end"), "").expect("a file");
    worker.until_logged("given back", 10).await;

    assert_eq!(noted(), "up\nsaved\n");
}

/// Its first process answers SIGTERM with 0, at once or after a second. Its work saves for a while.
const ENDS_WELL: &str = r#"
    [ $LOCKSTEP_RECEIVE_COUNT = 1 ] || exit 0
    setsid bash -c '
        trap "sleep $SAVING; echo saved >> $NOTES; exit" TERM
        echo $$ >> $NOTES.ids
        while :; do sleep 0.1; done' &
    trap "sleep $LATER; exit 0" TERM
    echo $$ >> $NOTES.ids
    while :; do sleep 0.1; done"#;

#[tokio::test]
async fn processes_left_by_a_successful_program_stop_with_the_worker() {
    // A message whose remaining processes need more than the grace of the worker is given back.
    for (later, saving, expected) in [
        ("0", "1", "command succeeded"),
        ("1", "2", "command succeeded"),
        ("0", "300", "given back"),
    ] {
        let scene = Scene::new("rest-ends-well", 9).await;
        let notes = scratch("rest-ends-well");
        let path = notes.to_str().expect("a path of plain letters");
        let script = ENDS_WELL
            .replace("$LATER", later)
            .replace("$SAVING", saving);
        let worker = scene.worker_with(&["--grace", "12s"], &script, ("NOTES", path));
        scene.send("a").await;
        let ids = || fs::read_to_string(format!("{path}.ids")).unwrap_or_default();
        until("work", 30, async || ids().lines().count() == 2).await;

        let mut all: Vec<_> = ids().lines().map(|id| id.parse().expect("an id")).collect();
        all.push(worker.process.pid);
        terminate(&all).await;
        worker.until_logged(expected, 20).await;

        let saved = fs::read_to_string(&notes).unwrap_or_default();
        assert_eq!(
            saved.is_empty(),
            expected == "given back",
            "{later} s, {saving} s"
        );
    }
}

#[tokio::test]
async fn a_process_that_forks_and_ends_all_the_time_dies_with_its_message() {
    let scene = Scene::new("rest-hopper", 9).await;
    let notes = scratch("rest-hopper");
    let path = notes.to_str().expect("a path of plain letters");
    let hops = || fs::read_to_string(format!("{path}.hops")).unwrap_or_default();
    // The other message is at work all the time.
    let script = format!(
        "read -r name; [ $name = a ] || exec sleep 300; export NOTES={path}; \
         perl -e \"$P\" & until [ -s $NOTES.hops ]; do sleep 0.1; done"
    );
    let worker = scene.worker_with(
        &["--concurrency", "2", "--grace", "1s"],
        &script,
        ("P", HOPPER),
    );
    scene.send("b").await;
    first_process(&worker).await;
    scene.send("a").await;
    worker.until_logged("command succeeded", 30).await;

    let at_end = hops();
    pause(2_500).await;

    assert!(!at_end.contains("ended"), "{at_end}");
    assert_eq!(hops(), at_end);
    worker.end().await;
}

#[tokio::test]
async fn a_command_that_leaves_nothing_behind_was_not_stopped_by_its_worker() {
    let scene = Scene::new("alone-at-once", 9).await;
    let worker = scene.worker(&["--grace", "60s"], "exec sleep 300");
    scene.send("a").await;
    let first = first_process(&worker).await;

    terminate(&[worker.process.pid, first]).await;

    worker.until_logged("command failed", 10).await;
}
