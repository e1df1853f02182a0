//! The operators' commands, on the functions operate and view of the deployed stack.

use crate::agent::Agent;
use crate::support::{Inside, Scene, Started, assert_refused, lock, output};
use lockstep_operate::contract::short_name;
use lockstep_tests::stack::{now, until};
use serde_json::{Value, json};

/// Runs `lockstep ARGS` with a note and an actor.
async fn act(inside: &Inside, args: &[&str]) -> (i32, String, String) {
    let audit = ["--note", "database upgrade", "--actor", "jo@example.com"];
    output(inside.command(&[args, &audit].concat())).await
}

/// Returns what `lockstep ARGS --output json` prints.
pub(crate) async fn printed(inside: &Inside, args: &[&str]) -> Value {
    let args = [args, &["--output", "json"]].concat();
    let (code, out, stderr) = output(inside.command(&args)).await;
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// Waits until `lockstep locks PREFIX` lists `count` locks.
async fn until_listed(inside: &Inside, prefix: &str, count: usize) {
    let listed = async || {
        let listed = printed(inside, &["locks", prefix]).await;
        listed["locks"].as_array().map_or(0, Vec::len)
    };
    until("the index", 15, async || listed().await == count).await;
}

/// Starts a run of `sleep SECONDS` under a lease of ten seconds.
async fn holder(inside: &Inside, lock: &str, seconds: &str) -> Started {
    let run = Started::of(inside.run(lock, &["--lease", "10s"], &["sleep", seconds]));
    inside.until_held(lock, 1, 10).await;
    run
}

#[tokio::test]
async fn a_lock_is_listed_shown_and_has_a_history() {
    let scene = Scene::open("operators-see").await;
    let lock = scene.lock.as_str();
    let run = holder(&scene, lock, "300").await;
    let name = scene.holder_name().await;
    until_listed(&scene, lock, 1).await;

    let listed = printed(&scene, &["locks", lock, "--state", "held"]).await;
    let (_, csv, _) = output(scene.command(&["locks", lock, "--output", "csv"])).await;
    let (_, shown, _) = output(scene.command(&["show", lock])).await;
    let none = printed(&scene, &["locks", lock, "--state", "idle"]).await;
    drop(run);
    scene.until_held(0, 30).await;
    let (code, history, stderr) = output(scene.command(&["history", lock])).await;

    assert_eq!(listed["locks"][0]["holders"], json!([name]));
    assert_eq!(none["locks"], json!([]));
    let row = csv.lines().nth(1).expect("a row");
    assert!(row.starts_with(&format!("{lock},held,{name},0,")), "{csv}");
    assert!(shown.starts_with(&format!("{lock}: held\n")), "{shown}");
    for part in [&short_name(&name), "LEASE ENDS"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert_eq!(code, 0, "{stderr}");
    let row = history.lines().nth(1).expect("a row");
    assert!(row.contains(&short_name(&name)), "{history}");
}

#[tokio::test]
async fn a_job_of_the_agent_is_shown_with_its_progress() {
    let (inside, lock) = Inside::with_lock("operators-job").await;
    let agent = Agent::start(&inside, &[]).await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;
    agent.beat(&job, json!({ "progress": "row 7" })).await;

    let shown = printed(&inside, &["show", &lock]).await;

    let holder = &shown["holders"][0];
    assert_eq!(holder["holder"], job.body["holder"], "{shown}");
    assert_eq!(holder["token"], job.body["fencingToken"], "{shown}");
    assert_eq!(holder["progress"], "row 7", "{shown}");
}

#[tokio::test]
async fn a_pause_by_prefix_returns_when_the_last_holder_has_finished() {
    let inside = Inside::open().await;
    let prefix = lock("operators-drain");
    let [busy, idle] = ["busy", "idle"].map(|name| format!("{prefix}/{name}"));
    let (code, _, stderr) = output(inside.run(&idle, &[], &["true"])).await;
    assert_eq!(code, 0, "{stderr}");
    let run = holder(&inside, &busy, "25").await;
    until_listed(&inside, &prefix, 2).await;

    let begin = now();
    let (code, out, stderr) = act(&inside, &["pause", "--prefix", &prefix, "--drain"]).await;
    let took = now() - begin;
    let held = inside.held(&busy).await;
    let fails = inside.run(&idle, &["--on-paused", "fail"], &["true"]);
    let (refused, _, why) = output(fails).await;
    let skips = inside.run(&idle, &["--skip-code", "9"], &["true"]);
    let (skipped, _, _) = output(skips).await;
    let mut catches_up = Started::of(inside.run(&idle, &["--catch-up", "once"], &["true"]));
    inside.until_waiting(&idle, 1, 15).await;
    let (_, resumed, _) = act(&inside, &["resume", "--prefix", &prefix]).await;
    let (open, _, _) = output(inside.run(&idle, &["--overlap", "queue"], &["true"])).await;
    drop(run);

    let paused = (code, out.as_str());
    assert_eq!(paused, (0, "paused: 2, unchanged: 0\n"), "{stderr}");
    let waits = format!("waiting until no run holds {busy}");
    assert!(stderr.contains(&waits), "{stderr}");
    assert!(took > 15_000 && held == 0, "{took} ms, {held} holder");
    assert_eq!((refused, skipped), (75, 9), "{why}");
    assert_eq!(catches_up.code().await, 0);
    assert!(why.contains("database upgrade"), "{why}");
    assert_eq!((resumed.as_str(), open), ("resumed: 2, unchanged: 0\n", 0));
    let history = printed(&inside, &["history", &idle, "--last", "9"]).await;
    let acts = history["entries"].as_array().expect("entries").iter();
    let acts = acts.filter(|entry| entry["kind"] == "act");
    let actors: Vec<_> = acts.map(|act| &act["actor"]).collect();
    assert_eq!(actors, ["jo@example.com"; 2], "{history}");
}

#[tokio::test]
async fn a_holder_that_is_alive_is_evicted_by_force_only() {
    let scene = Scene::open("operators-evict").await;
    let _run = holder(&scene, &scene.lock, "300").await;
    let name = scene.holder_name().await;

    let evict = ["evict", &scene.lock, &name, "--force"];
    let (refused, _, why) = act(&scene, &evict[..3]).await;
    let (forced, out, stderr) = act(&scene, &evict).await;

    assert_eq!(refused, 75, "{why}");
    assert!(why.contains("Lockstep.LockHeld"), "{why}");
    assert_eq!(forced, 0, "{stderr}");
    assert_eq!(out.lines().count(), 1, "{out}");
    scene.until_held(0, 30).await;
}

/// People type the name that they see.
#[tokio::test]
async fn a_holder_is_evicted_by_the_short_name_that_show_prints() {
    let scene = Scene::open("operators-short").await;
    let _run = holder(&scene, &scene.lock, "300").await;
    let (_, shown, _) = output(scene.command(&["show", &scene.lock])).await;
    let mut rows = shown.lines().skip_while(|line| !line.starts_with("HOLDER"));
    let name = rows.nth(1).and_then(|row| row.split(' ').next());
    let name = name.expect("a holder");

    let (early, _, why) = act(&scene, &["evict", &scene.lock, "--force"]).await;
    let (code, _, stderr) = act(&scene, &["evict", &scene.lock, name, "--force"]).await;

    assert_eq!(early, 64, "{why}");
    assert!(why.contains("was granted lock"), "{why}");
    assert_eq!(code, 0, "{stderr}");
    scene.until_held(0, 30).await;
}

#[tokio::test]
async fn history_lists_the_latest_runs_of_all_locks_by_time() {
    let inside = Inside::open().await;
    let prefix = lock("operators-night");
    let [good, bad] = ["good", "bad"].map(|name| format!("{prefix}/{name}"));
    for (lock, command) in [(&good, "true"), (&bad, "false"), (&good, "true")] {
        output(inside.run(lock, &[], &[command])).await;
    }
    until_listed(&inside, &prefix, 2).await;
    let outcomes = async |args: &[&str]| {
        let history = printed(&inside, &[&["history"], args].concat()).await;
        let entries = history["entries"].as_array().expect("entries").clone();
        let own = entries.into_iter().filter(|entry| {
            entry["lock"]
                .as_str()
                .is_some_and(|lock| lock.starts_with(&prefix))
        });
        own.map(|entry| entry["outcome"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };

    let all = outcomes(&["--since", "1h", "--last", "1000"]).await;
    let of_prefix = outcomes(&["--prefix", &prefix]).await;
    let failed = outcomes(&["--failed", "--last", "1000"]).await;
    let latest = outcomes(&["--prefix", &prefix, "--last", "1"]).await;
    let later = async || outcomes(&["--prefix", &prefix, "--since", "1s"]).await;

    assert_eq!(all, ["succeeded", "failed", "succeeded"]);
    assert_eq!(of_prefix, all);
    assert_eq!(failed, ["failed"]);
    assert_eq!(latest, ["succeeded"]);
    until("a time after the runs", 10, async || {
        later().await.is_empty()
    })
    .await;
}

#[tokio::test]
async fn lines_have_at_most_120_columns_and_wide_shows_whole_names() {
    let scene = Scene::open("operators-width").await;
    let _run = holder(&scene, &scene.lock, "300").await;
    let name = scene.holder_name().await;
    let note = "n".repeat(400);
    let pause = [
        "pause",
        &scene.lock,
        "--note",
        &note,
        "--actor",
        "jo@example.com",
    ];
    let (code, _, stderr) = output(scene.command(&pause)).await;
    assert_eq!(code, 0, "{stderr}");
    until_listed(&scene, &scene.lock, 1).await;

    for command in [
        &["show", &scene.lock][..],
        &["locks", &scene.lock],
        &["history", &scene.lock],
    ] {
        let (_, narrow, _) = output(scene.command(command)).await;
        let (_, wide, _) = output(scene.command(&[command, &["--wide"]].concat())).await;

        let widest = narrow.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(120), "{narrow}");
        assert!(narrow.matches('n').count() > 390, "{narrow}");
        assert!(wide.contains(&note), "{wide}");
        assert!(command[0] == "history" || wide.contains(&name), "{wide}");
        assert!(
            !narrow.contains('\u{1b}') && !wide.contains('\u{1b}'),
            "no terminal"
        );
    }
}

/// A process has no execution that could be started again.
#[tokio::test]
async fn a_start_is_refused_if_no_execution_can_be_started_again() {
    let scene = Scene::open("operators-start").await;
    scene.echo(&[]).await;

    let (code, _, why) = act(&scene, &["start", &scene.lock, "--dry-run"]).await;

    assert_eq!(code, 64, "{why}");
    assert!(why.contains("an execution of Step Functions"), "{why}");
}

/// The function dies once the run is started. The command asks again under the same id.
#[tokio::test]
async fn a_start_whose_function_dies_starts_one_run() {
    let (inside, lock) = Inside::with_lock("operators-start-dies").await;
    let stack = &inside.stack;
    let input = stack.batch_input(&lock).seconds(0.2);
    assert!(stack.run(&input, 60).await.ran());
    let operate = stack.output("OperateFunctionArn");
    stack.kill_after(operate, "write", &lock).await;

    let (code, out, stderr) = act(&inside, &["start", &lock, "--yes", "--output", "json"]).await;

    assert_eq!(code, 0, "{stderr}");
    stack.wait_fired(&lock, 1, 1).await;
    let started: Value = serde_json::from_str(&out).expect("JSON");
    let started = started["executionArn"].as_str().expect("an ARN");
    assert!(stack.wait(started, 60).await.ran());
    assert_eq!(stack.containers(&lock, 60).await.len(), 2);
}

#[tokio::test]
async fn each_mistake_is_one_line_with_the_code_for_it() {
    let (inside, lock) = Inside::with_lock("operators-wrong").await;
    let missing = "no-such-stack";
    let function = ["locks", "--function", "no-such-function"];
    for (args, code, named) in [
        (
            &["locks", "--table", "no-such-table"][..],
            64,
            "no-such-table",
        ),
        (&["locks", "--stack", missing], 64, missing),
        (&["show", &lock], 64, "lock"),
        (&["pause", &lock, "--note", ""], 64, "note"),
        (&["pause", "--all"], 64, "--note"),
        (&function, 69, "no-such-function"),
        (&["history", &lock, "--from", "yesterday"], 64, "from"),
        (&["history", "--since", "last night"], 64, "--since"),
        (&["history", &lock, "--all"], 64, "--all"),
        (&["evict", &lock, "--force", "--abandon"], 64, "HOLDER"),
        (&["start", &lock, "--dry-run", "--yes"], 64, "--yes"),
        (
            &["start", &lock, "--scheduled-time", "now"],
            64,
            "--schedule",
        ),
        (&["show", &lock, "--watch=0s"], 64, "--watch"),
    ] {
        let mut command = inside.command(args);
        command.env("LOCKSTEP_ACTOR", "jo");

        assert_refused(command, code, named).await;
    }
}

#[tokio::test]
async fn a_forgotten_key_may_run_again_and_a_rest_can_be_ended() {
    let scene = Scene::open("operators-clear").await;
    let keyed = async || scene.echo(&["--run-key", "tick-1"]).await;
    let rested = async || scene.echo(&["--min-interval", "1h"]).await;

    let first = keyed().await.1;
    let duplicate = keyed().await.1;
    let (forgot, _, stderr) = act(&scene, &["forget", &scene.lock, "tick-1"]).await;
    let again = keyed().await.1;
    let begun = rested().await.1;
    let resting = rested().await.1;
    let (cleared, _, why) = act(&scene, &["clear-rest", &scene.lock]).await;
    let after = rested().await.1;

    assert_eq!((first.as_str(), duplicate.as_str()), ("ran\n", ""));
    assert_eq!((forgot, again.as_str()), (0, "ran\n"), "{stderr}");
    assert_eq!((begun.as_str(), resting.as_str()), ("ran\n", ""));
    assert_eq!((cleared, after.as_str()), (0, "ran\n"), "{why}");
}

#[tokio::test]
async fn the_doctor_names_each_part_and_what_to_do_about_a_dead_letter() {
    let inside = Inside::open().await;
    let url = inside.stack.output("RecoveryDeadLettersUrl").to_owned();
    let doctor = async || {
        let (code, out, stderr) = output(inside.command(&["doctor", "--output", "json"])).await;
        let report: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{stderr}"));
        let checks = report["checks"].as_array().expect("checks").clone();
        (code, checks)
    };
    let status = |checks: &[Value], name: &str| {
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("{name}: {checks:?}"))["status"].clone()
    };

    let (_, checks) = doctor().await;
    let message = json!({ "QueueUrl": url, "MessageBody": "an event" });
    inside
        .stack
        .call("sqs", "AmazonSQS.SendMessage", message)
        .await;
    let (code, after) = doctor().await;
    let all = json!({ "QueueUrl": url });
    inside.stack.call("sqs", "AmazonSQS.PurgeQueue", all).await;

    let letters = "dead letters of the reaper";
    let functions = ["function AcquireLock", "function View"];
    for name in ["stack", "clock", "versions", letters]
        .into_iter()
        .chain(functions)
    {
        assert_eq!(status(&checks, name), "ok", "{checks:?}");
    }
    assert_eq!(status(&after, letters), "failed");
    assert_eq!(code, 1);
}
