//! How often each state calls again, by error.

use super::play::{Play, answer, granted, input_with};
use serde_json::{Value, json};

/// An execution whose state `state` fails with `error` for ever.
fn failing(state: &str, error: &str) -> Play {
    let play = Play::of(input_with(json!({ "overlap": "queue" })));
    let skipped = || answer("skipped");
    match state {
        "Acquire Lock" => play,
        "Wait For Turn" => play.gives("Acquire Lock", skipped()),
        "Confirm Grant" => play
            .gives("Acquire Lock", skipped())
            .gives("Wait For Turn", answer("granted")),
        "Resume Run" => play
            .gives("Acquire Lock", granted())
            .gives("Keep Lease", json!({}))
            .hangs("Run Batch")
            .redriven_in("Run Batch"),
        _ => ended(
            play.gives("Acquire Lock", granted())
                .gives("Keep Lease", json!({})),
            state,
        ),
    }
    .fails(state, error)
}

/// The work ends so that `state` reports it.
fn ended(play: Play, state: &str) -> Play {
    match state {
        "Release After Failure" => play.fails("Run Batch", "States.TaskFailed"),
        "Report Stopping" => play.fails("Run Batch", "States.Timeout"),
        _ => play.gives("Run Batch", Value::Object([].into_iter().collect())),
    }
}

#[test]
fn an_error_that_a_repetition_cannot_mend_ends_its_state_at_once() {
    let invalid = [
        "Lockstep.InvalidRequest",
        "Lockstep.Denied",
        "Lockstep.Corrupt",
    ];
    let closed = ["Lockstep.LockPaused", "Lockstep.LockFrozen"];
    let refused = ["Lockstep.LockHeld", "Lockstep.PermitsMismatch"];
    let none: [&str; 0] = [];
    for (state, others) in [
        ("Acquire Lock", [&refused[..], &[]].concat()),
        (
            "Wait For Turn",
            [&refused[..], &closed[..], &["Lockstep.QueueFull"]].concat(),
        ),
        ("Confirm Grant", vec!["Lockstep.PermitsMismatch"]),
        ("Resume Run", vec!["Lockstep.LeaseLost"]),
        ("Release Lock", none.to_vec()),
        ("Release After Failure", none.to_vec()),
        ("Report Stopping", none.to_vec()),
    ] {
        for error in invalid.into_iter().chain(others) {
            let calls = failing(state, error).calls_in(86_400, state);
            assert_eq!(calls, 1, "{state} {error}");
        }
    }
}

#[test]
fn a_closed_lock_is_asked_for_once() {
    for error in ["Lockstep.LockPaused", "Lockstep.LockFrozen"] {
        let play = Play::of(input_with(json!({}))).fails("Acquire Lock", error);
        assert_eq!(play.calls_in(86_400, "Acquire Lock"), 1, "{error}");
    }
}

#[test]
fn what_may_pass_is_tried_again_so_often_and_no_longer() {
    for (state, calls) in [
        ("Acquire Lock", 13),
        ("Wait For Turn", 1001),
        ("Confirm Grant", 31),
        ("Resume Run", 21),
        ("Release Lock", 21),
        ("Release After Failure", 9),
        ("Report Stopping", 4),
    ] {
        // A function that panics reports the name of a type.
        for error in [
            "Lockstep.Unavailable",
            "Lockstep.Contended",
            "Lambda.Unknown",
            "alloc::string::String",
        ] {
            let play = failing(state, error);
            assert_eq!(play.calls_in(86_400, state), calls, "{state} {error}");
        }
    }
}

#[test]
fn a_state_that_waits_for_its_turn_registers_again_after_each_time_out() {
    let timed_out = failing("Wait For Turn", "States.Timeout").calls_in(1_000_000, "Wait For Turn");

    assert_eq!(timed_out, 5001);
}

#[test]
fn a_redriven_run_waits_five_minutes_for_the_end_of_its_last_task() {
    let played = failing("Resume Run", "Lockstep.LockHeld").play();

    assert_eq!(played.count_of("Resume Run"), 151);
    assert_eq!(played.seconds, 300);
    assert_eq!(
        played.end.map_err(|failure| failure.error),
        Err("Lockstep.LockHeld".into())
    );
}

#[test]
fn a_woken_run_asks_again_while_its_grant_cannot_be_read() {
    for error in [
        "Lockstep.LockHeld",
        "Lockstep.LockPaused",
        "Lockstep.LockFrozen",
    ] {
        let calls = failing("Confirm Grant", error).calls_in(86_400, "Confirm Grant");
        assert_eq!(calls, 31, "{error}");
    }
}
