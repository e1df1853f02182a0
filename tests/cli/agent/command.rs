//! Agents that start their program, agents beside a program, and how both end.

use super::client::free_port;
use super::{Agent, leased};
use crate::support::{Inside, Scene, Started};
use crate::support::{assert_refused, children_of, found, lives, output, until_dead};
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{pause, until};
use serde_json::json;
use tokio::process::Command;

/// Returns the process id of the program that `agent` has started.
async fn program_of(agent: &Agent) -> u32 {
    let first = async || agent.process.children().into_iter().next();
    found("program", 10, first).await.0
}

/// Starts an agent whose environment contains `$NOTES` of the scene.
pub(crate) async fn with_notes(scene: &Scene, flags: &[&str]) -> Agent {
    let put_notes = |agent: &mut Command| {
        agent.env("NOTES", &scene.notes);
    };
    Agent::start_with(scene, flags, put_notes).await
}

async fn until_stopping(agent: &Agent) {
    let health = async || agent.get("/v1/health").await;
    let is_stopping = async || health().await.status() == (200, "stopping");
    until("stopping", 5, is_stopping).await;
}

#[tokio::test]
async fn the_program_gets_the_address_and_the_agent_exits_with_its_code() {
    let inside = Inside::open().await;
    let place = free_port();
    let script = "echo $LOCKSTEP_AGENT; exit 7";

    let agent = ["agent", "--listen", &place, "--", "sh", "-c", script];
    let (code, out, stderr) = output(inside.command(&agent)).await;

    assert_eq!((code, out), (7, format!("http://{place}\n")), "{stderr}");
}

#[tokio::test]
async fn jobs_that_a_program_leaves_open_are_released_as_failed_when_it_ends() {
    let scene = Scene::open("agent-left-open").await;
    let script = "until [ -e $NOTES ]; do sleep 0.1; done; exit 3";
    let flags = ["--lease", "10m", "--", "sh", "-c", script];
    let mut agent = with_notes(&scene, &flags).await;
    let wish = json!({ "name": "export", "lock": scene.lock });
    agent.begin(wish).await;

    std::fs::write(&scene.notes, "end").expect("a file");

    assert_eq!(agent.process.code().await, 3);
    assert_eq!(scene.held().await, 0);
    assert_eq!(scene.outcome().await, Some(RunOutcome::Failed));
}

#[tokio::test]
async fn a_program_may_end_its_jobs_between_sigterm_and_sigkill() {
    let (inside, lock) = Inside::with_lock("agent-term").await;
    let script = "trap '' TERM; while :; do sleep 0.1; done";
    let flags = ["--grace", "2s", "--", "sh", "-c", script];
    let mut agent = Agent::start(&inside, &flags).await;
    let program = program_of(&agent).await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;

    agent.process.signal("TERM").await;
    until_stopping(&agent).await;
    let late = json!({ "name": "late", "lock": crate::support::lock("late") });
    let late = agent.ask(late).await;
    let end = agent.end(&job, "succeeded").await;

    assert_eq!(late.error(), (503, "Agent.Stopping"));
    assert_eq!(end.body["status"], "released");
    assert_eq!(agent.process.code().await, 143);
    until_dead(&[program], 1).await;
}

#[tokio::test]
async fn quit_and_hup_reach_the_program_and_end_nothing() {
    for signal in ["QUIT", "HUP"] {
        let scene = Scene::open("agent-passes-on").await;
        let script = format!("trap 'echo {signal} > $NOTES' {signal}; while :; do sleep 0.1; done");
        let flags = ["--grace", "1s", "--", "sh", "-c", &script];
        let agent = with_notes(&scene, &flags).await;
        let program = program_of(&agent).await;
        // The program first sets its trap.
        pause(500).await;

        agent.process.signal(signal).await;
        until("the signal", 10, async || scene.notes.exists()).await;
        pause(3_000).await;

        assert!(lives(program), "{signal}");
        assert_eq!(agent.get("/v1/health").await.body["status"], "ok");
    }
}

#[tokio::test]
async fn a_killed_agent_takes_its_program_and_its_children_with_it() {
    let inside = Inside::open().await;
    let flags = ["--", "sh", "-c", "sleep 300 & wait"];
    let agent = Agent::start(&inside, &flags).await;
    let program = program_of(&agent).await;
    let find = async || {
        let mut children = children_of(program).into_iter();
        children.find(|(_, line)| line.starts_with("sleep"))
    };
    let child = found("child of the program", 10, find).await.0;

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

#[tokio::test]
async fn a_second_sigterm_reaches_the_program_and_leaves_its_jobs_open() {
    let scene = Scene::open("agent-term-twice").await;
    let script = "trap 'echo TERM >> $NOTES' TERM; until [ -e $NOTES.end ]; do sleep 0.1; done";
    let flags = ["--grace", "60s", "--", "bash", "-c", script];
    let mut agent = with_notes(&scene, &flags).await;
    let job = agent
        .begin(json!({ "name": "export", "lock": scene.lock }))
        .await;

    for noted in ["TERM\n", "TERM\nTERM\n"] {
        agent.process.signal("TERM").await;
        until(noted, 10, async || scene.noted() == noted).await;
    }
    let beat = agent.beat(&job, json!({})).await;
    let end = agent.end(&job, "succeeded").await;
    std::fs::write(format!("{}.end", scene.notes.display()), "").expect("a file");

    assert_eq!((beat.status, end.status()), (200, (200, "released")));
    assert_eq!(agent.process.code().await, 143);
}

#[tokio::test]
async fn a_second_sigterm_ends_an_agent_beside_its_program_at_once() {
    let (inside, lock) = Inside::with_lock("agent-beside-twice").await;
    let mut agent = Agent::start(&inside, &["--grace", "1h"]).await;
    agent.begin(leased(&lock, 3_600)).await;

    agent.process.signal("TERM").await;
    until_stopping(&agent).await;
    agent.process.signal("TERM").await;

    assert_eq!(agent.process.code().await, 143);
    assert_eq!(inside.held(&lock).await, 1, "the lease is left to expire");
}

#[tokio::test]
async fn a_job_that_is_open_when_the_agent_ends_is_never_released() {
    let cut_off_by_the_grace = ("1s", 60);
    // The grace outlasts the test: the agent ends as soon as the last lease has expired.
    let out_of_lease = ("1h", 6);
    for (grace, lease) in [cut_off_by_the_grace, out_of_lease] {
        let (inside, lock) = Inside::with_lock("agent-lapses").await;
        let mut agent = Agent::start(&inside, &["--grace", grace]).await;
        agent.begin(leased(&lock, lease)).await;

        agent.process.signal("TERM").await;

        assert_eq!(agent.process.code().await, 143, "--grace {grace}");
        let held = inside.held(&lock).await;
        assert_eq!(held, 1, "its program may still be at work");
    }
}

#[tokio::test]
async fn a_socket_has_mode_0600_and_is_removed_with_its_agent() {
    use std::os::unix::fs::PermissionsExt;
    let (inside, lock) = Inside::with_lock("agent-socket").await;
    let mut agent = Agent::start_on_socket(&inside).await;
    let socket = std::fs::metadata(&agent.place).expect("a socket");
    let mode = socket.permissions().mode();

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
    for (place, word) in [
        ("0.0.0.0:7414", "loopback"),
        ("localhost:7414", "loopback"),
        (&agent.place, "--listen"),
    ] {
        let command = inside.command(&["agent", "--listen", place]);
        assert_refused(command, 64, word).await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_ends_the_agent_with_127() {
    let inside = Inside::open().await;
    let flags = ["agent", "--listen", "127.0.0.1:0", "--", "/no/such/program"];

    let mut agent = Started::of(inside.command(&flags));

    assert_eq!(agent.code().await, 127);
}
