//! From the first question to the permit, or to the end without one.

use super::play::{Play, answer, exited, failure, granted, input_with};
use crate::invoke::Failure;
use serde_json::{Value, json};

const WORKS: &str = "Run Exclusively > Begin Work > Run Batch > Was Work Stopped > Release Lock";

fn queued(fields: Value) -> Value {
    let mut input = input_with(json!({ "overlap": "queue" }));
    for (name, value) in fields.as_object().into_iter().flatten() {
        input[name] = value.clone();
    }
    input
}

fn closed(error: &str) -> Failure {
    failure(error)
}

fn held() -> Failure {
    Failure::new("Lockstep.LockHeld", "held by another")
}

#[test]
fn a_run_that_has_a_permit_works_and_hands_out_what_its_task_came_to() {
    for status in ["granted", "alreadyHeld"] {
        let mut grant = granted();
        grant["status"] = status.into();

        let played = Play::of(input_with(json!({})))
            .gives("Acquire Lock", grant)
            .works()
            .play();

        let path = format!("Acquire Lock > Lock Is Ours > {WORKS}");
        played.takes(&path, &Ok(exited()));
    }
}

#[test]
fn a_run_without_a_permit_ends_as_its_input_says() {
    let report = "Acquire Lock > Lock Is Ours > Report Skip";
    let fail = "Acquire Lock > Lock Is Ours > Fail On Skip";
    for (status, on_skip, path, end) in [
        ("skipped", json!(null), report, Ok(answer("skipped"))),
        ("skipped", json!("succeed"), report, Ok(answer("skipped"))),
        ("skipped", json!("fail"), fail, Err(held())),
        // The tick has run: that is no failure of this start.
        ("duplicate", json!(null), report, Ok(answer("duplicate"))),
        ("duplicate", json!("fail"), report, Ok(answer("duplicate"))),
    ] {
        let played = Play::of(input_with(json!({ "onSkip": on_skip })))
            .gives("Acquire Lock", answer(status))
            .play();

        played.takes(path, &end);
    }
}

#[test]
fn a_run_that_waits_is_woken_confirms_its_grant_and_works() {
    for overlap in ["queue", "replace"] {
        let played = Play::of(input_with(json!({ "overlap": overlap })))
            .gives("Acquire Lock", answer("skipped"))
            .gives("Wait For Turn", answer("granted"))
            .gives("Confirm Grant", granted())
            .works()
            .play();

        let path = format!(
            "Acquire Lock > Lock Is Ours > Wait For Turn > Is Woken > Confirm Grant > Is Confirmed > {WORKS}"
        );
        played.takes(&path, &Ok(exited()));
        assert_eq!(
            played.arguments_of("Release Lock")["Payload"]["grant"],
            granted()["grant"]
        );
    }
}

#[test]
fn what_a_woken_run_does_depends_on_what_its_grant_is_read_as() {
    let waits = "Acquire Lock > Lock Is Ours > Wait For Turn > Is Woken";
    let confirms = "Confirm Grant > Is Confirmed";
    let again = "Wait For Turn > Is Woken";
    let cases = [
        (
            "granted",
            "granted",
            format!("{waits} > {confirms} > {WORKS}"),
            Ok(exited()),
        ),
        (
            "alreadyHeld",
            "alreadyHeld",
            format!("{waits} > {confirms} > {WORKS}"),
            Ok(exited()),
        ),
        (
            "granted",
            "duplicate",
            format!("{waits} > {confirms} > Report Skip"),
            Ok(answer("duplicate")),
        ),
        // A forged SendTaskSuccess woke it: it waits on.
        (
            "granted",
            "skipped",
            format!("{waits} > {confirms} > {again} > Lock Is Ours > Report Skip"),
            Ok(answer("gaveUp")),
        ),
        (
            "gaveUp",
            "",
            format!("{waits} > Lock Is Ours > Report Skip"),
            Ok(answer("gaveUp")),
        ),
        (
            "duplicate",
            "",
            format!("{waits} > Lock Is Ours > Report Skip"),
            Ok(answer("duplicate")),
        ),
        (
            "skipped",
            "",
            format!("{waits} > Lock Is Ours > Report Skip"),
            Ok(answer("skipped")),
        ),
    ];
    for (woken, read, path, end) in cases {
        let mut confirmed = granted();
        confirmed["status"] = read.into();
        let confirmed = match read {
            "granted" | "alreadyHeld" => confirmed,
            read => answer(read),
        };

        let played = Play::of(queued(json!({})))
            .gives("Acquire Lock", answer("skipped"))
            .gives("Wait For Turn", answer(woken))
            .gives("Wait For Turn", answer("gaveUp"))
            .gives("Confirm Grant", confirmed)
            .works()
            .play();

        played.takes(&path, &end);
    }
}

#[test]
fn a_run_that_gives_up_fails_where_its_input_says_so() {
    for (on_skip, last, end) in [
        ("succeed", "Report Skip", Ok(answer("gaveUp"))),
        ("fail", "Fail On Skip", Err(held())),
    ] {
        let played = Play::of(queued(json!({ "onSkip": on_skip })))
            .gives("Acquire Lock", answer("skipped"))
            .gives("Wait For Turn", answer("gaveUp"))
            .play();

        let path = format!(
            "Acquire Lock > Lock Is Ours > Wait For Turn > Is Woken > Lock Is Ours > {last}"
        );
        played.takes(&path, &end);
    }
}

#[test]
fn a_run_that_meets_one_that_is_being_stopped_waits_for_its_end_whatever_its_policy() {
    let ending = || {
        let mut answer = answer("skipped");
        answer["ending"] = true.into();
        answer
    };
    let waits = "Acquire Lock > Lock Is Ours > Wait For Turn > Is Woken";
    let works = format!("{waits} > Confirm Grant > Is Confirmed > {WORKS}");
    // A retry of the caller must not turn green without a run.
    let fails = format!("{waits} > Lock Is Ours > Fail On Skip");
    let reports = format!("{waits} > Lock Is Ours > Report Skip");
    for (overlap, woken, path, end) in [
        (json!(null), "granted", &works, Ok(exited())),
        (json!("skip"), "gaveUp", &fails, Err(held())),
        (json!("fail"), "gaveUp", &fails, Err(held())),
        (json!("queue"), "granted", &works, Ok(exited())),
        (json!("queue"), "gaveUp", &reports, Ok(answer("gaveUp"))),
    ] {
        let played = Play::of(input_with(json!({ "overlap": overlap })))
            .gives("Acquire Lock", ending())
            .gives("Wait For Turn", answer(woken))
            .gives("Confirm Grant", granted())
            .works()
            .play();

        played.takes(path, &end);
    }

    let mut not_ending = answer("skipped");
    not_ending["ending"] = false.into();
    let played = Play::of(input_with(json!({})))
        .gives("Acquire Lock", not_ending.clone())
        .play();
    played.takes("Acquire Lock > Lock Is Ours > Report Skip", &Ok(not_ending));
}

#[test]
fn a_closed_lock_fails_a_run_that_does_not_wait_and_keeps_one_that_does() {
    for error in ["Lockstep.LockPaused", "Lockstep.LockFrozen"] {
        let refused = Play::of(input_with(json!({})))
            .fails("Acquire Lock", error)
            .play();
        refused.takes("Acquire Lock > Lock Is Ours > Rethrow", &Err(closed(error)));

        let waits = Play::of(queued(json!({})))
            .fails("Acquire Lock", error)
            .gives("Wait For Turn", answer("granted"))
            .gives("Confirm Grant", granted())
            .works()
            .play();
        let path = format!(
            "Acquire Lock > Lock Is Ours > Wait For Turn > Is Woken > Confirm Grant > Is Confirmed > {WORKS}"
        );
        waits.takes(&path, &Ok(exited()));
    }
}

#[test]
fn a_refusal_is_the_error_of_the_execution() {
    for error in ["Lockstep.LockHeld", "Lockstep.PermitsMismatch"] {
        let played = Play::of(input_with(json!({})))
            .fails("Acquire Lock", error)
            .play();
        played.takes("Acquire Lock", &Err(failure(error)));
    }
    let full = Play::of(queued(json!({ "maxQueue": 1 })))
        .gives("Acquire Lock", answer("skipped"))
        .fails("Wait For Turn", "Lockstep.QueueFull")
        .play();
    full.takes(
        "Acquire Lock > Lock Is Ours > Wait For Turn",
        &Err(failure("Lockstep.QueueFull")),
    );
}
