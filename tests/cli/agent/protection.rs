//! One protection for all jobs of a task.

use super::{Agent, HostTask, leased};
use crate::support::{Inside, lock};
use lockstep_tests::stack::{pause, until};
use serde_json::json;

/// Starts an agent in `task`, with `flags`.
async fn agent_in(inside: &Inside, task: &HostTask, flags: &[&str]) -> Agent {
    Agent::start_with(inside, flags, |command| task.put(command)).await
}

#[tokio::test]
async fn the_first_job_sets_protection_and_the_last_end_clears_it() {
    let inside = Inside::open().await;
    let task = HostTask::start(&inside, Some("agent-counted")).await;
    let agent = agent_in(&inside, &task, &["--protect=required"]).await;
    let wish = |name: &str| json!({ "name": name, "lock": lock(name) });

    let first = agent.begin(wish("first")).await;
    let after_first = (task.asked(&inside).await, task.is_protected(&inside).await);
    let second = agent.begin(wish("second")).await;
    agent.end(&first, "succeeded").await;
    pause(500).await;
    let after_one_end = (task.asked(&inside).await, task.is_protected(&inside).await);
    agent.end(&second, "succeeded").await;
    task.until_protected(&inside, false, 10).await;

    assert_eq!(after_first, (vec![true], true));
    assert_eq!(after_one_end, (vec![true], true));
    assert_eq!(task.asked(&inside).await, [true, false]);
    let holder = first.body["holder"].as_str().unwrap_or_default();
    assert!(holder.starts_with(&task.arn), "{holder}");
}

#[tokio::test]
async fn a_job_without_beats_is_protected_until_its_lease_ends() {
    let inside = Inside::open().await;
    let task = HostTask::start(&inside, Some("agent-lapsed")).await;
    let agent = agent_in(&inside, &task, &["--protect"]).await;
    let job = agent.begin(leased(&lock("agent-lapsed"), 8)).await;

    let response = agent.poll(&job, 60).await;
    let while_it_stops = task.is_protected(&inside).await;
    task.until_protected(&inside, false, 10).await;

    let state = response.body["state"].as_str();
    assert_eq!((state, while_it_stops), (Some("lost"), true));
    assert_eq!(task.asked(&inside).await, [true, false]);
}

#[tokio::test]
async fn without_protection_no_job_begins_where_it_is_required() {
    let (inside, lock) = Inside::with_lock("agent-required").await;
    // A task of no service: ECS answers 200 with a failure in the body.
    let task = HostTask::start(&inside, None).await;
    let required = agent_in(&inside, &task, &["--protect=required"]).await;
    let best_effort = agent_in(&inside, &task, &["--protect"]).await;

    let wish = json!({ "name": "export", "lock": lock });
    let refused = required.ask(wish.clone()).await;
    let held = inside.held(&lock).await;
    let begun = best_effort.ask(wish).await;

    assert_eq!(refused.error(), (503, "Agent.NotProtected"));
    let body = refused.body.to_string();
    assert!(body.contains("TASK_NOT_VALID"), "{body}");
    assert_eq!((held, begun.status), (0, 201), "{begun:?}");
}

#[tokio::test]
async fn a_dead_agent_leaves_protection_that_ends_by_itself() {
    let inside = Inside::open().await;
    let task = HostTask::start(&inside, Some("agent-dead")).await;
    inside.set_minute(&task.arn, 3).await;
    let agent = agent_in(&inside, &task, &["--protect=required"]).await;
    agent.begin(leased(&lock("agent-dead"), 60)).await;
    // The protection is renewed before its minute is over.
    let is_renewed = async || task.asked(&inside).await.len() > 1;
    until("a renewal", 10, is_renewed).await;
    let before = task.is_protected(&inside).await;

    agent.process.signal("KILL").await;

    assert!(before);
    task.until_protected(&inside, false, 10).await;
    let asked = task.asked(&inside).await;
    assert!(
        !asked.contains(&false),
        "a killed agent cleared its protection"
    );
}

#[tokio::test]
async fn a_job_that_waited_for_its_protection_begins_with_a_whole_lease() {
    let inside = Inside::open().await;
    let task = HostTask::start(&inside, Some("agent-waits")).await;
    // The agent asks again after five seconds, two more than the lease lasts.
    inside.fail_agent(&task.arn, "DEPLOYMENT_BLOCKED", 1).await;
    let agent = agent_in(&inside, &task, &["--protect=required", "--lease", "10m"]).await;

    let job = agent.begin(leased(&lock("agent-waits"), 5)).await;
    let beat = agent.beat(&job, json!({ "progress": "row 1" })).await;

    assert_eq!(beat.status, 200, "{beat:?}");
    assert_eq!(task.asked(&inside).await, [true, true]);
}

#[tokio::test]
async fn a_client_gone_before_its_task_is_protected_leaves_nothing_behind() {
    let (inside, lock) = Inside::with_lock("agent-gone").await;
    let task = HostTask::start(&inside, Some("agent-gone")).await;
    inside.fail_agent(&task.arn, "hang", 1).await;
    let agent = agent_in(&inside, &task, &["--protect=required", "--lease", "10m"]).await;

    // The answer to this request would wait for the protection.
    let wish = json!({ "name": "export", "lock": lock });
    agent.ask_and_go(&wish, 1).await;
    // The call that hangs is given up after 14 seconds. What it may have set is then cleared.
    let is_cleared = async || task.asked(&inside).await == [true, false];
    until("an end of the protection", 40, is_cleared).await;

    assert!(
        inside.record(&lock).await.is_none(),
        "the lock was asked for"
    );
    assert_eq!(agent.get("/v1/health").await.body["openJobs"], 0);
}
