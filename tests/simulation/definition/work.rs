//! How the work ends, and what becomes of the lock then.

use super::play::{Play, exited, failure, granted, input_with};
use crate::invoke::Failure;
use serde_json::{Value, json};

const BEGINS: &str = "Acquire Lock > Lock Is Ours > Run Exclusively > Begin Work > Run Batch";

fn play() -> Play {
    Play::granted(input_with(json!({}))).ends()
}

#[test]
fn work_that_fails_releases_the_lock_as_failed_and_its_error_is_the_executions() {
    for error in [
        "States.TaskFailed",
        "ECS.AccessDeniedException",
        "States.QueryEvaluationError",
    ] {
        let played = play().fails("Run Batch", error).play();

        let redriven = match error {
            "States.QueryEvaluationError" => "Is Redriven > ",
            _ => "",
        };
        let path = format!("{BEGINS} > {redriven}Release After Failure > Fail Work > Rethrow");
        played.takes(&path, &Err(failure(error)));
        let report = json!({ "grant": granted()["grant"], "outcome": "failed" });
        assert_eq!(
            played.arguments_of("Release After Failure")["Payload"],
            report
        );
    }
}

#[test]
fn work_over_its_time_is_reported_as_stopping_and_the_lock_stays_held() {
    let played = Play::granted(input_with(json!({ "maxRunSeconds": 90 })))
        .hangs("Run Batch")
        .ends()
        .play();

    let path = format!("{BEGINS} > Report Stopping > Fail Work > Rethrow");
    played.takes(&path, &Err(Failure::new("States.Timeout", "")));
    assert_eq!(played.seconds, 90);
    let report = json!({ "grant": granted()["grant"], "outcome": "stopping" });
    assert_eq!(played.arguments_of("Report Stopping")["Payload"], report);
}

#[test]
fn a_report_that_fails_changes_nothing_about_how_the_work_ended() {
    for (error, report) in [
        ("States.TaskFailed", "Release After Failure"),
        ("States.Timeout", "Report Stopping"),
    ] {
        let played = Play::granted(input_with(json!({})))
            .gives("Keep Lease", json!({}))
            .fails("Run Batch", error)
            .fails(report, "Lockstep.Unavailable")
            .play();

        let path = format!("{BEGINS} > {report} > Fail Work > Rethrow");
        played.takes(&path, &Err(failure(error)));
    }
}

#[test]
fn a_release_that_fails_for_good_is_the_error_of_the_execution() {
    let played = Play::granted(input_with(json!({})))
        .gives("Keep Lease", json!({}))
        .gives("Run Batch", exited())
        .fails("Release Lock", "Lockstep.Corrupt")
        .play();

    let path = format!("{BEGINS} > Was Work Stopped > Release Lock > Rethrow");
    played.takes(&path, &Err(failure("Lockstep.Corrupt")));
}

#[test]
fn a_task_counts_as_done_only_if_its_container_exited_before_any_stop() {
    let early = "2026-03-01T00:00:00Z";
    let late = "2026-03-01T00:00:01Z";
    let times = |exited: &str, stopping: &str| json!({ "StopCode": "UserInitiated", "ExecutionStoppedAt": exited, "StoppingAt": stopping });
    let done = |task: Value| {
        let played = play().gives("Run Batch", task.clone()).play();
        let path = format!("{BEGINS} > Was Work Stopped > Release Lock");
        played.takes(&path, &Ok(task));
        let report = json!({ "grant": granted()["grant"], "outcome": "succeeded" });
        assert_eq!(played.arguments_of("Release Lock")["Payload"], report);
    };
    done(exited());
    done(json!({ "Containers": [] }));
    done(times(early, late));
    // What exited by itself is not stopped, whatever its times say.
    let mut task = times(late, early);
    task["StopCode"] = "EssentialContainerExited".into();
    done(task);

    let stopped = |task: Value, cause: &str| {
        let played = play().gives("Run Batch", task).play();
        let path =
            format!("{BEGINS} > Was Work Stopped > Release After Failure > Fail Work > Rethrow");
        played.takes(&path, &Err(Failure::new("Lockstep.WorkStopped", cause)));
    };
    stopped(times(late, early), "the task was stopped: UserInitiated");
    stopped(times(early, early), "the task was stopped: UserInitiated");
    for field in ["ExecutionStoppedAt", "StoppingAt"] {
        let mut task = times(early, late);
        task.as_object_mut().expect("an object").remove(field);
        stopped(task, "the task was stopped: UserInitiated");
    }
    stopped(
        json!({ "StopCode": "SpotInterruption", "StoppedReason": "taken back" }),
        "the task was stopped: SpotInterruption, taken back",
    );
}

#[test]
fn a_lost_lease_ends_the_work_and_is_the_error_of_the_execution() {
    let played = Play::granted(input_with(json!({})))
        .hangs("Keep Lease")
        .fails("Keep Lease", "Lockstep.LeaseLost")
        .hangs("Run Batch")
        .play();

    played.takes(
        &format!("{BEGINS} > Rethrow"),
        &Err(failure("Lockstep.LeaseLost")),
    );
    assert_eq!(
        played.seconds, 21,
        "a beat of 20 s, and a second to the next"
    );
}

#[test]
fn whatever_else_becomes_of_a_heartbeat_the_work_goes_on() {
    for (error, least, most) in [
        // A failure of the table passes: a beat each second.
        ("Lockstep.Unavailable", 950, 1000),
        ("Lockstep.Contended", 950, 1000),
        // Others are tried less often, and for ever.
        ("Lambda.Unknown", 95, 110),
        ("Lockstep.Denied", 95, 110),
        ("alloc::string::String", 95, 110),
    ] {
        let play = Play::granted(input_with(json!({})))
            .fails("Keep Lease", error)
            .hangs("Run Batch");
        let beats = play.calls_in(1000, "Keep Lease");
        assert!((least..=most).contains(&beats), "{error}: {beats}");
    }
    let play = Play::granted(input_with(json!({})))
        .hangs("Keep Lease")
        .hangs("Run Batch");
    let beats = play.calls_in(2100, "Keep Lease");
    assert_eq!(beats, 100, "a beat of 20 s, and a second to the next");
}
