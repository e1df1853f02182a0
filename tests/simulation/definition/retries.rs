//! How often each state calls again, by error.

use super::play::Play;
use serde_json::json;

/// An execution whose state `state` fails with `error` for ever.
fn failing(state: &str, error: &str) -> Play {
    let play = Play::of(json!({ "overlap": "queue" }));
    let work = match state {
        "Resume Run" => "hangs",
        "Release After Failure" => "States.TaskFailed",
        "Report Stopping" => "States.Timeout",
        _ => "ok",
    };
    let (asked, waited) = match state {
        "Acquire Lock" => ("", ""),
        "Wait For Turn" => ("skipped", ""),
        "Confirm Grant" => ("skipped", "granted"),
        _ => ("granted", ""),
    };
    let play = play
        .answers("Acquire Lock", asked)
        .answers("Wait For Turn", waited);
    let play = match asked {
        "granted" => play.answers("Keep Lease", "ok").answers("Run Batch", work),
        _ => play,
    };
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
fn an_error_that_a_repetition_cannot_mend_ends_its_state_at_once() {
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
fn what_may_pass_is_tried_again_so_often_and_no_longer() {
    // A function that panics reports the name of a type.
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
