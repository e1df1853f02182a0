//! How the work ends, and what the states do with the lock then.

use super::play::{Play, exited, failure, granted, merged};
use crate::invoke::Failure;
use serde_json::{Value, json};

fn play() -> Play {
    Play::granted(json!({})).ends()
}

#[test]
fn a_failure_that_leaves_no_task_releases_the_lock_as_failed() {
    let refused = [
        "ECS.AccessDeniedException",
        "ECS.BlockedException",
        "ECS.ClientException",
        "ECS.ClusterNotFoundException",
        "ECS.InvalidParameterException",
        "ECS.PlatformTaskDefinitionIncompatibilityException",
        "ECS.PlatformUnknownException",
        "ECS.UnsupportedFeatureException",
        // The task has ended.
        "States.TaskFailed",
    ];
    let paths = refused.map(|error| (error, "May Task Be Running"));
    for (error, path) in paths
        .into_iter()
        .chain([("States.QueryEvaluationError", "Is Redriven")])
    {
        let played = play().answers("Run Batch", error).play();

        let path = format!("ASKS > BEGINS > {path} > Release After Failure > FAILS");
        played.takes(&path, &Err(failure(error)));
    }
}

#[test]
fn an_error_of_run_task_that_may_have_started_a_task_keeps_the_lock() {
    let path = "ASKS > BEGINS > May Task Be Running > Report Stopping > FAILS";
    for error in [
        "ECS.ServerException",
        "ECS.SdkClientException",
        // The clientToken was used before, so an earlier attempt has reached ECS.
        "ECS.ConflictException",
        "ECS.AnErrorOfTomorrow",
        // The state ends without a heartbeat, and its task goes on.
        "States.HeartbeatTimeout",
    ] {
        let played = play().answers("Run Batch", error).play();
        played.takes(path, &Err(failure(error)));
    }

    let unknown = play().answers("Run Batch", "ECS.AmazonECSException").play();
    let path = "ASKS > BEGINS > May Start Again > May Task Be Running > Report Stopping > FAILS";
    unknown.takes(path, &Err(failure("ECS.AmazonECSException")));
}

/// Answers of RunTask that has started nothing.
const NOTHING_STARTED: [(&str, &str); 3] = [
    ("ECS.ThrottlingException", "Rate exceeded"),
    ("AmazonECS.Unknown", ""),
    (
        "ECS.AmazonECSException",
        "Capacity is unavailable at this time. Please try again later or in a different availability zone",
    ),
];

const AGAIN: &str =
    "May Start Again > Wait For Capacity > Confirm Lease > Is Lease Held > Run Batch";

#[test]
fn a_task_that_was_not_started_is_started_a_little_later() {
    for (error, cause) in NOTHING_STARTED {
        let nothing = Failure::new(error, cause);
        let played = play()
            .fails("Run Batch", nothing.clone())
            .fails("Run Batch", nothing.clone())
            .answers("Run Batch", "done")
            .gives("Confirm Lease", renewed())
            .play();

        let path = format!("ASKS > BEGINS > {AGAIN} > {AGAIN} > RELEASES");
        played.takes(&path, &Ok(exited()));
        assert!((11..=19).contains(&played.seconds), "{}", played.seconds);
    }
}

#[test]
fn a_task_that_is_never_started_fails_its_run_after_five_minutes() {
    for (error, cause) in NOTHING_STARTED {
        let nothing = Failure::new(error, cause);
        let played = play()
            .fails("Run Batch", nothing.clone())
            .gives("Confirm Lease", renewed())
            .play();

        let again = [AGAIN; 12].join(" > ");
        let path = format!(
            "ASKS > BEGINS > {again} > May Start Again > May Task Be Running > Release After Failure > FAILS"
        );
        played.takes(&path, &Err(nothing));
        assert!((225..=385).contains(&played.seconds), "{}", played.seconds);
    }
}

#[test]
fn a_run_that_lost_its_lease_before_its_task_started_starts_none() {
    let lost = "Lockstep.LeaseLost";
    let by_error = play().answers("Confirm Lease", lost);
    // Under `yield`, the heartbeat of a run without its permit is no error.
    let ended = json!({ "status": "ended" });
    let by_answer = play().gives("Confirm Lease", ended);
    for (play, steps) in [
        (by_error, "Confirm Lease"),
        (by_answer, "Confirm Lease > Is Lease Held"),
    ] {
        let played = play.answers("Run Batch", "AmazonECS.Unknown").play();

        let path = format!(
            "ASKS > BEGINS > May Start Again > Wait For Capacity > {steps} > Is Redriven > Release After Failure > FAILS"
        );
        let error = played.end.clone().expect_err("a failure").error;
        assert_eq!(error, lost);
        played.takes(&path, &played.end);
    }
}

fn renewed() -> Value {
    json!({ "status": "renewed" })
}

#[test]
fn work_over_its_time_is_reported_as_stopping_and_the_lock_stays_held() {
    let play = Play::granted(json!({ "maxRunSeconds": 90 }));
    let played = play.answers("Run Batch", "hangs").ends().play();

    let end = Err(Failure::new("States.Timeout", ""));
    played.takes("ASKS > BEGINS > Report Stopping > FAILS", &end);
    assert_eq!(played.seconds, 90);
}

#[test]
fn a_report_that_fails_changes_nothing_about_how_the_work_ended() {
    for (error, report) in [
        (
            "States.TaskFailed",
            "May Task Be Running > Release After Failure",
        ),
        (
            "ECS.ServerException",
            "May Task Be Running > Report Stopping",
        ),
        ("States.Timeout", "Report Stopping"),
    ] {
        let played = Play::granted(json!({}))
            .answers("Keep Lease", "ok")
            .answers("Run Batch", error)
            .answers(
                report.rsplit(" > ").next().unwrap_or(report),
                "Lockstep.Unavailable",
            )
            .play();

        let path = format!("ASKS > BEGINS > {report} > FAILS");
        played.takes(&path, &Err(failure(error)));
    }
}

#[test]
fn a_release_that_fails_for_good_is_the_error_of_the_execution() {
    let played = Play::granted(json!({}))
        .answers("Keep Lease", "ok")
        .answers("Run Batch", "done")
        .answers("Release Lock", "Lockstep.Corrupt")
        .play();

    let path = "ASKS > BEGINS > RELEASES > Rethrow";
    played.takes(path, &Err(failure("Lockstep.Corrupt")));
}

#[test]
fn a_task_counts_as_done_only_if_its_container_exited_before_any_stop() {
    let (early, late) = (json!("2026-03-01T00:00:00Z"), json!("2026-03-01T00:00:01Z"));
    let task = |code: &str, exited: &Value, stopping: &Value| {
        let times = json!({ "ExecutionStoppedAt": exited, "StoppingAt": stopping });
        merged(json!({ "StopCode": code }), times)
    };
    let stopped = |exited, stopping| task("UserInitiated", exited, stopping);
    let none = Value::Null;
    for task in [
        exited(),
        stopped(&early, &late),
        json!({ "ExecutionStoppedAt": early, "StoppingAt": late }),
        // A container that exits by itself is not stopped, whatever its times say.
        task("EssentialContainerExited", &late, &early),
    ] {
        let played = play().gives("Run Batch", task.clone()).play();
        played.takes("ASKS > BEGINS > RELEASES", &Ok(task));
    }

    let taken_back = json!({ "StopCode": "SpotInterruption", "StoppedReason": "taken back" });
    for (task, why) in [
        (stopped(&late, &early), "UserInitiated"),
        (stopped(&early, &early), "UserInitiated"),
        (stopped(&none, &late), "UserInitiated"),
        (stopped(&early, &none), "UserInitiated"),
        (taken_back, "SpotInterruption, taken back"),
        (json!({ "Containers": [] }), "ECS reports no stop code"),
    ] {
        let played = play().gives("Run Batch", task).play();
        let cause = format!("the task was stopped: {why}");
        let path = "ASKS > BEGINS > Was Work Stopped > Release After Failure > FAILS";
        played.takes(path, &Err(Failure::new("Lockstep.WorkStopped", &cause)));
    }
}

#[test]
fn a_lost_lease_ends_the_work_and_is_the_error_of_the_execution() {
    let played = Play::granted(json!({}))
        .answers("Keep Lease", "hangs Lockstep.LeaseLost")
        .answers("Run Batch", "hangs")
        .play();

    let end = Err(failure("Lockstep.LeaseLost"));
    played.takes("ASKS > BEGINS > Rethrow", &end);
    assert_eq!(played.seconds, 20, "the second heartbeat loses it");
}

#[test]
fn only_a_lost_lease_lets_a_heartbeat_end_the_work() {
    for (answer, seconds, least, most) in [
        // A failure of the table soon passes: a heartbeat each second.
        ("Lockstep.Unavailable", 1000, 950, 1000),
        ("Lockstep.Contended", 1000, 950, 1000),
        // After other errors, heartbeats are less frequent, and go on without an end.
        ("Lambda.Unknown", 1000, 95, 110),
        ("Lockstep.Denied", 1000, 95, 110),
        ("alloc::string::String", 1000, 95, 110),
    ] {
        let play = Play::granted(json!({}))
            .answers("Keep Lease", answer)
            .answers("Run Batch", "hangs");
        let beats = play.calls_in(seconds, "Keep Lease");
        assert!((least..=most).contains(&beats), "{answer}: {beats}");
    }
}

#[test]
fn the_heartbeat_and_the_lease_grow_with_the_age_of_the_run() {
    let default: &[_] = &[300, 400, 533, 711, 900, 900];
    for (fields, granted, expected) in [
        (json!({}), (900, 300), default),
        (json!({}), (60, 20), &[20, 26, 35, 47, 62, 83]),
        (
            json!({ "maxHeartbeatSeconds": 30 }),
            (60, 20),
            &[20, 26, 30, 30],
        ),
        (
            json!({ "maxHeartbeatSeconds": 10 }),
            (60, 20),
            &[20, 20, 20],
        ),
        (
            json!({ "leaseSeconds": 100, "heartbeatSeconds": 5 }),
            (100, 5),
            &[5, 6, 8, 11],
        ),
        (json!({}), (3600, 1200), &[1200, 1200]),
    ] {
        let (lease, heartbeat) = granted;
        let beats = beats_of(fields.clone(), lease, heartbeat, 100_000);
        let times: Vec<_> = beats.iter().map(|(time, _)| *time).collect();
        assert_eq!(times[..expected.len()], *expected, "{fields}");
        for (time, length) in beats {
            let grown = if time > heartbeat { 3 * (time + 1) } else { 0 };
            assert_eq!(
                length,
                lease.max(grown),
                "{fields}: a heartbeat of {time} s"
            );
        }
    }
    assert_eq!(beats_of(json!({}), 900, 300, 3600).len(), 6, "an hour");
    assert_eq!(beats_of(json!({}), 900, 300, 86_400).len(), 98, "a day");
}

/// Returns `heartbeatSeconds` and `leaseSeconds` of each heartbeat in `seconds` seconds.
fn beats_of(fields: Value, lease: u64, heartbeat: u64, seconds: u64) -> Vec<(u64, u64)> {
    let answer = merged(
        granted(),
        json!({ "leaseSeconds": lease, "heartbeatSeconds": heartbeat }),
    );
    let play = Play::of(fields).gives("Acquire Lock", answer);
    let play = play
        .answers("Keep Lease", "hangs")
        .answers("Run Batch", "hangs");
    let beats = play.all_calls_in(seconds, "Keep Lease").into_iter();
    let beats = beats.map(|beat| {
        let payload = &beat.arguments["Payload"];
        let [time, length] =
            ["heartbeatSeconds", "leaseSeconds"].map(|name| payload[name].as_f64());
        assert_eq!(
            beat.timeout_seconds.map(|time| time as f64),
            time,
            "{payload}"
        );
        (time.expect("a time") as u64, length.expect("a time") as u64)
    });
    beats.collect()
}
