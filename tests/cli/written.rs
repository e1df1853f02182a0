//! What the command writes: to a full disk, to a reader that has gone, and beside the lines of its
//! own command. What it takes that is no UTF-8.

use crate::support::{Inside, Scene, binary, lock, output};
use lockstep_tests::stack::until;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// Returns a file that takes nothing, as on a full disk.
fn full() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full")
        .into()
}

#[tokio::test]
async fn output_that_cannot_be_written_exits_with_73() {
    let scene = Scene::with_record("full-disk").await;
    let lock = scene.lock.as_str();
    for args in [
        &["locks", lock][..],
        &["locks", lock, "--output", "json"],
        &["show", lock],
        &["history", lock],
        &["doctor"],
        &["--help"],
        &["run", "--help"],
    ] {
        let mut command = scene.command(args);
        command.stdout(full()).stderr(Stdio::piped());
        // `output` would replace standard output by a pipe.
        let started = command.spawn().expect("a command that runs");
        let ended = started.wait_with_output().await.expect("its end");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(73), "{args:?}: {stderr}");
        assert!(
            stderr.contains("standard output cannot be written"),
            "{args:?}: {stderr}"
        );
    }
}

#[tokio::test]
async fn a_watch_ends_with_its_reader() {
    let scene = Scene::with_record("watch-reader").await;
    let mut watch = scene.command(&["watch", &scene.lock, "--every", "1s"]);
    watch.stdout(Stdio::piped()).kill_on_drop(true);
    let mut watch = watch.spawn().expect("lockstep");
    let mut lines = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    lines.next_line().await.expect("a line");

    drop(lines);

    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), watch.wait()).await;
    let status = ended.expect("its end").expect("a status");
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn help_into_a_pipe_that_is_not_read_ends() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let fill = "import fcntl, os; f = fcntl.fcntl(1, fcntl.F_GETFL); \
        fcntl.fcntl(1, fcntl.F_SETFL, f | os.O_NONBLOCK)\n\
        try:\n  while True: os.write(1, b'x' * 4096)\n\
        except BlockingIOError: fcntl.fcntl(1, fcntl.F_SETFL, f)";
    let mut fill_it = Command::new("python3");
    fill_it
        .args(["-c", fill])
        .stdout(writer.try_clone().expect("a pipe"));
    assert!(fill_it.status().await.expect("python3").success());
    let mut help = Command::new(binary());
    help.arg("--help").stdout(writer).stderr(Stdio::piped());

    let (code, stderr) = {
        let started = help.spawn().expect("lockstep");
        let ended = started.wait_with_output().await.expect("its end");
        (
            ended.status.code(),
            String::from_utf8_lossy(&ended.stderr).into_owned(),
        )
    };

    assert_eq!(code, Some(73), "{stderr}");
    drop(reader);
}

#[tokio::test]
async fn a_live_holder_is_evicted_by_the_flag_that_the_refusal_names() {
    let scene = Scene::open("evict-wording").await;
    let _run = scene.holder().await;
    let holder = scene.holder_name().await;
    let audit = ["--note", "a test", "--actor", "jo@example.com"];
    let evict = [&["evict", scene.lock.as_str(), &holder][..], &audit].concat();

    let (code, _, stderr) = output(scene.command(&evict)).await;

    assert_ne!(code, 0, "{stderr}");
    assert!(
        stderr.contains("give --force") && !stderr.contains("force: true"),
        "{stderr}"
    );
}

#[tokio::test]
async fn an_argument_of_a_program_may_have_any_bytes() {
    let inside = Inside::open().await;
    let bytes = OsStr::from_bytes(b"gr\xfc\xdfe");
    let mut run = inside.run(&lock("any-bytes"), &[], &["printf", "%s"]);
    run.arg(bytes).stdout(Stdio::piped()).stderr(Stdio::piped());

    let ended = run.output().await.expect("a command that runs");

    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    assert_eq!(ended.stdout, b"gr\xfc\xdfe");

    let mut wrong = inside.command(&["run", "--lock"]);
    wrong.arg(bytes).args(["--", "true"]);
    let (code, _, stderr) = output(wrong).await;
    assert_eq!((code, stderr.lines().count()), (64, 1), "{stderr}");
}

#[tokio::test]
async fn a_log_line_stands_on_a_line_of_its_own() {
    let scene = Scene::open("own-line").await;
    let script = "printf 'half of a line' >&2; touch $NOTES; trap 'printf more >&2; exit' TERM; \
        while :; do sleep 0.1; done";
    let mut run = crate::support::Started::with_stderr(scene.bash(&[], script));
    until("half of a line", 20, async || scene.notes.exists()).await;

    run.signal("TERM").await;
    let stderr = run.rest_of_stderr().await;

    assert_eq!(run.code().await, 143);
    let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    for event in ["lock_acquired", "signal_forwarded", "command_ended"] {
        let named = stderr.lines().filter(|line| line.contains(event));
        let named: Vec<_> = named.collect();
        assert!(named.len() == 1 && is_json(named[0]), "{event}: {stderr}");
    }
}
