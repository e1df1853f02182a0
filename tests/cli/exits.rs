//! The exit codes of `lockstep run`, what it hands to the command, and what it says about bad
//! input. The completions of shells, and the manual pages.

use crate::support::{Inside, Scene, assert_refused, binary, lock, output, scratch};
use lockstep::domain::RunOutcome;
use std::fs;
use std::process::{Command, Stdio};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn the_exit_code_is_passed_on_and_the_outcome_is_recorded() {
    for (script, code, outcome) in [
        ("exit 0", 0, RunOutcome::Succeeded),
        ("exit 3", 3, RunOutcome::Failed),
        ("exit 255", 255, RunOutcome::Failed),
        ("kill -KILL $$", 137, RunOutcome::Failed),
        // A real-time signal, which has a number and no name.
        ("kill -36 $$", 164, RunOutcome::Failed),
    ] {
        let scene = Scene::open("exit-code").await;

        let (ended, _, stderr) = output(scene.run(&[], &["sh", "-c", script])).await;

        assert_eq!(ended, code, "{script}: {stderr}");
        assert_eq!(scene.outcome().await, Some(outcome), "{script}");
        assert_eq!(scene.held().await, 0, "{script}");
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_run_gives_126_and_one_that_is_not_there_127() {
    let scene = Scene::open("not-there").await;
    for (program, expected) in [("/no/such/command", 127), ("/tmp", 126)] {
        let (code, _, stderr) = output(scene.run(&[], &[program])).await;

        assert_eq!(code, expected, "{stderr}");
        assert!(stderr.contains(program), "{stderr}");
        assert_eq!(scene.held().await, 0);
    }
}

#[tokio::test]
async fn a_held_lock_is_skipped_with_0_or_refused_with_75() {
    let scene = Scene::open("held").await;
    let mut active = scene.holder().await;

    for (flags, expected) in [
        (&[][..], 0),
        (&["--skip-code", "9"], 9),
        (&["--overlap", "fail"], 75),
    ] {
        let (code, out, stderr) = scene.echo(flags).await;

        assert_eq!((code, out.as_str()), (expected, ""), "nothing was started");
        let is_named = stderr.contains("host:") && stderr.contains("lease until");
        assert!(is_named, "{stderr}");
    }
    active.signal("TERM").await;
    assert_eq!(active.code().await, 143);
}

#[tokio::test]
async fn a_run_key_has_one_success_and_a_failure_may_be_tried_again() {
    let scene = Scene::open("run-key").await;
    let flags = ["--run-key", "tick-1"];

    let (failed, ..) = output(scene.bash(&flags, "exit 5")).await;
    let (succeeded, printed, _) = scene.echo(&flags).await;
    let (again, nothing, _) = scene.echo(&flags).await;

    assert_eq!((failed, succeeded, again), (5, 0, 0));
    assert_eq!((printed.as_str(), nothing.as_str()), ("ran\n", ""));
}

#[tokio::test]
async fn the_command_gets_the_grant_and_the_streams_of_the_caller() {
    let scene = Scene::open("environment").await;
    let script = "cat; echo $LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN $LOCKSTEP_TABLE $LOCKSTEP_RUN_KEY; \
                  test -p $LOCKSTEP_PROGRESS && echo $LOCKSTEP_HOLDER >&2";
    let mut command = scene.bash(&["--run-key", "k"], script);
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = streams.stderr(Stdio::piped()).spawn().expect("a command");
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = stdin.write_all(b"from the caller\n").await;
    written.expect("a reader");
    drop(stdin);

    let ended = child.wait_with_output().await.expect("an end");

    let (lock, table) = (&scene.lock, &scene.table);
    let token = scene.record().await.last_token;
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(out, format!("from the caller\n{lock} {token} {table} k\n"));
    let holder = scene.latest_run(lock).await.expect("an entry").holder;
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    let mut lines = stderr.lines();
    assert!(lines.any(|line| line == holder.as_str()), "{stderr}");
}

#[tokio::test]
async fn a_nested_run_gets_no_variable_of_the_outer_grant() {
    let scene = Scene::open("outer").await;
    let (inner, within) = (lock("inner"), binary());
    let script = format!(
        "{} run --lock {inner} -- sh -c 'echo $LOCKSTEP_LOCK [$LOCKSTEP_RUN_KEY]'",
        within.display()
    );

    let outer = scene.bash(&["--run-key", "outer-key"], &script);
    let (code, out, stderr) = output(outer).await;

    assert_eq!((code, out), (0, format!("{inner} []\n")), "{stderr}");
}

#[tokio::test]
async fn a_bad_flag_or_variable_is_named_in_one_line_and_starts_nothing() {
    let scene = Scene::open("bad-input").await;
    let script = "touch $NOTES";
    for (flags, named) in [
        (&["--lease", "4s"][..], "--lease"),
        (&["--lease", "60"], "--lease"),
        (&["--permits", "0"], "--permits"),
        (&["--permits", "101"], "--permits"),
        (&["--overlap", "queue!"], "--overlap"),
        (&["--run-key", "a b"], "--run-key"),
        (&["--max-wait", "5s"], "--max-wait"),
        (&["--max-queue", "5"], "--max-queue"),
        (&["--protect=maybe"], "--protect"),
        (&["--lock", "b"], "--lock"),
        (&["--sleep"], "--sleep"),
        (&["--table", ""], "LOCKSTEP_TABLE"),
        (&["--table", "lock table"], "--table"),
    ] {
        assert_refused(scene.bash(flags, script), 64, named).await;
    }
    let mut no_table = scene.bash(&[], script);
    no_table.env_remove("LOCKSTEP_TABLE");
    assert_refused(no_table, 64, "LOCKSTEP_TABLE").await;
    assert!(!scene.notes.exists());
    assert!(Inside::record(&scene, &scene.lock).await.is_none());
}

#[tokio::test]
async fn a_table_that_cannot_be_used_gives_69_and_starts_nothing() {
    let scene = Scene::open("no-table").await;

    let (code, out, stderr) = scene.echo(&["--table", "no-such-table"]).await;

    assert_eq!((code, out.as_str()), (69, ""), "{stderr}");
    assert!(stderr.contains("Lockstep.Denied"), "{stderr}");
}

#[tokio::test]
async fn help_is_a_page_and_no_command_is_an_error() {
    let inside = Inside::open().await;

    let help = output(inside.command(&["run", "--help"])).await;
    let none = output(inside.command(&[])).await;
    let version = output(inside.command(&["--version"])).await;

    assert_eq!((help.0, none.0, version.0), (0, 64, 0));
    let parts = [
        "--overlap",
        "Exit codes",
        "143",
        "Example",
        "LOCKSTEP_FENCING_TOKEN",
    ];
    for part in parts {
        assert!(help.1.contains(part), "{part} not in: {}", help.1);
    }
    assert!(none.2.contains("Usage"), "{}", none.2);
}

/// Returns what `lockstep ARGS` prints.
fn printed(args: &[&str]) -> String {
    let ended = Command::new(binary()).args(args).output();
    String::from_utf8(ended.expect("an end").stdout).expect("text")
}

/// Returns the subcommands that `lockstep --help` lists.
fn subcommands() -> Vec<String> {
    let help = printed(&["--help"]);
    let (_, list) = help.split_once("Commands:\n").expect("a list");
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn each_subcommand_is_completed_and_bash_accepts_its_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = printed(&["completions", shell]);
        for name in subcommands() {
            assert!(script.contains(&name), "{shell}: {name}");
        }
        if shell == "bash" {
            let accepted = Command::new(shell).args(["-n", "-c", &script]).status();
            assert!(accepted.expect("a shell").success(), "{shell}");
        }
    }
}

#[test]
fn each_subcommand_has_a_manual_page() {
    let folder = scratch("man");
    fs::create_dir_all(&folder).expect("a folder");

    let written = Command::new(binary()).arg("man").arg(&folder).status();

    assert!(written.expect("an exit").success());
    let names = subcommands();
    assert!(names.contains(&"pause".to_owned()), "{names:?}");
    for name in names {
        let page = fs::read_to_string(folder.join(format!("lockstep-{name}.1"))).expect(&name);
        assert!(page.contains(".SH DESCRIPTION"), "{name}");
    }
    fs::remove_dir_all(folder).ok();
}

#[tokio::test]
async fn with_without_lock_the_command_runs_as_if_started_directly() {
    let scene = Scene::open("without-lock").await;
    let script =
        "lockstep=$1; \"$lockstep\" progress half && echo \"$PPID ${LOCKSTEP_LOCK-none}\"; exit 7";
    for (value, flags, expected) in [
        ("yes", &[][..], Some(7)),
        ("", &["--without-lock"], Some(7)),
        ("0", &[], Some(64)),
        ("nope", &[], Some(64)),
    ] {
        let mut run = tokio::process::Command::new(binary());
        run.args(["run", "--lock", &scene.lock]).args(flags);
        run.args(["--", "sh", "-c", script, "sh"]).arg(binary());
        run.env_remove("LOCKSTEP_TABLE")
            .env("LOCKSTEP_WITHOUT_LOCK", value);

        let done = run.output().await.expect("a command");

        let out = String::from_utf8_lossy(&done.stdout);
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), expected, "{value:?} {err}");
        if expected == Some(7) {
            assert_eq!(out.trim(), format!("{} none", std::process::id()));
            assert!(err.contains("run_without_lock"), "{err}");
        }
    }
}
