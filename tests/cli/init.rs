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
        ["--launch-type", "FARGATE"],
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
    let parameter = |name: &str, value: &str| format!("    '{name}=\"{value}\"',");
    for line in [
        &parameter("TaskDefinitionArns", &format!("{TASK}:*")),
        &parameter("TaskRoleArns", ROLE),
        &parameter("ClusterArns", CLUSTER),
        &parameter("AlarmEmail", "oncall@example.com"),
        "region = \"eu-west-1\"",
        "stack_name = \"lockstep\"",
    ] {
        let text = &written["samconfig.toml"];
        assert!(text.lines().any(|of| of == line), "{line}: {text}");
    }
    for line in [
        &parameter("ScheduleExpression", "cron(0 6 * * ? *)"),
        &parameter("ScheduleTimezone", "Europe/Berlin"),
        &parameter("MaxRunSeconds", "7200"),
        &parameter("ContainerName", "app"),
        "stack_name = \"lockstep-report\"",
        "confirm_changeset = true",
    ] {
        let text = &written["report.samconfig.toml"];
        assert!(text.lines().any(|of| of == line), "{line}: {text}");
    }
    assert!(!written["report.yaml"].contains("    Default:"));
    for command in [
        "# the stack of Lockstep; --offline has not read it",
        "export AWS_REGION=eu-west-1",
        "sam deploy ",
        "lockstep doctor ",
        "lockstep start report ",
    ] {
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
async fn a_further_lock_is_added_to_the_stack() {
    let folder = repository();
    offline(&folder, &[]).await;
    let config = folder.join("lockstep/samconfig.toml");
    let before = fs::read_to_string(&config).unwrap();
    let by_hand = before.replace(
        "= [\n",
        "= [\n    \"KmsKeyArn=arn:aws:kms:eu-west-1:111122223333:key/1\",\n",
    );
    fs::write(&config, &by_hand).unwrap();
    let mut args = flags();
    let task = format!("{TASK}-b");
    args[3] = &task;
    args.push("--offline");

    let (code, out, stderr) = output(init(&folder, &args)).await;

    assert_eq!(code, 0, "{stderr}");
    assert!(out.contains("added to  ./lockstep/samconfig.toml"), "{out}");
    let text = &files(&folder)["samconfig.toml"];
    assert_eq!(*text, by_hand.replace(":*", &format!(":*,{task}:*")));
    let names: Vec<_> = files(&folder).into_keys().collect();
    assert_eq!(names.len(), 5, "{names:?}");
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn a_second_schedule_of_a_lock_has_a_name_of_its_own() {
    let folder = repository();
    offline(&folder, &[]).await;
    let before = files(&folder);

    let more = ["--lock", "report", "--name", "report-at-noon"];
    let (code, out, stderr) = offline(&folder, &more).await;

    assert_eq!(code, 0, "{stderr}");
    let after = files(&folder);
    assert!(
        before
            .iter()
            .all(|(name, text)| after.get(name) == Some(text))
    );
    let config = &after["report-at-noon.samconfig.toml"];
    assert!(
        config.contains("stack_name = \"lockstep-report-at-noon\""),
        "{config}"
    );
    assert!(config.contains("LockName=\"report\""), "{config}");
    assert!(
        out.contains("lockstep start report --stack lockstep --schedule lockstep-report-at-noon "),
        "{out}"
    );
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn what_would_deploy_elsewhere_or_to_other_tasks_is_refused() {
    let folder = repository();
    offline(&folder, &[]).await;
    let before = files(&folder);
    for (more, exit, rule) in [
        (
            &["--stack", "other"][..],
            73,
            "it is for the stack lockstep",
        ),
        (&["--email", "none"], 64, "--email is \"none\", but must be"),
        (
            &["--name", "b", "--launch-type", "EC2", "--public-ip"],
            64,
            "--public-ip is given",
        ),
        (
            &["none-of-that-name"],
            64,
            "DIRECTORY is \"none-of-that-name\"",
        ),
    ] {
        let mut args = flags();
        // The flags of the case stand for those of the scene.
        for flag in more.iter().filter(|flag| flag.starts_with("--")) {
            if let Some(at) = args.iter().position(|arg| arg == flag) {
                args.drain(at..at + 2);
            }
        }
        let args = [&["--offline"], &args[..], more].concat();

        let (code, out, stderr) = output(init(&folder, &args)).await;

        assert_eq!((code, out.as_str()), (exit, ""), "{more:?}: {stderr}");
        assert!(stderr.contains(rule), "{stderr}");
    }
    assert_eq!(files(&folder), before);
    assert!(!folder.join("none-of-that-name").exists());
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
        (
            "--schedule",
            "at(2027-03-01T06:00:00+01:00)",
            "at(yyyy-mm-ddThh:mm:ss)",
        ),
        ("--schedule", "cron(0,,5 3 * * ? *)", "another MINUTES"),
        ("--schedule", "at(20270301T0600)", "at(yyyy-mm-ddThh:mm:ss)"),
        ("--schedule", "rate(+5  minutes)", "rate(VALUE UNIT)"),
        ("--schedule", "at(2020-03-01T06:00:00)", "still to come"),
        ("--timezone", "Berlin", "IANA"),
        ("--timezone", "europe/berlin", "IANA"),
        (
            "--launch-type",
            "MANAGED_INSTANCES",
            "FARGATE, EC2 or CLUSTER",
        ),
        ("--stack", "a.b", "letters, digits and hyphens"),
        ("--lock", "samconfig", "another name than samconfig"),
        ("--lock", "SAMCONFIG", "another name than samconfig"),
        ("--name", "a/b", "letters, digits and hyphens"),
        ("--max-run", "2", "a duration"),
        ("--email", "oncall", "one address, such as"),
        ("--task-role", "report", "IAM role ARNs"),
        (
            "--task-role",
            "arn:aws:iam::999900001111:role/report",
            "of --cluster",
        ),
        (
            "--task-role",
            "arn:aws-cn:iam::111122223333:role/report",
            "of --cluster",
        ),
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
        let begin = format!("lockstep: {flag} is {value:?}");
        assert!(stderr.starts_with(&begin), "{stderr}");
        assert!(
            stderr.contains(", but must ") && stderr.contains(rule) && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
    assert_eq!(files(&folder), BTreeMap::new());
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn the_commands_name_the_stack_of_the_files_and_no_other() {
    let folder = repository();
    let args = [&["--offline", "--stack", "lockstep"], &flags()[..]].concat();
    let mut command = init(&folder, &args);
    command.env("LOCKSTEP_STACK", "other");

    let (code, out, stderr) = output(command).await;

    assert_eq!(code, 0, "{stderr}");
    assert!(files(&folder)["samconfig.toml"].contains("stack_name = \"lockstep\""));
    for command in ["doctor", "start", "history"] {
        let begin = format!("lockstep {command} ");
        let line = out.lines().find(|line| line.starts_with(&begin));
        let line = line.expect("a command");
        assert!(line.contains(" --stack lockstep"), "{line}");
    }
    fs::remove_dir_all(&folder).ok();
}

#[tokio::test]
async fn without_a_terminal_all_missing_flags_are_named_at_once() {
    let folder = repository();

    let (code, out, stderr) = output(init(&folder, &["--offline", "--cluster", CLUSTER])).await;

    let missing = "--task-definition, --container, --task-role, --launch-type, --subnets, --security-groups, --schedule, \
                   --max-run";
    let expected = format!("lockstep: no terminal to ask at: give {missing}\n");
    assert_eq!((code, out.as_str(), stderr), (64, "", expected));
    fs::remove_dir_all(&folder).ok();
}

/// `script` gives the command a terminal, at which the test types.
#[tokio::test]
async fn at_a_terminal_each_answer_is_asked_for_until_it_is_right() {
    let folder = repository();
    fs::create_dir(folder.join("lockstep")).unwrap();
    fs::write(folder.join("lockstep/taken.yaml"), "mine\n").unwrap();
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
        "samconfig",
        "taken",
        "nightly",
        "app",
        ROLE,
        "FARGATE",
        "subnet",
        "subnet-1",
        "sg-1",
        "",
        "rate(1 hour)",
        "90m",
        "",
    ];

    for line in typed {
        writeln!(keyboard, "{line}").expect("a line");
    }
    let ended = tokio::task::spawn_blocking(move || started.wait_with_output());
    let ended = ended.await.unwrap().expect("its end");

    let shown = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{shown}");
    for refused in [
        "--subnets is \"subnet\", but must be",
        "--lock is \"samconfig\", but must be",
        "taken.yaml: it exists",
    ] {
        assert!(shown.contains(refused), "{shown}");
    }
    let text = &files(&folder)["nightly.samconfig.toml"];
    for answer in [
        "LockName=\"nightly\"",
        "ScheduleTimezone=\"UTC\"",
        "MaxRunSeconds=\"5400\"",
    ] {
        assert!(text.contains(answer), "{answer}: {text}");
    }
    assert!(files(&folder)["samconfig.toml"].contains("AlarmEmail=\"\""));
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
    let schedule = &files(&folder)[&format!("{name}.samconfig.toml")];
    assert!(schedule.contains("ContainerName=\"batch\""), "{schedule}");
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
