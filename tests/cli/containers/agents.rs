//! `lockstep agent` as the first process of a container.

use super::image::LOCKSTEP;
use super::{Fleet, Work};
use crate::agent::Agent;
use crate::operators::printed;
use lockstep::domain::RunOutcome;
use lockstep_tests::stack::{ending, now, until};
use serde_json::json;

/// A program that begins a job under each of two locks, and works for long.
const PROGRAM: &str = "for name in one two; do \
    /bin/busybox wget -q -O - --header 'Content-Type: application/json' \
    --post-data \"{\\\"name\\\": \\\"$name\\\", \\\"lock\\\": \\\"$LOCK/$name\\\"}\" $LOCKSTEP_AGENT/v1/jobs || exit 1; \
    done; sleep 300";

#[tokio::test]
async fn locks_of_a_killed_container_are_freed_before_their_leases_end() {
    let (fleet, lock) = Fleet::with_lock("killed-agent").await;
    let entry = [LOCKSTEP, "agent", "--lease", "60s", "--"];
    let work = Work::entered_by(&entry).script(PROGRAM).env("LOCK", &lock);
    let task = fleet.start(&work).await;
    let locks = ["one", "two"].map(|name| format!("{lock}/{name}"));
    for lock in &locks {
        fleet.until_held(lock, 1, 30).await;
    }
    let container = task.runtime_id(fleet.stack()).await;
    let record = fleet.record(&locks[0]).await.expect("a record");
    let token = record.last_token.number();
    let lease = fleet.lease_end(&locks[0]).await;

    fleet.docker("kill", &task).await;
    fleet.ended(&task, 20).await;
    let mut found = Vec::new();
    for lock in &locks {
        found.push(printed(&fleet, &["show", lock]).await["holders"].take());
    }
    let next = Agent::start(&fleet, &[]).await;
    let wish = json!({ "name": "next", "lock": locks[0] });
    let is_begun = async || next.ask(wish.clone()).await.status == 201;
    until("the next job", 60, is_begun).await;
    let began = now();

    for holders in found {
        let (holder, end) = (&holders[0]["holder"], &holders[0]["tasks"][0]);
        let holder = holder.as_str().unwrap_or_default();
        assert!(holder.contains(&container), "{holders}");
        assert_eq!(end["arn"], json!(task.arn));
        assert_eq!(end["exitCode"], 137);
    }
    assert!(began < lease, "{began} {lease}");
    let run = fleet.stack().whole_entry(&locks[0], token, 10).await;
    assert_eq!(ending(&run).0, RunOutcome::Recovered, "{run:?}");
    assert_eq!(run.task.expect("the task").runtime_id, Some(container));
}
