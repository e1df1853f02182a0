//! Protection that is refused: `required` starts nothing, and `best-effort` logs the refusal and
//! works.

use super::{Fleet, Work};
use crate::support::lock;

/// Answers of the agent, and what the message names for each.
const REFUSALS: [(&str, &str); 5] = [
    ("DEPLOYMENT_BLOCKED", "DEPLOYMENT_BLOCKED"),
    ("THROTTLED", "THROTTLED"),
    ("403", "AccessDenied"),
    ("504", "RequestCanceled"),
    ("hang", "NoAnswer"),
];

#[tokio::test]
async fn without_a_service_required_protection_starts_nothing() {
    let (fleet, lock) = Fleet::with_lock("no-service").await;
    let required = Work::guarded(&lock, &["--protect=required"]).seconds(0.2);
    let best_effort = Work::guarded(&lock, &["--protect"]).seconds(0.2);

    let refused = fleet.start(&required).await;
    let code = fleet.ended(&refused, 30).await.code;
    let held = fleet.held(&lock).await;
    let worked = fleet.start(&best_effort).await;
    let worked_code = fleet.ended(&worked, 30).await.code;

    let lines = fleet.lines(&refused).await;
    assert_eq!((code, held), (75, 0), "{lines:#?}");
    assert!(fleet.logged(&refused).await.is_empty(), "{lines:#?}");
    let last = lines.last().expect("a line");
    for part in ["--protect=required", "TASK_NOT_VALID"] {
        assert!(last.contains(part), "{last}");
    }
    let lines = fleet.lines(&worked).await;
    assert_eq!(worked_code, 0, "{lines:#?}");
    let warned = lines.iter().filter(|line| line.contains("TASK_NOT_VALID"));
    assert_eq!(warned.count(), 1, "{lines:#?}");
}

/// Runs one service under one lock for a refusal, which is set up before the task asks. Returns the
/// exit code, whether the batch worked, and the lines of the container.
async fn refused(fleet: &Fleet, mode: &str, reason: &str, times: u32) -> (i64, bool, Vec<String>) {
    let lock = lock("refused");
    let flags = ["--overlap", "queue", "--lease", "12s", mode];
    let work = Work::guarded(&lock, &flags).seconds(0.5);
    let (first, service, task) = fleet.waiting_service(&lock, &work).await;
    fleet.fail_agent(&task.arn, reason, times).await;
    fleet.stop(&first).await;
    let ended = fleet.ended(&task, 60).await;
    fleet.remove(&service).await;
    let logged = fleet.logged(&task).await;
    let worked = logged.iter().any(|logged| logged.event == "start");
    (ended.code, worked, fleet.lines(&task).await)
}

#[tokio::test]
async fn required_starts_nothing_whatever_the_refusal_and_names_it() {
    let fleet = Fleet::open().await;
    for (reason, named) in REFUSALS {
        let (code, worked, lines) = refused(&fleet, "--protect=required", reason, 100).await;

        assert_eq!((code, worked), (75, false), "{reason}: {lines:#?}");
        let last = lines.last().expect("a line");
        for part in ["--protect=required", named] {
            assert!(last.contains(part), "{reason}: {last}");
        }
    }
}

#[tokio::test]
async fn best_effort_works_whatever_the_refusal_and_names_it() {
    let fleet = Fleet::open().await;
    for (reason, named) in REFUSALS {
        let (code, worked, lines) = refused(&fleet, "--protect", reason, 100).await;

        assert_eq!((code, worked), (0, true), "{reason}: {lines:#?}");
        // The batch does not wait for an answer that never comes.
        let is_logged = reason == "hang" || lines.iter().any(|line| line.contains(named));
        assert!(is_logged, "{reason}: {lines:#?}");
    }
}

#[tokio::test]
async fn required_works_if_the_refusal_ends_soon_enough() {
    let fleet = Fleet::open().await;

    let (code, worked, lines) = refused(&fleet, "--protect=required", "THROTTLED", 1).await;

    assert_eq!((code, worked), (0, true), "{lines:#?}");
}
