//! A standard error that is not read, full or closed, and the control of a terminal.

use crate::support::{
    Inside, Scene, Started, WRITE_ON, children_of, lock, output, scratch, until_dead,
};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::until;
use std::process::Stdio;
use tokio::process::Command;

/// Fills standard error.
const FILL: &str = "head -c 1000000 /dev/zero >&2 &";

/// Starts a writer under a lease of 5 s whose log has no reader.
async fn unread(scene: &Scene, place: impl Fn(Command) -> Command) -> Started {
    let command = scene.bash(&["--lease", "5s"], &format!("{FILL} {WRITE_ON}"));
    let run = Started::with_stderr(place(command));
    scene.resource.until_received("work", 3, 20).await;
    run
}

#[tokio::test]
async fn a_log_without_a_reader_does_not_hold_up_renewals() {
    renews_unread(|run| run).await;
}

/// Checks that a run whose log has no reader renews its lease. `place` is where the command runs.
pub(crate) async fn renews_unread(place: impl Fn(Command) -> Command) {
    let scene = Scene::open("unread").await;
    let mut run = unread(&scene, place).await;

    // After the first lease and the next one.
    let first = scene.lease_end().await;
    scene.resource.until_later("work", first, 6_000).await;

    run.signal("TERM").await;
    run.rest_of_stderr().await;
    assert_eq!(run.code().await, 143);
    assert_eq!(scene.held().await, 0);
}

#[tokio::test]
async fn a_log_that_is_read_late_says_how_many_lines_are_missing() {
    let scene = Scene::open("read-late").await;
    let script = "trap '' TERM; head -c 1000000 /dev/zero >&2 & exec sleep 300";
    let mut run = Started::with_stderr(scene.bash(&["--grace", "5m"], script));
    until("the command", 20, async || {
        let mut children = run.children().into_iter();
        children.any(|(_, line)| line.starts_with("sleep"))
    })
    .await;

    // Each signal logs a line, and there is room for a thousand.
    let flood = "for i in $(seq 3000); do kill -TERM $0; sleep 0.001; done";
    let mut bash = Command::new("bash");
    let bash = bash.args(["-c", flood, &run.pid.to_string()]);
    assert!(bash.status().await.expect("bash").success());
    run.signal("USR1").await;
    let stderr = run.rest_of_stderr().await;

    let mut lines = stderr.lines();
    let missing = lines.find(|line| line.contains("lines are missing"));
    // Bytes of the command may precede the line, because they have no line break.
    let line = missing
        .expect("a line that says it")
        .trim_start_matches('\0');
    let lost: serde_json::Value = serde_json::from_str(line).expect("JSON");
    assert!(lost["lost"].as_u64().is_some_and(|lost| lost > 1), "{line}");
}

#[tokio::test]
async fn a_log_without_a_reader_does_not_hold_up_the_watchdog() {
    let scene = Scene::open("unread-watchdog").await;
    let run = unread(&scene, |run| run).await;
    let group = run.children()[0].0;

    run.signal("STOP").await;

    until_dead(&[group], 10).await;
    let last = scene.resource.last("work").expect("work").at;
    let end = scene.lease_end().await;
    assert!(last < end, "{last} {end}");
}

#[tokio::test]
async fn a_log_whose_reader_is_gone_ends_nothing() {
    let scene = Scene::open("no-reader").await;
    let run = scene.run(&["--lease", "5s"], &["sleep", "8"]);
    let mut run = Started::with_stderr(run);
    run.close_stderr();

    assert_eq!(run.code().await, 0);

    assert_eq!(scene.outcome().await, Some(RunOutcome::Succeeded));
    assert_eq!(scene.held().await, 0);
}

#[tokio::test]
async fn a_group_dies_with_its_guard_although_the_log_has_no_reader() {
    let scene = Scene::open("no-reader-killed").await;
    let script = format!("sleep 300 & {FILL} {WRITE_ON}");
    let mut run = Started::with_stderr(scene.bash(&[], &script));
    run.close_stderr();
    scene.resource.until_received("work", 3, 20).await;
    let group = run.children()[0].0;
    let mut all: Vec<_> = children_of(group).into_iter().map(|(pid, _)| pid).collect();
    all.push(group);

    run.signal("KILL").await;

    assert_eq!(run.code().await, 137);
    until_dead(&all, 5).await;
}

/// Returns a standard error that is full, whose reader stays and does not read.
fn full() -> (std::io::PipeReader, Stdio) {
    use std::io::Write;
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    // A pipe holds 64 KiB, and takes more in whole pages only.
    writer.write_all(&[0; 65_536]).expect("room");
    (reader, Stdio::from(writer))
}

#[tokio::test]
async fn a_full_standard_error_holds_up_no_exit_code() {
    let scene = Scene::open("full-stderr").await;
    let fifo = scratch("no-such-fifo");
    let mut progress = scene.command(&["progress", "1"]);
    progress.env("LOCKSTEP_PROGRESS", &fifo);
    for (mut command, expected) in [
        (scene.run(&[], &["no-such-command"]), 127),
        (scene.run(&[], &["/tmp"]), 126),
        (scene.command(&["run", "--sleep"]), 64),
        (scene.command(&[]), 64),
        (scene.command(&["progress", "1"]), 64),
        (progress, 1),
    ] {
        let (_reader, stderr) = full();
        command.stderr(stderr);
        let mut run = Started::of(command);

        let code = tokio::time::timeout(std::time::Duration::from_secs(10), run.code()).await;

        assert_eq!(code.ok(), Some(expected));
    }
    assert_eq!(scene.held().await, 0);
}

#[tokio::test]
async fn bad_input_has_its_exit_code_although_stderr_is_closed() {
    let inside = Inside::open().await;
    let mut run = Started::with_stderr(inside.run("", &[], &["true"]));
    run.close_stderr();

    assert_eq!(run.code().await, 64);
    let (code, ..) = output(inside.command(&["run", "--sleep"])).await;
    assert_eq!(code, 64);
}

/// Runs a script on a terminal, with `hello` typed into it. Returns whether it succeeded, and what
/// it printed.
async fn on_terminal(inside: &Inside, script: &str) -> (bool, String) {
    let mut command = Command::new("script");
    command
        .args(["-qec", script, "/dev/null"])
        .env_clear()
        .envs(inside.environment())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().expect("script");
    let mut stdin = child.stdin.take().expect("a pipe");
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"hello\n")
        .await
        .expect("a reader");
    let ended = child.wait_with_output().await.expect("an end");
    drop(stdin);
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    (ended.status.success(), out)
}

/// Returns a command as a shell reads it.
fn quoted(command: &Command) -> String {
    let command = command.as_std();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| format!("'{}'", word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_terminal_is_given_to_the_command() {
    let (inside, lock) = Inside::with_lock("terminal").await;
    let run = inside.run(&lock, &[], &["sh", "-c", "read line; echo got $line"]);

    let (succeeded, out) = on_terminal(&inside, &quoted(&run)).await;

    assert!(succeeded && out.contains("got hello"), "{out}");
}

#[tokio::test]
async fn a_terminal_is_given_back_after_the_command() {
    let inside = Inside::open().await;
    let run = quoted(&inside.run(&lock("terminal-back"), &[], &["true"]));
    let script = format!("{run}; read line && echo got $line");

    let (succeeded, out) = on_terminal(&inside, &script).await;

    assert!(succeeded && out.contains("got hello"), "{out}");
}

#[tokio::test]
async fn ctrl_z_does_not_stop_a_command_under_its_lease() {
    goes_on_after_ctrl_z(|run| run).await;
}

/// Checks that Ctrl-Z stops neither a command nor the rest of a stop. `place` is where the command
/// runs.
pub(crate) async fn goes_on_after_ctrl_z(place: impl Fn(Command) -> Command) {
    let inside = Inside::open().await;
    // The command sends the signal of Ctrl-Z to its own group, as a terminal does to the
    // foreground: while its first process lives, and in the rest of a stop.
    let type_it = "kill -TSTP 0; sleep 0.5; echo went on";
    // What is left ignores the signal of the stop from its first moment on.
    let left = format!("trap '' TERM; (sleep 1; {type_it}) & trap - TERM");
    let rest = format!("{left}; kill -TERM $PPID; sleep 300");
    for script in [type_it, &rest] {
        let command = ["bash", "-c", &script.replace('\'', "\"")];
        let run = inside.run(&lock("ctrl-z"), &["--lease", "5s"], &command);

        let (_, out) = on_terminal(&inside, &format!("{} 2>&1", quoted(&place(run)))).await;

        assert!(out.contains("went on"), "{out}");
        assert!(out.contains("Ctrl-Z does not stop"), "{out}");
    }
}
