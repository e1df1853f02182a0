//! Who reads the terminal, where there is one.

use crate::support::{Inside, lock};
use std::process::Stdio;
use tokio::process::Command;

/// What a script prints that runs on a terminal, with `hello` typed into it.
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

/// A command as a shell takes it.
fn quoted(command: &Command) -> String {
    let command = command.as_std();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| format!("'{}'", word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_terminal_is_given_to_the_command() {
    let inside = Inside::open().await;
    let lock = lock("terminal");
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
    goes_on_after_ctrl_z(&Inside::open().await, |run| run).await;
}

/// `place` is where the command runs.
pub(crate) async fn goes_on_after_ctrl_z(inside: &Inside, place: impl Fn(Command) -> Command) {
    // The command types Ctrl-Z for its own group, as a terminal does for the foreground.
    let script = "kill -TSTP 0; sleep 0.5; echo went on";
    let run = inside.run(&lock("ctrl-z"), &["--lease", "5s"], &["sh", "-c", script]);

    let (succeeded, out) = on_terminal(inside, &format!("{} 2>&1", quoted(&place(run)))).await;

    assert!(succeeded && out.contains("went on"), "{out}");
    assert!(out.contains("Ctrl-Z does not stop"), "{out}");
}
