//! What keeps `lockstep` from starting anything: no Region, no credentials, no program, no `/proc`.

use crate::support::{Inside, assert_refused, binary, lock, output, scratch};
use tokio::process::Command;

const QUEUE: &str = "http://127.0.0.1:1/1/q";
const WORKER: [&str; 5] = ["worker", "--queue-url", QUEUE, "--", "true"];

/// Returns `command` without these variables and without an instance role, which would answer if a
/// machine of EC2 ran the tests.
pub(crate) fn stripped(mut command: Command, without: &[&str]) -> Command {
    for name in without {
        command.env_remove(name);
    }
    command.env("AWS_EC2_METADATA_DISABLED", "true");
    command
}

#[tokio::test]
async fn without_region_or_credentials_each_command_ends_with_one_line() {
    let inside = Inside::open().await;
    let keys = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    for (without, code, part) in [
        (&["AWS_REGION"][..], 64, "AWS_REGION"),
        (&keys, 69, "no AWS credentials"),
    ] {
        for command in [
            inside.run(&lock("not-started"), &[], &["true"]),
            inside.command(&["agent", "--", "true"]),
            inside.command(&WORKER),
            inside.command(&["locks"]),
        ] {
            assert_refused(stripped(command, without), code, part).await;
        }
    }
}

/// Makes an executable file with this content, and returns its path.
pub(crate) fn executable(content: &[u8]) -> String {
    use std::os::unix::fs::PermissionsExt;
    let file = scratch("program");
    std::fs::write(&file, content).expect("a file");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&file, mode).expect("its mode");
    file.to_str().expect("a path").to_owned()
}

#[tokio::test]
async fn a_file_that_is_no_program_gives_126_and_a_bare_script_runs() {
    let inside = Inside::open().await;
    // Data, and machine code for another machine.
    let other = [b"\x7fELF\x02\x01\x01", &[0; 11][..], &[0xff; 100]].concat();
    for (content, code) in [
        (&b"\0\x01\x02 garbage '(\n"[..], 126),
        (&other[..], 126),
        (&b"exit 7\n"[..], 7),
        (&b"#!/bin/sh\nexit 7\n"[..], 7),
    ] {
        let program = executable(content);

        let ended = output(inside.run(&lock("garbage"), &[], &[&program])).await;

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
        let binary = binary();
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
