//! An execution that is redriven goes on from where it stood.

use super::play::{Play, ask, exited, failure, granted, input_with};
use crate::invoke::Failure;
use serde_json::{Value, json};

const BEGINS: &str = "Acquire Lock > Lock Is Ours > Run Exclusively > Begin Work > Run Batch";
const AGAIN: &str = "Run Exclusively > Run Batch > Is Redriven > Resume Run";

/// An execution that was interrupted at work, with this answer to its question for the grant.
fn redriven(status: &str) -> Play {
    Play::granted(input_with(json!({})))
        .hangs("Run Batch")
        .ends()
        .gives("Run Batch", exited())
        .gives("Resume Run", json!({ "status": status }))
        .redriven_in("Run Batch")
}

#[test]
fn work_that_is_redriven_resumes_its_grant_before_it_begins_again() {
    let played = redriven("resumed").play();

    let path =
        format!("{BEGINS} > {AGAIN} > Is Work Done > Run Batch > Was Work Stopped > Release Lock");
    played.takes(&path, &Ok(exited()));
    let payload = &played.arguments_of("Resume Run")["Payload"];
    let redrive = json!({ "grant": granted()["grant"], "count": 1 });
    assert_eq!(
        *payload,
        ask(json!({ "redrive": redrive, "redriveCount": null }))
    );
    assert_eq!(played.count_of("Run Batch"), 2);
}

#[test]
fn work_that_was_done_is_not_done_again() {
    let played = redriven("finished").play();

    let path = format!("{BEGINS} > {AGAIN} > Is Work Done > Work Was Done");
    let output: Result<Value, Failure> = Ok(json!({ "status": "finished" }));
    played.takes(&path, &output);
    assert_eq!(played.count_of("Run Batch"), 1);
}

#[test]
fn a_grant_that_is_lost_is_not_resumed() {
    let played = Play::granted(input_with(json!({})))
        .hangs("Run Batch")
        .ends()
        .fails("Resume Run", "Lockstep.LeaseLost")
        .redriven_in("Run Batch")
        .play();

    let path = format!("{BEGINS} > {AGAIN} > Fail Work > Rethrow");
    played.takes(&path, &Err(failure("Lockstep.LeaseLost")));
    assert_eq!(played.count_of("Run Batch"), 1);
}

#[test]
fn a_redrive_before_the_work_began_resumes_the_grant_too() {
    let played = Play::granted(input_with(json!({})))
        .works()
        .gives("Resume Run", json!({ "status": "resumed" }))
        .redriven_in("Run Exclusively")
        .play();

    let path = "Acquire Lock > Lock Is Ours > Run Exclusively > Run Exclusively > Begin Work > Run Batch > \
                Is Redriven > Resume Run > Is Work Done > Run Batch > Was Work Stopped > Release Lock";
    played.takes(path, &Ok(exited()));
    assert_eq!(
        played.count_of("Run Batch"),
        1,
        "no task before the grant is resumed"
    );
}

#[test]
fn a_second_redrive_resumes_once_more() {
    let played = Play::granted(input_with(json!({})))
        .hangs("Run Batch")
        .ends()
        .gives("Run Batch", exited())
        .gives("Resume Run", json!({ "status": "resumed" }))
        .redriven_in("Run Batch")
        .redriven_in("Is Work Done")
        .play();

    assert_eq!(played.end, Ok(exited()));
    let resumed = played
        .calls
        .iter()
        .filter(|call| call.state == "Resume Run");
    let counts: Vec<_> = resumed
        .map(|call| call.arguments["Payload"]["redrive"]["count"].clone())
        .collect();
    assert_eq!(counts, [1, 2]);
}

#[test]
fn a_run_that_asks_after_a_redrive_has_a_grant_of_that_redrive() {
    for (state, waits) in [
        ("Acquire Lock", false),
        ("Wait For Turn", true),
        ("Confirm Grant", true),
    ] {
        let skipped = json!({ "status": "skipped" });
        let play = Play::of(input_with(
            json!({ "overlap": if waits { "queue" } else { "skip" } }),
        ));
        let play = match state {
            "Acquire Lock" => play.hangs("Acquire Lock").gives("Acquire Lock", granted()),
            "Wait For Turn" => play
                .gives("Acquire Lock", skipped)
                .hangs("Wait For Turn")
                .gives("Wait For Turn", json!({ "status": "granted" }))
                .gives("Confirm Grant", granted()),
            _ => play
                .gives("Acquire Lock", skipped)
                .gives("Wait For Turn", json!({ "status": "granted" }))
                .hangs("Confirm Grant")
                .gives("Confirm Grant", granted()),
        };

        let played = play.works().redriven_in(state).play();

        assert_eq!(played.end, Ok(exited()), "{state}");
        let told = |redrives: u64| {
            move |call: &&crate::asl::Call| {
                call.state == state && call.arguments["Payload"]["redriveCount"] == redrives
            }
        };
        for redrives in [0, 1] {
            assert_eq!(
                played.calls.iter().filter(told(redrives)).count(),
                1,
                "{state}"
            );
        }
        assert_eq!(
            played.count_of("Resume Run"),
            0,
            "{state}: the work begins under its own count"
        );
        let beat = &played.arguments_of("Keep Lease")["Payload"]["redriveCount"];
        assert_eq!(*beat, json!(1));
    }
}
