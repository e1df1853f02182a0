//! What `lockstep run` exits with, what it hands to the command, and what it says about bad input; the
//! completions of shells and the manual pages.

use crate::support::{Inside, Started, binary, lock, output, scratch};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::unique;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[tokio::test]
async fn the_code_of_the_command_is_passed_through_and_its_outcome_is_remembered() {
    let inside = Inside::open().await;
    for (script, code, outcome) in [
        ("exit 0", 0, RunOutcome::Succeeded),
        ("exit 3", 3, RunOutcome::Failed),
        ("exit 255", 255, RunOutcome::Failed),
        ("kill -KILL $$", 137, RunOutcome::Failed),
        // A real-time signal: these have numbers, and no names.
        ("kill -36 $$", 164, RunOutcome::Failed),
    ] {
        let lock = lock("exit-code");

        let ended = output(inside.run(&lock, &[], &["sh", "-c", script])).await;

        assert_eq!(ended.0, code, "{script}: {}", ended.2);
        let run = inside.latest_run(&lock).await.expect("an entry");
        assert_eq!(run.outcome(), Some(outcome), "{script}");
        assert_eq!(inside.held(&lock).await, 0, "{script}");
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_run_gives_126_and_one_that_is_not_there_127() {
    let (inside, lock) = Inside::with_lock("not-there").await;

    let missing = output(inside.run(&lock, &[], &["/no/such/command"])).await;
    let folder = output(inside.run(&lock, &[], &["/tmp"])).await;

    assert_eq!(
        (missing.0, folder.0),
        (127, 126),
        "{} {}",
        missing.2,
        folder.2
    );
    assert!(missing.2.contains("/no/such/command"), "{}", missing.2);
    assert_eq!(inside.held(&lock).await, 0);
}

#[tokio::test]
async fn a_lock_that_is_held_is_skipped_with_0_and_refused_with_75_naming_the_holder() {
    let (inside, lock) = Inside::with_lock("held").await;
    let mut active = Started::of(inside.run(&lock, &[], &["sleep", "60"]));
    inside.until_held(&lock, 1, 10).await;

    let skipped = output(inside.run(&lock, &[], &["echo", "ran"])).await;
    let coded = output(inside.run(&lock, &["--skip-code", "9"], &["echo", "ran"])).await;
    let failed = output(inside.run(&lock, &["--overlap", "fail"], &["echo", "ran"])).await;

    assert_eq!((skipped.0, coded.0, failed.0), (0, 9, 75));
    for (_, out, stderr) in [skipped, coded, failed] {
        assert_eq!(out, "", "nothing was started");
        assert!(
            stderr.contains("host:") && stderr.contains("lease until"),
            "{stderr}"
        );
    }
    active.signal("TERM").await;
    assert_eq!(active.code().await, 143);
}

#[tokio::test]
async fn a_run_key_has_one_success_and_a_failure_may_be_tried_again() {
    let (inside, lock) = Inside::with_lock("run-key").await;
    let run = |script| inside.run(&lock, &["--run-key", "tick-1"], &["sh", "-c", script]);

    let failed = output(run("exit 5")).await.0;
    let succeeded = output(run("echo ran; exit 0")).await;
    let again = output(run("echo ran; exit 0")).await;

    assert_eq!((failed, succeeded.0, again.0), (5, 0, 0));
    assert_eq!((succeeded.1.as_str(), again.1.as_str()), ("ran\n", ""));
}

#[tokio::test]
async fn the_command_gets_the_grant_in_its_environment_and_the_streams_of_the_caller() {
    let (inside, lock) = Inside::with_lock("environment").await;
    let script = "cat; echo $LOCKSTEP_LOCK $LOCKSTEP_FENCING_TOKEN $LOCKSTEP_TABLE $LOCKSTEP_RUN_KEY; \
                  test -p $LOCKSTEP_PROGRESS && echo $LOCKSTEP_HOLDER >&2";
    let mut command = inside.run(&lock, &["--run-key", "k"], &["bash", "-c", script]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("a command");
    let mut stdin = child.stdin.take().expect("a pipe");
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"from the caller\n")
        .await
        .expect("a reader");
    drop(stdin);

    let ended = child.wait_with_output().await.expect("an end");

    let token = inside.record(&lock).await.expect("a record").last_token;
    let out = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(
        out,
        format!("from the caller\n{lock} {token} {} k\n", inside.table)
    );
    let run = inside.latest_run(&lock).await.expect("an entry");
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        stderr.lines().any(|line| line == run.holder.as_str()),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_run_within_another_one_gets_nothing_of_the_grant_around_it() {
    let inside = Inside::open().await;
    let (outer, inner) = (lock("outer"), lock("inner"));
    let within = crate::support::binary();
    let script = format!(
        "{} run --lock {inner} -- sh -c 'echo $LOCKSTEP_LOCK [$LOCKSTEP_RUN_KEY]'",
        within.display()
    );

    let flags = ["--run-key", "outer-key"];
    let (code, out, stderr) = output(inside.run(&outer, &flags, &["sh", "-c", &script])).await;

    assert_eq!((code, out), (0, format!("{inner} []\n")), "{stderr}");
}

#[tokio::test]
async fn a_bad_flag_or_environment_gives_one_line_that_names_it_and_starts_nothing() {
    let inside = Inside::open().await;
    let marker = scratch("never");
    let touch = ["touch", marker.to_str().expect("a path")];
    let lock = lock("bad-input");
    for (flags, named) in [
        (vec!["--lease", "4s"], "--lease"),
        (vec!["--lease", "60"], "--lease"),
        (vec!["--permits", "0"], "--permits"),
        (vec!["--permits", "101"], "--permits"),
        (vec!["--overlap", "queue!"], "--overlap"),
        (vec!["--run-key", "a b"], "--run-key"),
        (vec!["--max-wait", "5s"], "--max-wait"),
        (vec!["--max-queue", "5"], "--max-queue"),
        (vec!["--protect=maybe"], "--protect"),
        (vec!["--lock", "b"], "--lock"),
        (vec!["--sleep"], "--sleep"),
        (vec!["--table", ""], "LOCKSTEP_TABLE"),
        (vec!["--table", "lock table"], "--table"),
    ] {
        let (code, _, stderr) = output(inside.run(&lock, &flags, &touch)).await;

        assert_eq!(code, 64, "{flags:?}: {stderr}");
        assert!(
            stderr.contains(named) && stderr.lines().count() == 1,
            "{flags:?}: {stderr}"
        );
    }
    let mut no_table = inside.run(&lock, &[], &touch);
    no_table.env_remove("LOCKSTEP_TABLE");
    let (code, _, stderr) = output(no_table).await;
    assert_eq!(code, 64, "{stderr}");
    assert!(
        stderr.contains("LOCKSTEP_TABLE") && stderr.lines().count() == 1,
        "{stderr}"
    );
    assert!(!marker.exists());
    assert!(inside.record(&lock).await.is_none());
}

#[tokio::test]
async fn a_table_that_cannot_be_used_gives_69_and_starts_nothing() {
    let (inside, lock) = Inside::with_lock("no-table").await;
    let flags = ["--table", "no-such-table"];

    let (code, out, stderr) = output(inside.run(&lock, &flags, &["echo", "ran"])).await;

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
    for part in [
        "--overlap",
        "Exit codes",
        "143",
        "Example",
        "LOCKSTEP_FENCING_TOKEN",
    ] {
        assert!(help.1.contains(part), "{part} not in: {}", help.1);
    }
    assert!(none.2.contains("Usage"), "{}", none.2);
}

/// The subcommands that `lockstep --help` lists.
fn subcommands() -> Vec<String> {
    let help = Command::new(binary()).arg("--help").output().expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    let (_, list) = help.split_once("Commands:\n").expect("a list");
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_subcommand_is_completed_and_bash_accepts_its_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Command::new(binary()).args(["completions", shell]).output();
        let script = String::from_utf8(script.expect("a script").stdout).expect("text");
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
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique("man"));
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
