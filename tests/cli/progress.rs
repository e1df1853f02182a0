//! The progress that a command reports.

use crate::support::{Inside, Scene, Started, assert_refused, binary, lock, output, scratch};
use lockstep_tests::stack::until;
use tokio::process::Command;

#[tokio::test]
async fn a_run_whose_progress_does_not_change_is_stopped_with_124() {
    let progress = format!("{} progress", binary().display());
    let files = format!(
        "for i in 1 2 3 4 5 6 7 8; do {progress} \"file $i\"; sleep 1; done; \
         echo 'by hand' > $LOCKSTEP_PROGRESS; echo done; sleep 300"
    );
    let same_word = "while :; do echo same > $LOCKSTEP_PROGRESS; sleep 0.1; done";
    // The second word exists for a moment only: each renewal finds the first.
    let two_words = "end=$((SECONDS + 9)); while test $SECONDS -lt $end; do \
        echo two > $LOCKSTEP_PROGRESS; echo one > $LOCKSTEP_PROGRESS; sleep 0.5; done";
    for (test, script, expected, printed) in [
        ("progress", files.as_str(), 124, "done\n"),
        ("same-word", same_word, 124, ""),
        ("two-words", two_words, 0, ""),
    ] {
        let scene = Scene::open(test).await;
        // The scripts report progress each second or more often. A busy machine may not run them for seconds.
        let flags = ["--no-progress", "6s", "--lease", "10s"];

        let (code, out, stderr) = output(scene.bash(&flags, script)).await;

        let ended = (code, out.as_str());
        assert_eq!(ended, (expected, printed), "{test}: {stderr}");
        let is_named = stderr.contains("--no-progress");
        assert_eq!(is_named, expected == 124, "{test}: {stderr}");
    }
}

#[tokio::test]
async fn the_record_tells_the_progress_of_a_run() {
    let scene = Scene::open("tells-progress").await;
    let script = "echo 'file 3 of 9' > $LOCKSTEP_PROGRESS; exec sleep 60";
    let _run = scene.start(&["--lease", "5s"], script);

    scene.until_progress(&scene.lock, "file 3 of 9").await;
}

#[tokio::test]
async fn progress_outside_of_a_run_is_an_error_of_one_line() {
    let inside = Inside::open().await;

    assert_refused(inside.command(&["progress", "1"]), 64, "LOCKSTEP_PROGRESS").await;
}

#[tokio::test]
async fn the_fifo_of_a_run_that_was_killed_is_removed_by_a_later_run() {
    let inside = Inside::open().await;
    let folder = scratch("fifos");
    std::fs::create_dir(&folder).expect("a folder");
    let fifos = || std::fs::read_dir(&folder).expect("a folder").count();
    let mut killed = inside.run(&lock("fifo-killed"), &[], &["sleep", "300"]);
    killed.env("TMPDIR", &folder);
    let mut killed = Started::of(killed);
    until("a FIFO", 20, async || fifos() == 1).await;
    killed.signal("KILL").await;
    killed.code().await;
    // Younger FIFOs may be about to be opened.
    let mut age = Command::new("bash");
    age.args(["-c", "touch -d '2 minutes ago' \"$0\"/*"])
        .arg(&folder);
    assert!(age.status().await.expect("bash").success());

    let mut later = inside.run(&lock("fifo-later"), &[], &["true"]);
    later.env("TMPDIR", &folder);
    let (code, _, stderr) = output(later).await;

    assert_eq!((code, fifos()), (0, 0), "{stderr}");
}
