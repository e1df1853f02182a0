//! An execution that is redriven goes on from where it stood.

use super::play::{Play, ask, exited, failure, granted};
use crate::asl::Call;
use serde_json::{Value, json};

const RESUMES: &str =
    "ASKS > BEGINS > Run Exclusively > Run Batch > Is Redriven > Let Start Show > Resume Run";

/// An execution that was interrupted at work, with this answer to its question for the grant.
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
fn work_that_was_done_is_not_done_again() {
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
    let count = |call: &Call| call.arguments["Payload"]["redrive"]["count"].clone();
    let counts: Vec<Value> = played
        .calls_of("Resume Run")
        .into_iter()
        .map(count)
        .collect();
    assert_eq!(counts, [1, 2]);
}

#[test]
fn a_run_that_asks_after_a_redrive_has_a_grant_of_that_redrive() {
    for (state, answers) in [
        ("Acquire Lock", ["hangs granted", "", ""]),
        ("Wait For Turn", ["skipped", "hangs granted", "granted"]),
        ("Confirm Grant", ["skipped", "granted", "hangs granted"]),
    ] {
        let overlap = if answers[1].is_empty() {
            "skip"
        } else {
            "queue"
        };
        let [asked, waited, confirmed] = answers;
        let played = Play::of(json!({ "overlap": overlap }))
            .answers("Acquire Lock", asked)
            .answers("Wait For Turn", waited)
            .answers("Confirm Grant", confirmed)
            .works()
            .redriven_in(state)
            .play();

        assert_eq!(played.end, Ok(exited()), "{state}");
        let count = |call: &Call| call.arguments["Payload"]["redriveCount"].clone();
        let counts: Vec<_> = played.calls_of(state).into_iter().map(count).collect();
        assert_eq!(counts, [0, 1], "{state}");
        let resumed = played.calls_of("Resume Run").len();
        assert_eq!(resumed, 0, "{state}: the work begins under its own count");
        let beat = &played.payload_of("Keep Lease")["redriveCount"];
        assert_eq!(*beat, 1, "{state}");
    }
}
