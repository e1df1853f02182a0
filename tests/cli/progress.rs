//! What a command tells of its progress.

use crate::support::{Inside, Started, lock, output};
use lockstep_tests::stack::until;

#[tokio::test]
async fn a_run_goes_on_while_its_progress_changes_and_is_stopped_with_124_when_it_does_not() {
    let inside = Inside::open().await;
    let (lock, lockstep) = (lock("progress"), crate::support::binary());
    let script = format!(
        "for i in 1 2 3 4 5 6; do {} progress \"file $i\"; sleep 0.5; done; \
         echo 'by hand' > $LOCKSTEP_PROGRESS; echo done; sleep 300",
        lockstep.display()
    );
    let flags = ["--no-progress", "2s", "--lease", "5s"];

    let (code, out, stderr) = output(inside.run(&lock, &flags, &["bash", "-c", &script])).await;

    assert_eq!((code, out.as_str()), (124, "done\n"), "{stderr}");
    assert!(stderr.contains("--no-progress"), "{stderr}");
}

#[tokio::test]
async fn the_same_word_again_and_again_is_no_progress() {
    let (inside, lock) = Inside::with_lock("same-word").await;
    let script = "while :; do echo same > $LOCKSTEP_PROGRESS; sleep 0.1; done";

    let flags = ["--no-progress", "2s", "--lease", "5s"];
    let (code, _, stderr) = output(inside.run(&lock, &flags, &["bash", "-c", script])).await;

    assert_eq!(code, 124, "{stderr}");
}

#[tokio::test]
async fn two_words_in_turn_are_progress_whenever_the_renewals_look() {
    let (inside, lock) = Inside::with_lock("two-words").await;
    // The second one is there for a moment only: each renewal finds the first.
    let script = "end=$((SECONDS + 6)); while test $SECONDS -lt $end; do \
        echo two > $LOCKSTEP_PROGRESS; echo one > $LOCKSTEP_PROGRESS; sleep 0.5; done";

    let flags = ["--no-progress", "2s", "--lease", "5s"];
    let (code, _, stderr) = output(inside.run(&lock, &flags, &["bash", "-c", script])).await;

    assert_eq!(code, 0, "{stderr}");
}

#[tokio::test]
async fn the_record_tells_the_progress_of_a_run() {
    let (inside, lock) = Inside::with_lock("tells-progress").await;
    let script = "echo 'file 3 of 9' > $LOCKSTEP_PROGRESS; exec sleep 60";
    let run = Started::of(inside.run(&lock, &["--lease", "5s"], &["sh", "-c", script]));

    until("progress", 20, async || {
        let record = inside.record(&lock).await;
        record.is_some_and(|r| {
            let mut leases = r.holders.values();
            leases.any(|lease| lease.progress.as_deref() == Some("file 3 of 9"))
        })
    })
    .await;

    drop(run);
}

#[tokio::test]
async fn progress_outside_of_a_run_is_an_error_of_one_line() {
    let inside = Inside::open().await;

    let (code, _, stderr) = output(inside.command(&["progress", "1"])).await;

    assert_eq!((code, stderr.lines().count()), (64, 1), "{stderr}");
    assert!(stderr.contains("LOCKSTEP_PROGRESS"), "{stderr}");
}

#[tokio::test]
async fn the_fifo_of_a_run_that_was_killed_is_removed_by_a_later_run() {
    let inside = Inside::open().await;
    let folder = crate::support::scratch("fifos");
    std::fs::create_dir(&folder).expect("a folder");
    let fifos = || std::fs::read_dir(&folder).expect("a folder").count();
    let mut killed = inside.run(&lock("fifo-killed"), &[], &["sleep", "300"]);
    killed.env("TMPDIR", &folder);
    let mut killed = Started::of(killed);
    until("a FIFO", 20, async || fifos() == 1).await;
    killed.signal("KILL").await;
    killed.code().await;
    // Younger ones may be about to be opened.
    let mut age = tokio::process::Command::new("bash");
    age.args(["-c", "touch -d '2 minutes ago' \"$0\"/*"])
        .arg(&folder);
    assert!(age.status().await.expect("bash").success());

    let mut later = inside.run(&lock("fifo-later"), &[], &["true"]);
    later.env("TMPDIR", &folder);
    let (code, _, stderr) = output(later).await;

    assert_eq!((code, fifos()), (0, 0), "{stderr}");
}
