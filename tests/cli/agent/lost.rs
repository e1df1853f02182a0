//! Jobs that must not go on, and answers of the lock table that are lost.

use super::{Agent, leased};
use crate::support::{FaultProxy, Inside, Scene, lock};
use lockstep::contract::parse_time;
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{now, pause, until};
use serde_json::json;
use tokio::process::Command;

/// Starts an agent with this lease that reaches the table through a proxy.
async fn behind_proxy(inside: &Inside, lease: &str) -> (Agent, FaultProxy) {
    let proxy = inside.table_proxy().await;
    let change = |command: &mut Command| {
        command.env("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint());
    };
    let agent = Agent::start_with(inside, &["--lease", lease], change).await;
    (agent, proxy)
}

#[tokio::test]
async fn a_job_without_a_beat_has_to_stop_while_its_lease_is_still_good() {
    let (inside, lock, agent) = Agent::with_lock("agent-silent").await;
    let job = agent.begin(leased(&lock, 8)).await;
    let expires_at = job.body["expiresAt"].as_str().expect("a time");
    let expires_at = parse_time("expiresAt", expires_at).expect("a time");

    let response = agent.poll(&job, 60).await;
    let at = now();

    assert_eq!(response.body["state"], "lost", "{response:?}");
    assert!(at < expires_at.millis(), "{at} {expires_at:?}");
    let beat = agent.beat(&job, json!({})).await;
    assert_eq!(beat.error(), (410, "Lockstep.LeaseLost"));
    let held = inside.held(&lock).await;
    assert_eq!(held, 1, "the program may still be at work");
    let end = agent.end(&job, "failed").await;
    assert_eq!(end.status(), (200, "released"));
    assert_eq!(inside.held(&lock).await, 0);
}

#[tokio::test]
async fn an_evicted_job_learns_it_by_its_next_beat_and_by_the_long_poll() {
    let (inside, lock, agent) = Agent::with_lock("agent-evicted").await;
    let job = agent.begin(leased(&lock, 20)).await;

    let (polled, beat) = tokio::join!(agent.poll(&job, 60), async {
        inside.evict_all(&lock).await;
        // An earlier beat is answered from memory.
        pause(3_500).await;
        agent.beat(&job, json!({})).await
    });

    assert_eq!(beat.error(), (410, "Lockstep.LeaseLost"));
    assert_eq!(polled.body["state"], "lost", "{polled:?}");
    let end = agent.end(&job, "failed").await;
    assert_eq!(end.status(), (200, "lost"));
}

#[tokio::test]
async fn a_long_poll_ends_with_the_job() {
    let (_inside, lock, agent) = Agent::with_lock("agent-poll").await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;
    let open = agent.poll(&job, 1).await;

    let (polled, _) = tokio::join!(agent.poll(&job, 60), async {
        pause(300).await;
        agent.end(&job, "succeeded").await
    });

    assert_eq!(open.body["state"], "open");
    assert_eq!(polled.body["state"], "ended");
    assert_eq!(polled.body["end"]["outcome"], "succeeded", "{polled:?}");
}

#[tokio::test]
async fn without_the_table_a_job_has_to_stop_before_its_lease_ends() {
    let (inside, lock) = Inside::with_lock("agent-proxy").await;
    let (agent, proxy) = behind_proxy(&inside, "15s").await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;

    proxy.close();
    let beat = agent.beat(&job, json!({ "progress": "row 1" })).await;
    let response = agent.poll(&job, 60).await;
    let at = now();

    assert_eq!(beat.error(), (503, "Lockstep.Unavailable"));
    assert_eq!(response.body["state"], "lost", "{response:?}");
    let end = inside.lease_end(&lock).await;
    assert!(at < end, "{at} {end}");
}

#[tokio::test]
async fn max_run_and_no_progress_end_a_job_that_beats() {
    let inside = Inside::open().await;
    let agent = Agent::start(&inside, &[]).await;
    for limit in ["maxRunSeconds", "noProgressSeconds"] {
        let wish = json!({ "name": "export", "lock": lock(limit), limit: 2 });
        let job = agent.begin(wish).await;
        agent.beat(&job, json!({})).await;

        let response = agent.poll(&job, 60).await;

        let reason = response.body["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(limit), "{response:?}");
    }
}

#[tokio::test]
async fn a_dead_agent_keeps_no_lock_for_longer_than_the_lease() {
    let (inside, lock) = Inside::with_lock("agent-killed").await;
    let first = Agent::start(&inside, &[]).await;
    let second = Agent::start(&inside, &[]).await;
    let wish = leased(&lock, 6);
    let job = first.begin(wish.clone()).await;
    let begun = now();

    first.process.signal("KILL").await;
    until("the next job", 20, async || {
        second.ask(wish.clone()).await.status == 201
    })
    .await;
    let after = now() - begun;

    let record = inside.record(&lock).await.expect("a record");
    let token = job.body["fencingToken"].as_u64().expect("a token");
    // Six seconds pass at least: two of them allow for clocks that differ.
    assert!(record.last_token.number() >= token + 6_000);
    eprintln!("figure: an agent was killed: the next job of a 6 s lease began after {after} ms");
}

#[tokio::test]
async fn a_permit_whose_answer_was_lost_is_given_back_before_its_lease_ends() {
    let scene = Scene::with_record("agent-unheard").await;
    let (agent, proxy) = behind_proxy(&scene, "1h").await;
    let wish = json!({ "name": "export", "lock": scene.lock });

    proxy.hold_answers();
    let begun = agent.ask(wish.clone()).await;
    let held = scene.held().await;
    // An answer that has not come by now never comes.
    proxy.cut_connections();
    scene.until_held(0, 60).await;
    let outcome = scene.outcome().await;
    let next = agent.ask(wish).await;

    assert_eq!(begun.error(), (503, "Lockstep.Unavailable"));
    assert_eq!(held, 1);
    assert_eq!(outcome, Some(RunOutcome::Failed));
    assert_eq!(next.status, 201, "{next:?}");
}
