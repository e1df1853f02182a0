//! `lockstep run` with a `credential_process` that takes longer than a request of a renewal may.

use crate::not_started::executable;
use crate::support::{Scene, scratch};
use lockstep_tests::stack::{pause, until};
use std::fs;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// Gives credentials for `LASTS` seconds, at once in its first call and after `TAKES` seconds in
/// each later one. Notes its begin, its end, and SIGTERM.
const GIVE: &str = r#"#!/bin/bash
    trap 'echo TERM >> $HOME/noted' TERM
    echo begin >> $HOME/noted
    if [ "$(grep -c begin $HOME/noted)" != 1 ]; then sleep TAKES & while ! wait; do :; done; fi
    echo end >> $HOME/noted
    until=$(date --utc --date "LASTS seconds" +%Y-%m-%dT%H:%M:%SZ)
    echo '{"Version":1,"AccessKeyId":"process","SecretAccessKey":"s","SessionToken":"t","Expiration":"'$until'"}'
"#;

/// Makes a home with a default profile whose process takes `takes` seconds and gives credentials
/// for `lasts` seconds.
fn home(takes: u64, lasts: u64) -> PathBuf {
    let home = scratch("home");
    fs::create_dir_all(home.join(".aws")).expect("a folder");
    let script = GIVE.replace("TAKES", &takes.to_string());
    let script = script.replace("LASTS", &lasts.to_string());
    let program = executable(script.as_bytes());
    let config = format!("[default]\ncredential_process = {program}\n");
    fs::write(home.join(".aws/config"), config).expect("a file");
    home
}

fn of_home(mut command: Command, home: &Path) -> Command {
    for variable in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        command.env_remove(variable);
    }
    command.env("HOME", home);
    command
}

/// Returns how often the process has noted its begin, its end, and SIGTERM.
fn noted(home: &Path) -> [usize; 3] {
    let noted = fs::read_to_string(home.join("noted")).unwrap_or_default();
    ["begin", "end", "TERM"].map(|word| noted.lines().filter(|line| *line == word).count())
}

#[tokio::test]
async fn slow_credentials_keep_the_lease_and_come_from_one_process() {
    let scene = Scene::open("slow-process").await;
    let home = home(3, 15);
    let flags = ["--lease", "6s"];
    let command = of_home(scene.run(&flags, &["sleep", "25"]), &home);

    let (code, _, stderr) = crate::support::output(command).await;

    let [begun, ended, _] = noted(&home);
    assert_eq!(code, 0, "{stderr}");
    assert!((3..=10).contains(&begun), "{begun}");
    assert!(begun - ended <= 1, "{begun} {ended}");
}

#[tokio::test]
async fn a_run_says_after_six_seconds_that_it_waits_for_credentials() {
    let scene = Scene::open("late-process").await;
    let home = home(0, 60);
    let slow = "#!/bin/bash\nsleep 9\necho '{\"Version\":1,\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"s\"}'\n";
    let program = executable(slow.as_bytes());
    let config = format!("[default]\ncredential_process = {program}\n");
    fs::write(home.join(".aws/config"), config).expect("a file");
    let command = of_home(scene.run(&[], &["true"]), &home);

    let (code, _, stderr) = crate::support::output(command).await;

    let late: Vec<_> = stderr
        .lines()
        .filter(|line| line.contains("credentials_late"))
        .collect();
    assert_eq!((code, late.len()), (0, 1), "{stderr}");
    assert!(
        late[0].contains("credential_process") && late[0].contains("within 6 s"),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_run_ends_without_waiting_for_its_credential_process() {
    let scene = Scene::open("process-at-work").await;
    let home = home(8, 60);
    let flags = ["--lease", "6s", "--grace", "60s"];
    let command = of_home(
        scene.bash(&flags, "echo $$ >> $NOTES; exec sleep 300"),
        &home,
    );
    let mut run = crate::support::Started::of(command);
    until("a second process", 20, async || noted(&home)[0] == 2).await;

    run.signal("TERM").await;
    let code = run.code().await;
    let at_end = noted(&home);
    until("its end", 40, async || noted(&home)[1] == 2).await;

    assert_eq!(code, 143);
    assert_eq!(at_end, [2, 1, 0], "the run waits for no process");
    pause(100).await;
    assert_eq!(noted(&home), [2, 2, 0]);
}
