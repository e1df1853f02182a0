//! Stops that do not come from `lockstep` alone: a signal to all processes at once, a command that
//! SIGTSTP has stopped, and `lockstep` within `lockstep`.

use crate::support::{Scene, signal_to, terminate};
use futures_util::future::join_all;
use lockstep_tests::stack::{pause, until};

/// Processes that note their ids, and work among them that saves after SIGTERM. `FIRST` is what the
/// first process does.
const SAVES: &str = r#"
    work() { echo '
        trap "echo '$1' TERM >> $NOTES.got; sleep 0.5; echo '$1' saved >> $NOTES.got; exit 0" TERM
        echo $BASHPID >> $NOTES
        while :; do sleep 300 & wait; done'
    }
    bash -c "$(work in)" & setsid bash -c "$(work out)" & FIRST"#;

/// What the first process does, and whether it gets SIGTERM before `lockstep`.
const FIRSTS: [(&str, bool); 3] = [
    ("exec sleep 300", true),
    ("exec sleep 300", false),
    ("trap 'exit 0' TERM; sleep 300 & wait", false),
];

/// Returns the lines that scripts have written to `$NOTES.got`, sorted.
fn got(scene: &Scene) -> Vec<String> {
    let got = std::fs::read_to_string(scene.notes.with_extension("got"));
    let mut lines: Vec<_> = got.unwrap_or_default().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Starts a run, sends SIGTERM to all its processes, and returns its exit code and what its work noted.
async fn stopped_at_once((first, is_first): (&str, bool)) -> (i32, Vec<String>) {
    let scene = Scene::open("all-at-once").await;
    let mut run = scene.start(&["--grace", "60s"], &SAVES.replace("FIRST", first));
    let work = scene.ids(2).await;
    // The first process sets its trap, or executes its program, after it has started the work.
    pause(500).await;
    let mut all: Vec<_> = run.children().into_iter().map(|(pid, _)| pid).collect();
    all.extend(work);
    let at = if is_first { all.len() } else { 0 };
    all.insert(at, run.pid);
    terminate(&all).await;
    (run.code().await, got(&scene))
}

#[tokio::test]
async fn a_sigterm_to_all_processes_at_once_lets_the_work_save() {
    for case in FIRSTS {
        let ends = join_all((0..6).map(|_| stopped_at_once(case))).await;

        for (code, got) in ends {
            assert_eq!(code, 143, "{case:?}: {got:?}");
            let saved = got.iter().filter(|line| line.ends_with("saved"));
            assert_eq!(saved.count(), 2, "{case:?}: {got:?}");
        }
    }
}

#[tokio::test]
async fn a_stopped_process_is_continued_to_handle_a_stop() {
    let scene = Scene::open("stopped").await;
    let mut run = scene.start(&["--grace", "20s"], &SAVES.replace("FIRST", FIRSTS[0].0));
    let work = scene.ids(2).await;
    // The signal goes to the group of the program: to its first process, and to the work in the
    // group.
    run.signal("TSTP").await;
    signal_to(work[0], "STOP").await;
    signal_to(work[1], "STOP").await;

    run.signal("TERM").await;

    assert_eq!(run.code().await, 143);
    assert_eq!(
        got(&scene),
        ["in TERM", "in saved", "out TERM", "out saved"]
    );
}

/// A run within a run, behind a shell that ends at SIGTERM.
const NESTED: &str = r#"
    $(readlink /proc/$PPID/exe) run --lock $LOCKSTEP_LOCK-inner --grace 60s -- bash -c '
        trap "echo TERM >> $NOTES.got" TERM
        echo $$ >> $NOTES
        until [ -e $NOTES.end ]; do sleep 0.05; done
        echo saved >> $NOTES.got'
    true"#;

async fn nested() -> (i32, Vec<String>) {
    let scene = Scene::open("nested").await;
    let mut run = scene.start(&["--grace", "60s"], NESTED);
    scene.ids(1).await;

    run.signal("TERM").await;
    until("SIGTERM", 20, async || !got(&scene).is_empty()).await;
    // A second SIGTERM would have come by now.
    pause(1_000).await;
    std::fs::write(scene.notes.with_extension("end"), "").expect("a file");

    (run.code().await, got(&scene))
}

#[tokio::test]
async fn the_command_of_a_nested_run_gets_one_sigterm() {
    for end in join_all((0..4).map(|_| nested())).await {
        assert_eq!(end, (143, vec!["TERM".to_owned(), "saved".to_owned()]));
    }
}
