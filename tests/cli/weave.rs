//! `lockstep weave` and `unweave`: files, exit codes, and the Makefile of the example.

use crate::support::{binary, scratch};
use lockstep_tests::repository;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const DEFINITION: &str = "StartAt: Report\nStates:\n  Report: { Type: Pass, End: true } # all\n";

/// Makes a folder of a test's own.
fn folder() -> PathBuf {
    let folder = scratch("weave");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs `lockstep ARGS` in `folder` with `input`. Returns the exit code, standard output and
/// standard error.
fn lockstep(folder: &Path, args: &str, input: &str) -> (i32, String, String) {
    let mut command = Command::new(fs::canonicalize(binary()).expect("the binary"));
    command
        .current_dir(folder)
        .args(args.split(' '))
        .env_clear();
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("lockstep starts");
    let mut stdin = child.stdin.take().expect("its standard input");
    // A command that reads no input has closed it.
    stdin.write_all(input.as_bytes()).ok();
    drop(stdin);
    let output = child.wait_with_output().expect("lockstep ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let code = output.status.code().expect("an exit code");
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn a_file_is_woven_checked_and_unwoven() {
    let folder = folder();
    fs::write(folder.join("report.asl.yaml"), DEFINITION).unwrap();
    let woven = folder.join("woven.yaml");
    fs::write(&woven, "before").unwrap();
    fs::set_permissions(&woven, fs::Permissions::from_mode(0o640)).unwrap();

    for (args, printed) in [
        ("weave report.asl.yaml --lock nightly -o woven.yaml", ""),
        ("weave --check woven.yaml", ""),
        // Nothing changes.
        ("weave woven.yaml --lock nightly --diff", ""),
        ("unweave woven.yaml", DEFINITION),
    ] {
        let ended = lockstep(&folder, args, "");
        assert_eq!(ended, (0, printed.into(), String::new()), "{args}");
    }
    let mode = fs::metadata(&woven).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "permissions of the file before");
    let left = fs::read_dir(&folder).unwrap().count();
    assert_eq!(left, 2, "files in the folder");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn standard_input_is_woven_to_standard_output_and_a_diff_shows_both() {
    let folder = folder();
    let (code, woven, _) = lockstep(&folder, "weave - --lock nightly", DEFINITION);
    let (_, back, _) = lockstep(&folder, "unweave -", &woven);
    let (_, diff, _) = lockstep(&folder, "unweave - --diff", &woven);

    assert_eq!((code, back.as_str()), (0, DEFINITION));
    assert!(woven.starts_with("StartAt: Request Lock\n"), "{woven}");
    assert!(diff.starts_with("--- -\n+++ -\n@@ "), "{diff}");
    let change = "\n-StartAt: Request Lock\n+StartAt: Report\n";
    assert!(diff.contains(change), "{diff}");
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn each_failure_has_its_exit_code_and_one_line() {
    let folder = folder();
    fs::write(folder.join("plain.yaml"), DEFINITION).unwrap();
    fs::write(folder.join("bad.json"), "{\"StartAt\"").unwrap();
    let must =
        "must be 1 to 128 characters out of A-Z a-z 0-9 and . _ - / : (no spaces, ASCII only)";
    let bad_lock = format!("--lock is \"a,b\", but {must}");
    let overlap = "invalid value 'later' for '--overlap <POLICY>': unknown variant `later`, expected one of \
                   `skip`, `fail`, `queue`, `replace` (see `lockstep weave --help`)";
    let eof = "bad.json: line 1, column 10: EOF while parsing an object";
    let absent = "No such file or directory (os error 2)";
    let unread = format!("none.json cannot be read: {absent}");
    let unwritten = format!("no/such/folder cannot be written: {absent}");
    let not_woven = "plain.yaml: the definition is not woven";
    for (args, code, line) in [
        ("weave --check plain.yaml", 1, not_woven),
        ("weave plain.yaml --lock a,b", 64, &bad_lock),
        ("weave plain.yaml --lock a --overlap later", 64, overlap),
        ("weave bad.json --lock a", 65, eof),
        ("unweave plain.yaml", 65, not_woven),
        ("weave none.json --lock a", 66, &unread),
        (
            "weave plain.yaml --lock a -o no/such/folder",
            73,
            &unwritten,
        ),
    ] {
        let ended = lockstep(&folder, args, "");
        let expected = (code, String::new(), format!("lockstep: {line}\n"));
        assert_eq!(ended, expected, "{args}");
    }
    fs::remove_dir_all(&folder).ok();
}

#[test]
fn the_example_makefile_weaves_changed_files_under_their_names() {
    let folder = folder();
    let example = repository().join("infra/examples/weave/Makefile");
    fs::copy(example, folder.join("Makefile")).unwrap();
    fs::write(folder.join("nightly.asl.yaml"), DEFINITION).unwrap();
    let json = repository().join("statemachines/examples/nightly-etl.asl.json");
    fs::copy(json, folder.join("etl.asl.json")).unwrap();
    let binary = fs::canonicalize(binary()).expect("the binary");
    let make = |goal: &str| {
        let mut make = Command::new("make");
        make.current_dir(&folder).arg(goal).env("LOCKSTEP", &binary);
        let output = make.output().expect("make runs");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), stdout.matches(" weave ").count())
    };

    assert_eq!(make("all"), (true, 2), "both files");
    assert_eq!(make("all"), (true, 0), "nothing changed");
    assert!(make("check").0);
    for (woven, lock) in [
        ("nightly.woven.asl.yaml", "nightly"),
        ("etl.woven.asl.json", "etl"),
    ] {
        let text = fs::read_to_string(folder.join(woven)).unwrap();
        let command = format!("lockstep weave --lock {lock}\"");
        assert!(text.contains(&command), "{text}");
    }
    let woven = folder.join("etl.woven.asl.json");
    let older = fs::read_to_string(&woven)
        .unwrap()
        .replace("\"MaxAttempts\": 20", "\"MaxAttempts\": 2");
    fs::write(&woven, older).unwrap();
    assert!(!make("check").0, "a woven state was changed");
    fs::remove_dir_all(&folder).ok();
}
