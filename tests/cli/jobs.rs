//! `lockstep jobs`: who holds what, what is lost, what became of the rest.

use crate::agent::{Agent, HostTask};
use crate::support::{Inside, Started, lock, output};
use lockstep_tests::stack::until;
use serde_json::{Value, json};
use tokio::process::Command;

/// The rows of `lockstep jobs --json` that tell of `lock`, and the exit code.
pub(crate) async fn rows(inside: &Inside, flags: &[&str], lock: &str) -> (i32, Vec<Value>) {
    let command = inside.command(&[&["jobs", "--json"], flags].concat());
    rows_of(command, lock).await
}

/// The same for a command that was made elsewhere.
pub(crate) async fn rows_of(command: Command, lock: &str) -> (i32, Vec<Value>) {
    let (code, out, stderr) = output(command).await;
    let listed: Value =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let rows = listed["jobs"].as_array().expect("a list").iter();
    (
        code,
        rows.filter(|row| row["lock"] == lock).cloned().collect(),
    )
}

#[tokio::test]
async fn open_jobs_are_listed_with_task_container_name_and_progress() {
    let (inside, lock) = Inside::with_lock("jobs-open").await;
    let task = HostTask::start(&inside, Some("jobs-open")).await;
    let agent = Agent::start_with(&inside, &[], |command| task.put(command)).await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;
    agent.beat(&job, json!({ "progress": "row 7" })).await;

    let (_, listed) = rows(&inside, &[], &lock).await;
    agent.end(&job, "succeeded").await;
    let (_, after) = rows(&inside, &[], &lock).await;

    let [row] = &listed[..] else {
        panic!("{listed:?}")
    };
    assert_eq!(
        (&row["taskArn"], &row["progress"]),
        (&json!(task.arn), &json!("row 7"))
    );
    assert_eq!(row["holder"], job.body["holder"]);
    assert_eq!(row["fencingToken"], job.body["fencingToken"]);
    assert!(row["container"].is_string(), "{row}");
    assert!(
        row["job"]
            .as_str()
            .is_some_and(|job| job.ends_with(":export")),
        "{row}"
    );
    assert!(after.is_empty(), "{after:?}");
}

#[tokio::test]
async fn people_get_a_table() {
    let (inside, lock) = Inside::with_lock("jobs-table").await;
    let run = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;

    let (code, out, stderr) = output(inside.command(&["jobs"])).await;

    assert_eq!(code, 0, "{stderr}");
    let mut lines = out.lines();
    assert!(
        lines.next().is_some_and(|head| head.starts_with("LOCK ")),
        "{out}"
    );
    let row = lines.find(|line| line.starts_with(&lock)).expect("a row");
    assert!(row.contains("host:"), "{row}");
    drop(run);
}

#[tokio::test]
async fn a_job_whose_task_was_stopped_is_lost_long_before_its_lease_ends() {
    let inside = Inside::open().await;
    let [lock, other] = [lock("jobs-stopped"), lock("jobs-alive")];
    let [dead, alive] = [
        HostTask::start(&inside, Some("jobs-stopped")).await,
        HostTask::start(&inside, Some("jobs-alive")).await,
    ];
    let agent = Agent::start_with(&inside, &["--lease", "1h"], |command| dead.put(command)).await;
    let beside = Agent::start_with(&inside, &["--lease", "1h"], |command| alive.put(command)).await;
    agent.begin(json!({ "name": "export", "lock": lock })).await;
    beside
        .begin(json!({ "name": "export", "lock": other }))
        .await;

    agent.process.signal("KILL").await;
    dead.stop(&inside, "Scaling activity").await;
    let (code, lost) = rows(&inside, &["--lost"], &lock).await;
    let (_, good) = rows(&inside, &["--lost"], &other).await;

    let [row] = &lost[..] else { panic!("{lost:?}") };
    assert_eq!((code, &row["taskArn"]), (1, &json!(dead.arn)));
    let why = row["lost"]["why"].as_str().expect("a reason");
    assert!(why.contains("task has stopped"), "{row}");
    assert!(
        row["lost"]["at"].is_string() && row["lost"]["next"].is_string(),
        "{row}"
    );
    assert!(good.is_empty(), "{good:?}");
    let (_, table, _) = output(inside.command(&["jobs", "--lost"])).await;
    assert!(
        table
            .lines()
            .any(|line| line.starts_with(&lock) && line.contains(why)),
        "{table}"
    );
}

#[tokio::test]
async fn a_job_whose_lease_ran_out_is_lost_until_it_is_recovered() {
    let (inside, lock) = Inside::with_lock("jobs-silent").await;
    let agent = Agent::start(&inside, &["--lease", "5s"]).await;
    let wish = json!({ "name": "export", "lock": lock });
    agent.begin(wish.clone()).await;

    agent.process.signal("KILL").await;
    until("the loss", 10, async || {
        !rows(&inside, &["--lost"], &lock).await.1.is_empty()
    })
    .await;
    let next = Agent::start(&inside, &[]).await;
    until("the next job", 10, async || {
        next.ask(wish.clone()).await.status == 201
    })
    .await;
    let (_, lost) = rows(&inside, &["--lost"], &lock).await;

    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn the_history_of_a_lock_tells_what_became_of_its_runs_newest_first() {
    let (inside, lock) = Inside::with_lock("jobs-history").await;
    for command in [["true"], ["false"]] {
        output(inside.run(&lock, &["--run-key", command[0]], &command)).await;
    }
    let run = Started::of(inside.run(&lock, &[], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;
    inside.evict_all(&lock).await;
    let open = Started::of(inside.run(&lock, &["--overlap", "queue"], &["sleep", "300"]));
    inside.until_held(&lock, 1, 10).await;

    let (code, out, stderr) = output(inside.command(&["jobs", "--lock", &lock, "--json"])).await;
    let (_, short, _) =
        output(inside.command(&["jobs", "--lock", &lock, "--last", "1", "--json"])).await;
    let (_, table, _) = output(inside.command(&["jobs", "--lock", &lock])).await;

    assert_eq!(code, 0, "{stderr}");
    let listed: Value = serde_json::from_str(&out).expect("JSON");
    let runs = listed["runs"].as_array().expect("a list");
    let outcomes: Vec<_> = runs.iter().map(|run| run["outcome"].clone()).collect();
    assert_eq!(outcomes, ["open", "evicted", "failed", "succeeded"]);
    assert!(runs[1]["evidence"].is_string(), "{}", runs[1]);
    assert_eq!(runs[3]["runKey"], "true");
    assert!(runs[3]["heldSeconds"].is_number(), "{}", runs[3]);
    let short: Value = serde_json::from_str(&short).expect("JSON");
    assert_eq!(short["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(table.lines().count(), 5, "{table}");
    drop((run, open));
}

#[tokio::test]
async fn a_lock_that_nobody_ever_took_has_no_history() {
    let inside = Inside::open().await;

    let (code, out, _) = output(inside.command(&["jobs", "--lock", &lock("jobs-none")])).await;

    assert_eq!(
        (code, out.as_str()),
        (0, "no run of this lock is remembered\n")
    );
}

#[tokio::test]
async fn a_table_that_is_not_there_is_told_with_69() {
    let inside = Inside::open().await;

    for flags in [&["jobs"][..], &["jobs", "--lost"], &["jobs", "--lock", "l"]] {
        let command = inside.command(&[flags, &["--table", "no-such-table"]].concat());
        let (code, out, stderr) = output(command).await;

        assert_eq!((code, out.as_str()), (69, ""), "{stderr}");
    }
}
