//! The operators' commands on the functions operate and view of the deployed stack.

use crate::agent::Agent;
use crate::support::{Inside, Started, lock, output};
use lockstep_tests::stack::{now, until};
use serde_json::{Value, json};

/// The command `ARGS` with a note and an actor.
async fn act(inside: &Inside, args: &[&str]) -> (i32, String, String) {
    let audit = ["--note", "database upgrade", "--actor", "jo@example.com"];
    output(inside.command(&[args, &audit].concat())).await
}

/// What `ARGS --output json` prints.
pub(crate) async fn printed(inside: &Inside, args: &[&str]) -> Value {
    let args = [args, &["--output", "json"]].concat();
    let (code, out, stderr) = output(inside.command(&args)).await;
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// A run of `sleep SECONDS` under the lock, which holds it.
async fn holder(inside: &Inside, lock: &str, seconds: &str) -> Started {
    let run = Started::of(inside.run(lock, &["--lease", "10s"], &["sleep", seconds]));
    inside.until_held(lock, 1, 10).await;
    run
}

#[tokio::test]
async fn a_lock_is_listed_shown_and_has_a_history() {
    let (inside, lock) = Inside::with_lock("operators-see").await;
    let run = holder(&inside, &lock, "300").await;
    let record = inside.record(&lock).await.expect("a record");
    let name = record.holders.keys().next().expect("a holder").to_string();
    until("the index", 15, async || {
        let listed = printed(&inside, &["locks", &lock]).await;
        listed["locks"]
            .as_array()
            .is_some_and(|locks| locks.len() == 1)
    })
    .await;

    let listed = printed(&inside, &["locks", &lock, "--state", "held"]).await;
    let (_, csv, _) = output(inside.command(&["locks", &lock, "--output", "csv"])).await;
    let (_, shown, _) = output(inside.command(&["show", &lock])).await;
    let none = printed(&inside, &["locks", &lock, "--state", "idle"]).await;
    drop(run);
    inside.until_held(&lock, 0, 30).await;
    let (code, history, stderr) = output(inside.command(&["history", &lock])).await;

    assert_eq!(listed["locks"][0]["holders"], json!([name]));
    assert_eq!(none["locks"], json!([]));
    let row = csv.lines().nth(1).expect("a row");
    assert!(row.starts_with(&format!("{lock},held,{name},0,")), "{csv}");
    assert!(shown.starts_with(&format!("{lock}: held\n")), "{shown}");
    assert!(
        shown.contains(&name) && shown.contains("LEASE UNTIL"),
        "{shown}"
    );
    assert_eq!(code, 0, "{stderr}");
    assert!(
        history
            .lines()
            .nth(1)
            .is_some_and(|row| row.contains(&name)),
        "{history}"
    );
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
    let names = async || {
        let listed = printed(&inside, &["locks", &prefix]).await;
        listed["locks"].as_array().map_or(0, Vec::len)
    };
    until("the index", 15, async || names().await == 2).await;

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

    assert_eq!(
        (code, out.as_str()),
        (0, "paused: 2, unchanged: 0\n"),
        "{stderr}"
    );
    assert!(
        stderr.contains(&format!("waits for the holders of {busy}")),
        "{stderr}"
    );
    assert!(took > 15_000 && held == 0, "{took} ms, {held} holder");
    assert_eq!((refused, skipped), (75, 9), "{why}");
    assert_eq!(catches_up.code().await, 0);
    assert!(why.contains("database upgrade"), "{why}");
    assert_eq!((resumed.as_str(), open), ("resumed: 2, unchanged: 0\n", 0));
    let history = printed(&inside, &["history", &idle, "--last", "9"]).await;
    let acts = history["entries"].as_array().expect("entries").iter();
    let acts: Vec<_> = acts.filter(|entry| entry["kind"] == "act").collect();
    assert_eq!(acts.len(), 2, "{history}");
    assert!(
        acts.iter().all(|act| act["actor"] == "jo@example.com"),
        "{history}"
    );
}

#[tokio::test]
async fn a_holder_that_is_alive_is_evicted_by_force_only() {
    let (inside, lock) = Inside::with_lock("operators-evict").await;
    let run = holder(&inside, &lock, "300").await;
    let record = inside.record(&lock).await.expect("a record");
    let name = record.holders.keys().next().expect("a holder").to_string();

    let (refused, _, why) = act(&inside, &["evict", &lock, &name]).await;
    let (forced, out, stderr) = act(&inside, &["evict", &lock, &name, "--force"]).await;

    assert_eq!(refused, 75, "{why}");
    assert!(why.contains("Lockstep.LockHeld"), "{why}");
    assert_eq!(forced, 0, "{stderr}");
    assert_eq!(out.lines().count(), 1, "{out}");
    inside.until_held(&lock, 0, 30).await;
    drop(run);
}

#[tokio::test]
async fn each_mistake_is_one_line_with_the_code_for_it() {
    let (inside, lock) = Inside::with_lock("operators-wrong").await;
    let missing = "no-such-stack";
    let cases: [(&[&str], i32, &str); 7] = [
        (&["locks", "--table", "no-such-table"], 64, "no-such-table"),
        (&["locks", "--stack", missing], 64, missing),
        (&["show", &lock], 64, "lock"),
        (&["pause", &lock, "--note", ""], 64, "note"),
        (&["pause", "--all"], 64, "--note"),
        (
            &["locks", "--function", "no-such-function"],
            69,
            "no-such-function",
        ),
        (&["history", &lock, "--from", "yesterday"], 64, "from"),
    ];
    for (args, expected, named) in cases {
        let mut command = inside.command(args);
        command.env("LOCKSTEP_ACTOR", "jo");

        let (code, out, stderr) = output(command).await;

        assert_eq!((code, out.as_str()), (expected, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(named), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    }
}

#[tokio::test]
async fn a_forgotten_key_may_run_again_and_a_rest_can_be_ended() {
    let (inside, lock) = Inside::with_lock("operators-clear").await;
    let keyed =
        async || output(inside.run(&lock, &["--run-key", "tick-1"], &["echo", "ran"])).await;
    let rested =
        async || output(inside.run(&lock, &["--min-interval", "1h"], &["echo", "ran"])).await;

    let first = keyed().await.1;
    let duplicate = keyed().await.1;
    let (forgot, _, stderr) = act(&inside, &["forget", &lock, "tick-1"]).await;
    let again = keyed().await.1;
    let begun = rested().await.1;
    let resting = rested().await.1;
    let (cleared, _, why) = act(&inside, &["clear-rest", &lock]).await;
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

    for name in [
        "stack",
        "clock",
        "function AcquireLock",
        "function View",
        "versions",
        "dead letters of the reaper",
    ] {
        assert_eq!(status(&checks, name), "ok", "{checks:?}");
    }
    assert_eq!(status(&after, "dead letters of the reaper"), "failed");
    assert_eq!(code, 1);
}
