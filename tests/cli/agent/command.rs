//! Agents that start their program, and agents beside one: how they end.

use super::Agent;
use super::client::free_port;
use crate::support::{Inside, Started, children_of, lives, lock, output, scratch, until_dead};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{pause, until};
use serde_json::json;

/// The process of the program that `agent` has started.
async fn program_of(agent: &Agent) -> u32 {
    let children = || agent.process.children();
    until("the program", 10, async || !children().is_empty()).await;
    children()[0].0
}

async fn until_stopping(agent: &Agent) {
    let health = async || agent.get("/v1/health").await.body;
    until("stopping", 5, async || {
        health().await["status"] == "stopping"
    })
    .await;
}

#[tokio::test]
async fn the_program_finds_the_agent_in_its_environment_and_its_code_is_the_agents() {
    let inside = Inside::open().await;
    let place = free_port();
    let script = "echo $LOCKSTEP_AGENT; exit 7";

    let agent = ["agent", "--listen", &place, "--", "sh", "-c", script];
    let (code, out, stderr) = output(inside.command(&agent)).await;

    assert_eq!((code, out), (7, format!("http://{place}\n")), "{stderr}");
}

#[tokio::test]
async fn jobs_that_a_program_leaves_open_are_released_as_failed_when_it_ends() {
    let (inside, lock) = Inside::with_lock("agent-left-open").await;
    let flag = scratch("agent-flag");
    let script = format!(
        "until [ -e {} ]; do sleep 0.1; done; exit 3",
        flag.display()
    );
    let flags = ["--lease", "10m", "--", "sh", "-c", &script];
    let mut agent = Agent::start(&inside, &flags).await;
    agent.begin(json!({ "name": "export", "lock": lock })).await;

    std::fs::write(&flag, "end").expect("a file");

    assert_eq!(agent.process.code().await, 3);
    assert_eq!(inside.held(&lock).await, 0);
    let run = inside.latest_run(&lock).await.expect("a history");
    assert_eq!(run.outcome(), Some(RunOutcome::Failed));
}

#[tokio::test]
async fn a_program_may_end_its_jobs_after_sigterm_and_is_killed_after_its_grace() {
    let (inside, lock) = Inside::with_lock("agent-term").await;
    let script = "trap '' TERM; while :; do sleep 0.1; done";
    let flags = ["--grace", "2s", "--", "sh", "-c", script];
    let mut agent = Agent::start(&inside, &flags).await;
    let program = program_of(&agent).await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;

    agent.process.signal("TERM").await;
    until_stopping(&agent).await;
    let late = agent
        .ask(json!({ "name": "late", "lock": crate::support::lock("late") }))
        .await;
    let end = agent.end(&job, "succeeded").await;

    assert_eq!(late.error(), (503, "Agent.Stopping"));
    assert_eq!(end.body["status"], "released");
    assert_eq!(agent.process.code().await, 143);
    until_dead(&[program], 1).await;
}

#[tokio::test]
async fn a_signal_that_asks_for_something_else_than_an_end_ends_nothing() {
    let inside = Inside::open().await;
    for signal in ["QUIT", "HUP"] {
        let heard = scratch("agent-heard");
        let script = format!(
            "trap 'echo heard > {}' {signal}; while :; do sleep 0.1; done",
            heard.display()
        );
        let agent = Agent::start(&inside, &["--grace", "1s", "--", "sh", "-c", &script]).await;
        let program = program_of(&agent).await;
        // The program sets its trap first of all.
        pause(500).await;

        agent.process.signal(signal).await;
        until("the signal", 10, async || heard.exists()).await;
        pause(3_000).await;

        assert!(lives(program), "{signal}");
        assert_eq!(agent.get("/v1/health").await.body["status"], "ok");
    }
}

#[tokio::test]
async fn a_program_dies_with_its_agent_its_children_too() {
    let inside = Inside::open().await;
    let flags = ["--", "sh", "-c", "sleep 300 & wait"];
    let agent = Agent::start(&inside, &flags).await;
    let find = || children_of(agent.process.children().first().map_or(0, |(pid, _)| *pid));
    until("the program's child", 10, async || {
        find().iter().any(|(_, line)| line.starts_with("sleep"))
    })
    .await;
    let (program, child) = (agent.process.children()[0].0, find()[0].0);

    agent.process.signal("KILL").await;

    until_dead(&[program, child], 5).await;
}

#[tokio::test]
async fn an_agent_beside_its_program_waits_for_open_jobs_and_ends_with_143() {
    let (inside, lock) = Inside::with_lock("agent-beside").await;
    let mut agent = Agent::start(&inside, &[]).await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;

    agent.process.signal("TERM").await;
    until_stopping(&agent).await;
    let beat = agent.beat(&job, json!({ "progress": "row 9" })).await;
    agent.end(&job, "succeeded").await;

    assert_eq!(beat.status, 200, "{beat:?}");
    assert_eq!(agent.process.code().await, 143);
    assert_eq!(inside.held(&lock).await, 0);
}

/// Checks that an agent beside its program ends and leaves the lease of an open job alone.
async fn assert_open_job_keeps_its_lease(lock: &str, grace: &str, lease: u32) {
    let inside = Inside::open().await;
    let mut agent = Agent::start(&inside, &["--grace", grace]).await;
    let job = json!({ "name": "export", "lock": lock, "leaseSeconds": lease });
    agent.begin(job).await;

    agent.process.signal("TERM").await;

    assert_eq!(agent.process.code().await, 143);
    let held = inside.held(lock).await;
    assert_eq!(held, 1, "its program may still be at work");
}

#[tokio::test]
async fn a_job_that_is_open_when_the_agent_ends_is_never_released() {
    assert_open_job_keeps_its_lease(&lock("agent-lapses"), "1s", 60).await;
}

#[tokio::test]
async fn an_agent_ends_as_soon_as_the_last_lease_has_run_out() {
    // Its grace is longer than the test may take.
    assert_open_job_keeps_its_lease(&lock("agent-ran-out"), "1h", 6).await;
}

#[tokio::test]
async fn a_socket_is_for_its_own_user_and_goes_with_its_agent() {
    use std::os::unix::fs::PermissionsExt;
    let (inside, lock) = Inside::with_lock("agent-socket").await;
    let mut agent = Agent::start_on_socket(&inside).await;
    let mode = std::fs::metadata(&agent.place)
        .expect("a socket")
        .permissions()
        .mode();

    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;
    let end = agent.end(&job, "succeeded").await;
    agent.process.signal("TERM").await;

    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(end.body["status"], "released");
    assert_eq!(agent.process.code().await, 143);
    assert!(!std::fs::exists(&agent.place).expect("a folder"));
}

#[tokio::test]
async fn a_place_that_is_not_this_machine_or_is_taken_is_refused_with_64() {
    let inside = Inside::open().await;
    let agent = Agent::start(&inside, &[]).await;
    let table = [
        ("0.0.0.0:7414", "loopback"),
        ("localhost:7414", "loopback"),
        (&agent.place, "--listen"),
    ];

    for (place, word) in table {
        let (code, _, stderr) = output(inside.command(&["agent", "--listen", place])).await;

        assert_eq!(code, 64, "{stderr}");
        assert!(
            stderr.contains(word) && stderr.lines().count() == 1,
            "{stderr}"
        );
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_ends_the_agent_with_127() {
    let inside = Inside::open().await;
    let command = inside.command(&["agent", "--listen", "127.0.0.1:0", "--", "/no/such/program"]);

    let mut agent = Started::of(command);

    assert_eq!(agent.code().await, 127);
}
