//! A batch that is expected to succeed every night, with a sweep every ten minutes.

use crate::ending::{exited, run_of};
use crate::functions::Functions;
use crate::scene::{ask_with, merged};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionEnd, Seconds};
use serde_json::{Value, json};

/// The expectation in seconds: a day, one hour for the change of the clocks, and one hour for a slow run.
const EVERY: u64 = 26 * 3600;

/// The batch of one night.
enum Night {
    /// It succeeds after this number of hours.
    Succeeds(u64),
    Fails,
    /// Nothing starts it.
    NotStarted,
}

async fn start(functions: &Functions, name: &str) -> Value {
    let fields = json!({ "expectEverySeconds": EVERY, "leaseSeconds": 86_400 });
    functions.granted_with(ask_with(name, fields)).await
}

/// Waits for `hours` hours, with a sweep every ten minutes.
async fn hours(functions: &Functions, hours: u64) {
    for _ in 0..hours * 6 {
        functions.wait(600);
        functions.sweep().await;
    }
}

/// Carries out the batch of one night, and waits until `length` hours after its start.
async fn night(functions: &Functions, name: &str, night: Night, length: u64) {
    let mut left = length;
    match night {
        Night::Succeeds(took) => {
            let grant = start(functions, name).await;
            hours(functions, took).await;
            left -= took;
            functions.succeed(&grant).await;
        }
        Night::Fails => {
            let grant = start(functions, name).await;
            functions.finish(&grant, "failed").await;
        }
        Night::NotStarted => {}
    }
    hours(functions, left).await;
}

fn missing(functions: &Functions) -> usize {
    let kinds = functions.events.kinds().into_iter();
    kinds.filter(|kind| *kind == EventKind::RunMissing).count()
}

#[tokio::test]
async fn a_clock_change_or_a_slow_run_makes_no_night_missing() {
    let functions = Functions::new();

    for (name, took, length) in [
        ("first", 0, 24),
        ("long", 0, 25),
        ("slow", 1, 24),
        ("short", 0, 23),
        ("last", 0, 24),
    ] {
        night(&functions, name, Night::Succeeds(took), length).await;
        assert_eq!(missing(&functions), 0, "{name}");
    }
}

#[tokio::test]
async fn a_missing_success_is_reported_once_until_the_next_success() {
    for (case, batch) in [("fails", Night::Fails), ("not started", Night::NotStarted)] {
        let functions = Functions::new();
        night(&functions, "run-1", Night::Succeeds(0), 24).await;
        night(&functions, "run-2", batch, 24).await;
        assert_eq!(missing(&functions), 1, "{case}");

        night(&functions, "run-3", Night::NotStarted, 24).await;
        let late = functions.shown().await;
        night(&functions, "run-4", Night::Succeeds(0), 24).await;
        let again = functions.shown().await;

        assert_eq!(missing(&functions), 1, "{case}: reported once");
        assert_eq!(late["lastSuccessAt"], "2026-03-01T06:00:00Z", "{case}");
        assert_eq!(late["missingSince"], "2026-03-02T08:00:00Z", "{case}");
        assert!(late.get("expectedBy").is_none(), "{case}: {late}");
        assert!(again.get("missingSince").is_none(), "{case}: {again}");
        assert_eq!(again["expectedBy"], "2026-03-05T08:00:00Z", "{case}");
        night(&functions, "run-5", Night::NotStarted, 24).await;
        assert_eq!(missing(&functions), 2, "{case}: missing again");
    }
}

#[tokio::test]
async fn run_missing_names_the_expectation_and_the_last_success() {
    for (succeeds, last) in [
        (true, "the last success was at 2026-03-01T06:00:00Z"),
        (false, "no run has succeeded yet"),
    ] {
        let functions = Functions::new();
        let grant = start(&functions, "run-1").await;
        if succeeds {
            functions.succeed(&grant).await;
        }

        functions.wait(2 * EVERY);
        functions.sweep().await;
        functions.sweep().await;

        let event = functions.event(EventKind::RunMissing);
        let reason = format!("a success is expected every 93600 s, and {last}");
        assert_eq!(event.reason, reason);
        assert!(event.advice.ends_with("docs/runbook.md#run-missing"));
        assert_eq!(event.holder, None);
    }
}

#[tokio::test]
async fn an_expectation_is_suspended_in_a_pause_and_restarts_with_the_resume() {
    let functions = Functions::new();
    night(&functions, "run-1", Night::Succeeds(0), 24).await;
    let nightly = json!({ "lock": "nightly" });
    functions.order("pause", nightly.clone()).await;

    hours(&functions, 72).await;
    let paused = functions.shown().await;
    functions.order("resume", nightly).await;
    hours(&functions, 25).await;
    let early = missing(&functions);
    hours(&functions, 2).await;

    assert!(paused.get("missingSince").is_none(), "{paused}");
    assert!(paused.get("expectedBy").is_none(), "{paused}");
    assert_eq!((early, missing(&functions)), (0, 1));
}

#[tokio::test]
async fn a_wrong_expectation_in_a_receipt_does_not_change_the_lock() {
    let functions = Functions::new();
    let grant = start(&functions, "run-1").await;
    assert_eq!(grant["expectEverySeconds"], EVERY);

    let lie = merged(grant, &json!({ "expectEverySeconds": 60 }));
    functions.succeed(&lie).await;

    let record = functions.record("nightly").await.unwrap();
    let every = u32::try_from(EVERY).unwrap();
    let due = functions.now().plus(Seconds::of(every));
    assert_eq!(record.due, Some(due));
}

#[tokio::test]
async fn runs_are_counted_by_how_they_ended_and_queues_by_their_length() {
    let functions = Functions::running(&["a", "b"]);
    let grant = start(&functions, "a").await;
    functions.queue(&["b"]).await;
    functions.wait(60);
    functions.succeed(&grant).await;
    let grant = functions.output("token-b").unwrap()["grant"].clone();
    functions.finish(&grant, "failed").await;

    for (metric, expected) in [
        ("Succeeded", 1.0),
        ("RunSeconds", 60.0),
        ("Failed", 1.0),
        ("Queued", 1.0),
        ("QueueLength", 1.0),
    ] {
        assert_eq!(values(&functions, metric), [expected], "{metric}");
    }
}

/// Returns all values of a metric.
fn values(functions: &Functions, metric: &str) -> Vec<f64> {
    let lines = functions.metrics.all();
    let values = lines.iter().filter_map(|line| line.get(metric));
    values.filter_map(Value::as_f64).collect()
}

#[tokio::test]
async fn the_sweep_counts_the_outcomes_of_dead_runs_and_the_queue() {
    let failed = Some(ExecutionEnd::Failed);
    for (case, end, expected) in [
        ("dead", failed, ["Recovered", "Failed"]),
        ("silent", None, ["Recovered", "Failed"]),
        ("done", failed, ["Recovered", "Succeeded"]),
    ] {
        let functions = Functions::running(&["a", "b", "c"]);
        let policy = json!({ "stalePolicy": "yield" });
        functions.granted_with(run_of("a", policy)).await;
        if case == "done" {
            functions.put_task("a", exited(0));
        }
        functions.queue(&["b", "c"]).await;
        if let Some(end) = end {
            functions.end("a", end);
        }
        functions.silent_for_long(60).await;
        functions.sweep().await;

        let lines = functions.metrics.all();
        let has = |metric: &str| functions.has_counted(metric);
        assert!(expected.into_iter().all(has), "{case}: {lines:?}");
        assert!(!has("Succeeded") || !has("Failed"), "{case}: {lines:?}");
        let length = |line: &&Value| line["QueueLength"] == 2.0 && line.get("Queued").is_none();
        assert!(lines.iter().any(|line| length(&line)), "{case}: {lines:?}");
    }
}

#[tokio::test]
async fn oldest_wait_seconds_counts_from_the_first_registration() {
    let (functions, _) = Functions::at_work(&["a", "b", "c", "r"]).await;
    for name in ["b", "c", "b"] {
        functions.queue(&[name]).await;
        functions.wait(3);
    }
    // `r` is first in the queue, although it has waited for less time than the others.
    let replaces = json!({ "overlap": "replace", "taskToken": "token-r" });
    functions.acquire(ask_with("r", replaces)).await.unwrap();
    // The lock is due only when its holder has been silent for a long time.
    functions.wait(111);

    functions.sweep().await;

    assert_eq!(values(&functions, "OldestWaitSeconds"), [120.0]);
    let shown = functions.shown().await;
    let waiters = &shown["waiters"];
    assert_eq!(waiters[1]["since"], "2026-03-01T06:00:00Z", "{waiters}");
}

#[tokio::test]
async fn a_check_by_the_sweep_reports_no_success_missing_too_early() {
    let fields = json!({ "expectEverySeconds": EVERY });
    let (functions, grant) = Functions::held_with(&["a"], fields).await;
    functions.wait(50);
    functions.renew(&grant).await;

    functions.wait(30);
    let report = functions.sweep().await;

    assert_eq!(report["locks"], 1, "the sweep checked the lock");
    assert_eq!(missing(&functions), 0);
}
