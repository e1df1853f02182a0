//! `lockstep init`: its questions, the files that it writes, and what it refuses. ECS is that of the local
//! stack. `tests/adopter/prove` deploys the files.

use crate::support::{Inside, binary, lock, output, scratch};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

const CLUSTER: &str = "arn:aws:ecs:eu-west-1:111122223333:cluster/batch";
const TASK: &str = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report";
const ROLE: &str = "arn:aws:iam::111122223333:role/report";

/// All answers of an adopter without credentials.
fn flags() -> Vec<&'static str> {
    let flags = [
        ["--cluster", CLUSTER],
        ["--task-definition", TASK],
        ["--container", "app"],
        ["--task-role", ROLE],
        ["--subnets", "subnet-1,subnet-2"],
        ["--security-groups", "sg-1"],
        ["--schedule", "cron(0 6 * * ? *)"],
        ["--timezone", "Europe/Berlin"],
        ["--max-run", "2h"],
        ["--email", "oncall@example.com"],
    ];
    flags.concat()
}

/// Makes a repository of a test's own.
fn repository() -> PathBuf {
    let folder = scratch("init");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Returns `lockstep init ARGS` in `folder`, in a session without a terminal.
fn init(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("setsid");
    let binary = fs::canonicalize(binary()).expect("the binary");
    command.arg("--wait").arg(binary).arg("init").args(args);
    command.current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

/// Runs `lockstep init --offline` with the flags of [`flags`] and `more`.
async fn offline(folder: &Path, more: &[&str]) -> (i32, String, String) {
    let args = [&["--offline"], &flags()[..], more].concat();
    output(init(folder, &args)).await
}

/// Returns the texts of all files below `folder`.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(folder.join("lockstep")) else {
        return BTreeMap::new();
    };
    let text = |path: &Path| fs::read_to_string(path).expect("a text");
    let entries = entries.map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into(),
                text(&entry.path()),
            )
        })
        .collect()
}

#[tokio::test]
async fn without_aws_the_files_have_the_answers_of_the_flags() {
    let folder = repository();

    let (code, out, stderr) = offline(&folder, &[]).await;

    assert_eq!(code, 0, "{stderr}");
    let written = files(&folder);
    let names: Vec<_> = written.keys().collect();
    assert_eq!(
        names,
        ["report.samconfig.toml", "report.yaml", "samconfig.toml"]
    );
    for parameter in [
        &format!("TaskDefinitionArns={TASK}:*"),
        &format!("TaskRoleArns={ROLE}"),
        &format!("ClusterArns={CLUSTER}"),
        "AlarmEmail=oncall@example.com",
        "region = \"eu-west-1\"",
    ] {
        let text = &written["samconfig.toml"];
        assert!(text.contains(parameter), "{parameter}: {text}");
    }
    for default in [
        "\"cron(0 6 * * ? *)\"",
        "\"Europe/Berlin\"",
        "\"7200\"",
        "\"app\"",
    ] {
        let text = &written["report.yaml"];
        assert!(
            text.contains(&format!("    Default: {default}\n")),
            "{text}"
        );
    }
    for command in ["sam deploy ", "lockstep doctor ", "lockstep start report "] {
        assert!(out.lines().any(|line| line.starts_with(command)), "{out}");
    }
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn a_second_run_with_the_same_answers_changes_nothing() {
    let folder = repository();
    offline(&folder, &[]).await;
    let before = files(&folder);

    let (code, out, stderr) = offline(&folder, &[]).await;

    assert_eq!(code, 0, "{stderr}");
    let files_named = out.lines().filter(|line| line.starts_with("unchanged "));
    assert_eq!(files_named.count(), 3, "{out}");
    assert!(!out.contains("wrote"), "{out}");
    assert_eq!(files(&folder), before);
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn a_file_with_other_content_is_replaced_by_force_only() {
    let folder = repository();
    fs::create_dir(folder.join("lockstep")).unwrap();
    fs::write(folder.join("lockstep/report.yaml"), "mine\n").unwrap();

    let (refused, _, why) = offline(&folder, &[]).await;
    let after = files(&folder);
    let (forced, out, stderr) = offline(&folder, &["--force"]).await;

    assert_eq!(refused, 73, "{why}");
    assert!(
        why.contains("report.yaml: it exists with other content"),
        "{why}"
    );
    assert_eq!(after.len(), 1, "nothing else was written: {after:?}");
    assert_eq!(forced, 0, "{stderr}");
    assert!(out.starts_with("wrote"), "{out}");
    assert_ne!(files(&folder)["report.yaml"], "mine\n");
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn a_wrong_answer_names_flag_value_and_rule_and_writes_nothing() {
    let folder = repository();
    let other = TASK.replace("eu-west-1", "us-east-1");
    for (flag, value, rule) in [
        ("--cluster", "batch", "the ARN of one cluster"),
        (
            "--task-definition",
            "report:4",
            "the ARN of one task definition",
        ),
        ("--task-definition", &other, "of --cluster"),
        ("--subnets", "subnet-1, subnet-2", "without spaces"),
        (
            "--schedule",
            "cron(0 6 * * * *)",
            "with ? for one of the days",
        ),
        ("--timezone", "Berlin", "IANA"),
        ("--max-run", "2", "a duration"),
        ("--email", "oncall", "matches"),
        ("--task-role", "report", "IAM role ARNs"),
        ("--template", "none.yaml", "can be read"),
    ] {
        let mut args = flags();
        match args.iter().position(|arg| *arg == flag) {
            Some(at) => args[at + 1] = value,
            None => args.extend([flag, value]),
        }
        args.push("--offline");

        let (code, out, stderr) = output(init(&folder, &args)).await;

        assert_eq!((code, out.as_str()), (64, ""), "{flag}: {stderr}");
        let begin = format!("lockstep: {flag} is {value:?}, but must be ");
        assert!(stderr.starts_with(&begin), "{stderr}");
        assert!(
            stderr.contains(rule) && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
    assert_eq!(files(&folder), BTreeMap::new());
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn without_a_terminal_all_missing_flags_are_named_at_once() {
    let folder = repository();

    let (code, out, stderr) = output(init(&folder, &["--offline", "--cluster", CLUSTER])).await;

    let missing = "--task-definition, --container, --task-role, --subnets, --security-groups, --schedule, --max-run";
    let expected = format!("lockstep: no terminal to ask at: give {missing}\n");
    assert_eq!((code, out.as_str(), stderr), (64, "", expected));
    fs::remove_dir_all(&folder).ok();
}

/// `script` gives the command a terminal, at which the test types.
#[tokio::test]
async fn at_a_terminal_each_answer_is_asked_for_until_it_is_right() {
    let folder = repository();
    let binary = fs::canonicalize(binary()).expect("the binary");
    let mut script = std::process::Command::new("script");
    script.args([
        "-qefc",
        &format!("{} init --offline", binary.display()),
        "/dev/null",
    ]);
    script
        .current_dir(&folder)
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped());
    let mut started = script.stdout(Stdio::piped()).spawn().expect("script");
    let mut keyboard = started.stdin.take().expect("a keyboard");
    let typed = [
        CLUSTER,
        TASK,
        "app",
        ROLE,
        "subnet",
        "subnet-1",
        "sg-1",
        "rate(1 hour)",
        "",
        "90m",
        "",
        "nightly",
    ];

    for line in typed {
        writeln!(keyboard, "{line}").expect("a line");
    }
    let ended = tokio::task::spawn_blocking(move || started.wait_with_output());
    let ended = ended.await.unwrap().expect("its end");

    let shown = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{shown}");
    assert!(
        shown.contains("--subnets is \"subnet\", but must be"),
        "{shown}"
    );
    let text = &files(&folder)["nightly.yaml"];
    for default in ["nightly", "UTC", "5400"] {
        assert!(
            text.contains(&format!("    Default: \"{default}\"\n")),
            "{text}"
        );
    }
    assert!(!files(&folder)["samconfig.toml"].contains("AlarmEmail"));
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn ecs_gives_the_roles_and_refuses_what_is_not_there() {
    let inside = Inside::open().await;
    let folder = repository();
    let name = lock("init");
    let [cluster, task] =
        ["ClusterArn", "BatchTaskDefinitionArn"].map(|name| inside.stack.fixture(name));
    let run = async |cluster: &str, task: &str, more: &[&str]| {
        let answers = [
            "--subnets",
            "subnet-1",
            "--security-groups",
            "sg-1",
            "--schedule",
            "rate(1 hour)",
        ];
        let flags = [
            "--max-run",
            "1h",
            "--lock",
            &name,
            "--cluster",
            cluster,
            "--task-definition",
            task,
        ];
        let mut command = init(&folder, &[&answers[..], &flags, more].concat());
        command.envs(inside.environment());
        output(command).await
    };

    let (code, _, stderr) = run(cluster, task, &[]).await;
    let (_, name_of_cluster) = cluster.rsplit_once('/').expect("a cluster");
    let missing = run("nowhere", task, &[]).await;
    let unknown = run(name_of_cluster, "nothing:7", &[]).await;
    let other = run(cluster, task, &["--container", "other"]).await;

    assert_eq!(code, 0, "{stderr}");
    let text = &files(&folder)["samconfig.toml"];
    assert!(text.contains("role/lockstep-fixture-task,"), "{text}");
    assert!(
        text.contains("role/lockstep-fixture-task-execution"),
        "{text}"
    );
    let template = &files(&folder)[&format!("{name}.yaml")];
    assert!(template.contains("    Default: \"batch\"\n"), "{template}");
    for ((code, _, why), begin) in [
        (
            missing,
            "--cluster is \"nowhere\", but must be an active cluster",
        ),
        (
            unknown,
            "--task-definition is \"nothing:7\", but must be a task definition",
        ),
        (
            other,
            "--container is \"other\", but must be a container of the task definition: batch",
        ),
    ] {
        assert_eq!(code, 64, "{why}");
        assert!(why.starts_with(&format!("lockstep: {begin}")), "{why}");
    }
    fs::remove_dir_all(&folder).ok();
}
