//! How often each state repeats its call, by error; and where a redriven execution goes on.

use super::play::{Play, ask, exited, failure, granted};
use serde_json::json;

const RESUMES: &str =
    "ASKS > BEGINS > Run Exclusively > Run Batch > Is Redriven > Let Start Show > Resume Run";

/// Returns an execution that was stopped at work and redriven, with `status` as the answer to
/// Resume Run.
fn redriven(status: &str) -> Play {
    Play::granted(json!({}))
        .answers("Run Batch", "hangs done")
        .ends()
        .gives("Resume Run", json!({ "status": status }))
        .redriven_in("Run Batch")
}

#[test]
fn work_that_is_redriven_resumes_its_grant_before_it_begins_again() {
    let played = redriven("resumed").play();

    let path = format!("{RESUMES} > Is Work Done > Run Batch > RELEASES");
    played.takes(&path, &Ok(exited()));
    let redrive = json!({ "grant": granted()["grant"], "count": 1 });
    let payload = ask(json!({ "redrive": redrive, "redriveCount": null }));
    assert_eq!(*played.payload_of("Resume Run"), payload);
    assert_eq!(played.calls_of("Run Batch").len(), 2);
}

#[test]
fn a_redriven_run_does_not_repeat_work_that_succeeded() {
    let played = redriven("finished").play();

    let path = format!("{RESUMES} > Is Work Done > Work Was Done");
    played.takes(&path, &Ok(json!({ "status": "finished" })));
    assert_eq!(played.calls_of("Run Batch").len(), 1);
}

#[test]
fn a_grant_that_is_lost_is_not_resumed() {
    let played = Play::granted(json!({}))
        .answers("Run Batch", "hangs")
        .ends()
        .answers("Resume Run", "Lockstep.LeaseLost")
        .redriven_in("Run Batch")
        .play();

    let path = format!("{RESUMES} > FAILS");
    played.takes(&path, &Err(failure("Lockstep.LeaseLost")));
    assert_eq!(played.calls_of("Run Batch").len(), 1);
}

#[test]
fn a_redrive_before_the_work_began_resumes_the_grant_too() {
    let played = Play::granted(json!({}))
        .works()
        .gives("Resume Run", json!({ "status": "resumed" }))
        .redriven_in("Run Exclusively")
        .play();

    let path = "ASKS > Run Exclusively > BEGINS > Is Redriven > Let Start Show > Resume Run > Is Work Done > Run Batch > RELEASES";
    played.takes(path, &Ok(exited()));
    let begun = played.calls_of("Run Batch").len();
    assert_eq!(begun, 1, "no task before the grant is resumed");
}

#[test]
fn a_second_redrive_resumes_once_more() {
    let played = redriven("resumed").redriven_in("Is Work Done").play();

    assert_eq!(played.end, Ok(exited()));
    let counts = played.values_of("Resume Run", "/Payload/redrive/count");
    assert_eq!(counts, [1, 2]);
}

#[test]
fn a_grant_asked_for_after_a_redrive_has_the_new_redrive_count() {
    for (state, answers) in [
        ("Acquire Lock", ["hangs granted", "", ""]),
        ("Wait For Turn", ["skipped", "hangs granted", "granted"]),
        ("Confirm Grant", ["skipped", "granted", "hangs granted"]),
    ] {
        let [asked, waited, confirmed] = answers;
        let overlap = if waited.is_empty() { "skip" } else { "queue" };
        let played = Play::of(json!({ "overlap": overlap }))
            .answers("Acquire Lock", asked)
            .answers("Wait For Turn", waited)
            .answers("Confirm Grant", confirmed)
            .works()
            .redriven_in(state)
            .play();

        assert_eq!(played.end, Ok(exited()), "{state}");
        let counts = played.values_of(state, "/Payload/redriveCount");
        assert_eq!(counts, [0, 1], "{state}");
        let resumed = played.calls_of("Resume Run").len();
        assert_eq!(resumed, 0, "{state}: the work begins under its own count");
        let beat = &played.payload_of("Keep Lease")["redriveCount"];
        assert_eq!(*beat, 1, "{state}");
    }
}

/// Returns an execution whose `state` fails with `error` at each call.
fn failing(state: &str, error: &str) -> Play {
    let work = match state {
        "Resume Run" => "hangs",
        "Release After Failure" => "States.TaskFailed",
        "Report Stopping" => "States.Timeout",
        _ => "done",
    };
    let (asked, waited) = match state {
        "Acquire Lock" => ("", ""),
        "Wait For Turn" => ("skipped", ""),
        "Confirm Grant" => ("skipped", "granted"),
        _ => ("granted", ""),
    };
    let play = Play::of(json!({ "overlap": "queue" }))
        .answers("Acquire Lock", asked)
        .answers("Wait For Turn", waited)
        .answers("Keep Lease", "ok")
        .answers("Run Batch", work);
    let play = match state {
        "Resume Run" => play.redriven_in("Run Batch"),
        _ => play,
    };
    play.answers(state, error)
}

/// Asserts how often each state calls its service in a day, for each of its errors.
#[track_caller]
fn calls_so_often(rows: &[(&str, &str, usize)]) {
    for (state, errors, calls) in rows {
        for error in errors.split_whitespace() {
            let called = failing(state, error).calls_in(86_400, state);
            assert_eq!(called, *calls, "{state} {error}");
        }
    }
}

#[test]
fn an_error_that_a_retry_cannot_fix_ends_its_state_at_once() {
    let others = [
        ("Acquire Lock", "Lockstep.LockHeld Lockstep.PermitsMismatch"),
        (
            "Wait For Turn",
            "Lockstep.LockHeld Lockstep.PermitsMismatch Lockstep.LockPaused Lockstep.LockFrozen \
             Lockstep.QueueFull",
        ),
        ("Confirm Grant", "Lockstep.PermitsMismatch"),
        ("Resume Run", "Lockstep.LeaseLost"),
        ("Release Lock", ""),
        ("Release After Failure", ""),
        ("Report Stopping", ""),
    ];
    let invalid = "Lockstep.InvalidRequest Lockstep.Denied Lockstep.Corrupt";
    for (state, others) in others {
        calls_so_often(&[(state, invalid, 1), (state, others, 1)]);
    }
}

#[test]
fn a_closed_lock_is_asked_for_once() {
    for error in ["Lockstep.LockPaused", "Lockstep.LockFrozen"] {
        let play = Play::of(json!({})).answers("Acquire Lock", error);
        assert_eq!(play.calls_in(86_400, "Acquire Lock"), 1, "{error}");
    }
}

#[test]
fn a_transient_error_is_retried_a_fixed_number_of_times() {
    // A function that panics fails with the name of a Rust type.
    let passing = "Lockstep.Unavailable Lockstep.Contended Lambda.Unknown alloc::string::String";
    calls_so_often(&[
        ("Acquire Lock", passing, 13),
        ("Wait For Turn", passing, 1001),
        ("Confirm Grant", passing, 31),
        ("Resume Run", passing, 21),
        ("Release Lock", passing, 21),
        ("Release After Failure", passing, 9),
        ("Report Stopping", passing, 4),
    ]);
}

#[test]
fn a_state_that_waits_for_its_turn_registers_again_after_each_time_out() {
    let timed_out = failing("Wait For Turn", "States.Timeout").calls_in(1_000_000, "Wait For Turn");

    assert_eq!(timed_out, 5001);
}

#[test]
fn a_redriven_run_waits_five_minutes_for_the_end_of_its_last_task() {
    let played = failing("Resume Run", "Lockstep.LockHeld").play();

    assert_eq!(played.calls_of("Resume Run").len(), 151);
    assert_eq!(played.seconds, 10 + 300, "and ten before the first request");
    assert_eq!(played.end.unwrap_err().error, "Lockstep.LockHeld");
}

#[test]
fn a_woken_run_asks_again_while_its_grant_cannot_be_read() {
    let unread = "Lockstep.LockHeld Lockstep.LockPaused Lockstep.LockFrozen";
    calls_so_often(&[("Confirm Grant", unread, 31)]);
}
