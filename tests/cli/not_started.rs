//! What keeps `lockstep` from starting anything: no region, no credentials, no program, no `/proc`.

use crate::support::{Inside, lock, output, scratch};
use tokio::process::Command;

const WORKER: [&str; 5] = [
    "worker",
    "--queue-url",
    "http://127.0.0.1:1/1/q",
    "--",
    "true",
];

/// Checks that each command ends with `code` and one line that names `part` where the variables
/// `without` are not set.
async fn assert_each_command_ends(without: &[&str], code: i32, part: &str) {
    let inside = Inside::open().await;
    for (name, command) in [
        ("run", inside.run(&lock("not-started"), &[], &["true"])),
        ("agent", inside.command(&["agent", "--", "true"])),
        ("worker", inside.command(&WORKER)),
        ("locks", inside.command(&["locks"])),
    ] {
        let (ended, stderr) = code_without(command, without, |command| command).await;

        assert_eq!(
            (ended, stderr.lines().count()),
            (code, 1),
            "{name}: {stderr}"
        );
        assert!(stderr.contains(part), "{name}: {stderr}");
    }
}

/// Exit code and standard error. `place` is where the command runs.
pub(crate) async fn code_without(
    mut command: Command,
    without: &[&str],
    place: impl Fn(Command) -> Command,
) -> (i32, String) {
    for name in without {
        command.env_remove(name);
    }
    // No instance role is asked for. It answers where a machine of EC2 runs the tests.
    command.env("AWS_EC2_METADATA_DISABLED", "true");
    let (code, _, stderr) = output(place(command)).await;
    (code, stderr)
}

#[tokio::test]
async fn without_a_region_each_command_ends_with_64_and_one_line() {
    assert_each_command_ends(&["AWS_REGION"], 64, "AWS_REGION").await;
}

#[tokio::test]
async fn without_credentials_each_command_ends_with_69_and_one_line() {
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    assert_each_command_ends(&keys, 69, "no AWS credentials").await;
}

#[tokio::test]
async fn a_file_that_is_no_program_gives_126_and_a_script_without_a_first_line_runs() {
    use std::os::unix::fs::PermissionsExt;
    let inside = Inside::open().await;
    // Data, machine code for another machine, and a program that was cut off at once.
    let other = [b"\x7fELF\x02\x01\x01", &[0; 11][..], &[0xff; 100]].concat();
    for (content, code) in [
        (&b"\0\x01\x02 garbage '(\n"[..], 126),
        (&other[..], 126),
        (&b"exit 7\n"[..], 7),
        (&b"#!/bin/sh\nexit 7\n"[..], 7),
    ] {
        let file = scratch("program");
        std::fs::write(&file, content).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, mode).expect("its mode");
        let program = [file.to_str().expect("a path")];

        let ended = output(inside.run(&lock("garbage"), &[], &program)).await;

        assert_eq!(ended.0, code, "{content:?}: {}", ended.2);
    }
}

#[tokio::test]
async fn without_proc_no_command_is_started_and_the_code_is_126() {
    let (inside, lock) = Inside::with_lock("no-proc").await;
    for flags in [
        vec!["run", "--lock", &lock, "--", "true"],
        vec!["agent", "--", "true"],
    ] {
        let hidden = "umount --lazy /proc && exec \"$@\"";
        let binary = crate::support::binary();
        let binary = binary.to_str().expect("a path");
        let words = [&["-m", "sh", "-c", hidden, "sh", binary][..], &flags].concat();
        let mut command = Command::new("unshare");
        command.args(words).env_clear().envs(inside.environment());

        let (code, _, stderr) = output(command).await;

        assert_eq!(code, 126, "{flags:?}: {stderr}");
        assert!(stderr.contains("/proc is not mounted"), "{stderr}");
    }
    assert!(inside.record(&lock).await.is_none());
}

#[tokio::test]
async fn a_once_key_that_is_nested_too_deep_is_a_wrong_flag() {
    let inside = Inside::open().await;
    let deep = "[".repeat(3_000);
    let flags = [&WORKER[..3], &["--once-key", &deep], &WORKER[3..]].concat();

    let (code, _, stderr) = output(inside.command(&flags)).await;

    assert_eq!(code, 64, "{}", stderr.get(..500).unwrap_or(&stderr));
    assert!(stderr.contains("--once-key"), "{stderr}");
}
