//! `lockstep agent`: jobs over its HTTP API.

mod client;
mod command;
mod hosts;
mod lost;
mod protection;
mod requests;

pub(crate) use client::{Agent, leased};
pub(crate) use command::with_notes;
pub(crate) use hosts::HostTask;
pub(crate) use requests::bounds_slow_clients;

use lockstep::domain::RunOutcome;
use lockstep_tests::stack::pause;
use serde_json::json;

#[tokio::test]
async fn a_job_is_begun_kept_by_its_beats_and_ended_on_the_table() {
    let (inside, lock, agent) = Agent::with_lock("agent-job").await;

    let job = agent.begin(leased(&lock, 6)).await;
    // Longer than the lease: only beats keep it.
    for row in 0..8 {
        pause(1_000).await;
        let progress = json!({ "progress": format!("row {row}") });
        let beat = agent.beat(&job, progress).await;
        assert_eq!(beat.status, 200, "{beat:?}");
    }
    let record = inside.record(&lock).await.expect("a record");
    let end = agent.end(&job, "succeeded").await;

    let (holder, lease) = record.holders.first_key_value().expect("a holder");
    assert_eq!(Some(holder.as_str()), job.body["holder"].as_str());
    assert!(holder.as_str().ends_with(":export"), "{holder}");
    assert_eq!(job.body["fencingToken"], lease.token.number());
    assert_eq!(lease.progress.as_deref(), Some("row 7"));
    assert_eq!(end.status(), (200, "released"));
    let held = end.body["heldSeconds"].as_f64().expect("seconds");
    assert!(held >= 8.0, "{end:?}");
    assert_eq!(inside.outcome(&lock).await, Some(RunOutcome::Succeeded));
    assert_eq!(inside.held(&lock).await, 0);
}

#[tokio::test]
async fn an_end_that_is_reported_again_changes_nothing() {
    let (inside, lock, agent) = Agent::with_lock("agent-twice").await;
    let job = agent.begin(json!({ "name": "export", "lock": lock })).await;

    let first = agent.end(&job, "succeeded").await;
    let next = agent.begin(json!({ "name": "export", "lock": lock })).await;
    let again = agent.end(&job, "failed").await;

    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(inside.held(&lock).await, 1, "the next job is not touched");
    let beat = agent.beat(&job, json!({})).await;
    assert_eq!(beat.error(), (410, "Agent.JobEnded"));
    assert_eq!(agent.beat(&next, json!({})).await.status, 200);
}

#[tokio::test]
async fn a_held_lock_is_an_answer_or_an_error_as_overlap_says() {
    let (_inside, lock, agent) = Agent::with_lock("agent-held").await;
    let job = agent.begin(json!({ "name": "first", "lock": lock })).await;

    let mut second = json!({ "name": "second", "lock": lock });
    let skipped = agent.ask(second.clone()).await;
    second["overlap"] = "fail".into();
    let failed = agent.ask(second).await;

    assert_eq!(skipped.status(), (200, "skipped"));
    assert_eq!(skipped.body["holder"], job.body["holder"]);
    assert_eq!(failed.error(), (409, "Lockstep.LockHeld"));
}

#[tokio::test]
async fn a_run_key_has_one_success_for_all_clients() {
    let (_inside, lock, agent) = Agent::with_lock("agent-once").await;
    let wish = json!({ "name": "mail", "lock": lock, "runKey": "order-7" });
    let failed = agent.begin(wish.clone()).await;
    agent.end(&failed, "failed").await;
    let good = agent.begin(wish.clone()).await;
    assert_eq!(good.body["environment"]["LOCKSTEP_RUN_KEY"], "order-7");
    agent.end(&good, "succeeded").await;

    let third = agent.ask(wish).await;

    assert_eq!(third.status(), (200, "duplicate"));
    assert!(third.body["endedAt"].is_string(), "{third:?}");
}

#[tokio::test]
async fn jobs_of_one_process_hold_as_many_permits_as_the_lock_has() {
    let (inside, lock, agent) = Agent::with_lock("agent-permits").await;
    let wish = json!({ "name": "import", "lock": lock, "permits": 2 });

    let first = agent.begin(wish.clone()).await;
    let second = agent.begin(wish.clone()).await;
    let third = agent.ask(wish).await;

    assert_ne!(first.body["holder"], second.body["holder"]);
    assert_eq!(third.body["status"], "skipped");
    assert_eq!(inside.held(&lock).await, 2);
}
