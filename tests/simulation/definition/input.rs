//! Inputs that are refused before any service is called.

use super::play::{EXECUTION, Play, granted};
use crate::asl::TEAM_PREFIX;
use crate::invoke::Failure;
use crate::world::START;
use lockstep::contract::{AcquireRequest, ExclusiveRunInput, LockOptions, Range, fields_of};
use lockstep::domain::{Retention, Seconds, Timestamp, rfc3339};
use serde_json::{Value, json};

const YEAR: u64 = 31_536_000_000;

/// Returns a point of time, in milliseconds from the start of the execution.
fn time(millis: u64) -> String {
    rfc3339(Timestamp::from_millis(START + millis))
}

#[track_caller]
pub(super) fn refuses(fields: Value, fault: &str) {
    refused(Play::of(fields), fault);
}

#[track_caller]
fn refused(play: Play, fault: &str) {
    let played = play.play();

    let failure = Failure::new("Lockstep.InvalidRequest", fault);
    assert_eq!(played.end, Err(failure), "{}", played.input);
    assert_eq!(
        played.path,
        ["Check Input", "Reject Input"],
        "{}",
        played.input
    );
}

/// Asserts that an execution with `fields` works, and returns how many seconds it takes.
#[track_caller]
pub(super) fn takes(fields: Value) -> u64 {
    let played = Play::granted(fields).works().play();

    assert!(played.end.is_ok(), "{}: {:?}", played.input, played.end);
    played.seconds
}

#[test]
fn the_locks_of_a_team_begin_with_its_prefix() {
    let rule = format!("must begin with \"{TEAM_PREFIX}\", the lock prefix of this state machine");
    for (lock, shown) in [
        (json!("nightly"), r#""nightly""#),
        (json!("payroll/nightly"), r#""payroll/nightly""#),
        (json!("payment/nightly"), r#""payment/nightly""#),
        (json!("Payments/nightly"), r#""Payments/nightly""#),
        (json!("x/payments/nightly"), r#""x/payments/nightly""#),
        (json!("payments"), r#""payments""#),
        (json!(""), r#""""#),
        (json!(["payments/nightly"]), r#"["payments/nightly"]"#),
        (json!(7), "7"),
        (json!(null), "missing"),
    ] {
        let fault = format!("field lock is {shown}, but {rule}");
        refused(Play::of_a_team(json!({ "lock": lock })), &fault);
    }
    for lock in ["payments/nightly", TEAM_PREFIX] {
        let played = Play::of_a_team(json!({ "lock": lock })).gives("Acquire Lock", granted());
        let played = played.works().play();
        assert!(played.end.is_ok(), "{lock}: {:?}", played.end);
        assert_eq!(played.payload_of("Acquire Lock")["lock"], lock);
    }
}

#[test]
fn without_a_prefix_acquire_lock_judges_the_name() {
    for lock in [json!("payments/nightly"), json!(""), json!(7), json!(null)] {
        takes(json!({ "lock": lock }));
    }
}

#[test]
fn on_skip_is_one_of_two_words() {
    for value in ["succeed", "fail"] {
        takes(json!({ "onSkip": value }));
    }
    for (value, shown) in [(json!("skip"), r#""skip""#), (json!(1), "1")] {
        let fault = format!(r#"field onSkip is {shown}, but must be "succeed" or "fail""#);
        refuses(json!({ "onSkip": value }), &fault);
    }
}

#[test]
fn waiting_numbers_are_whole_in_range_and_need_a_waiting_policy() {
    let queue = r#"overlap "queue""#;
    let both = r#"overlap "queue" or "replace", onPaused "wait" or catchUp "once""#;
    for (field, range, needs) in [
        ("maxQueue", LockOptions::MAX_QUEUE, queue),
        ("waitSeconds", ExclusiveRunInput::WAIT, both),
        (
            "waitIntervalSeconds",
            ExclusiveRunInput::WAIT_INTERVAL,
            both,
        ),
    ] {
        let Range { least, most } = range;
        let rule = format!("but must be a whole number from {least} to {most}, and needs {needs}");
        let refused = |overlap: Value, value: Value, shown: &str| {
            let fault = format!("field {field} is {shown}, {rule}");
            refuses(json!({ "overlap": overlap, field: value }), &fault);
        };
        for value in [least, most] {
            takes(json!({ "overlap": "queue", field: value }));
            for overlap in [json!(null), json!("skip")] {
                refused(overlap, json!(value), &value.to_string());
            }
            if needs == both {
                takes(json!({ "overlap": "replace", field: value }));
                takes(json!({ "onPaused": "wait", field: value }));
                takes(json!({ "catchUp": "once", field: value }));
            } else {
                refused(json!("replace"), json!(value), &value.to_string());
            }
        }
        for value in [least - 1, most + 1] {
            refused(json!("queue"), json!(value), &value.to_string());
        }
        refused(json!("queue"), json!(5.5), "5.5");
        refused(json!("queue"), json!("9"), r#""9""#);
    }
}

/// The workflow has to check this rule, because acquire-lock does not see the field. The workflow first asks for the
/// permit without a waiting state, also in a run that may wait afterwards. It sends that request with `catchUp: none`.
#[test]
fn catch_up_needs_a_pause_that_skips_runs_or_lets_them_wait() {
    let fault = r#"field catchUp is "once", but must be given only with onPaused skip or wait"#;
    for (overlap, on_paused, is_refused) in [
        (None, None, false),
        (Some("queue"), None, false),
        (Some("fail"), Some("skip"), false),
        (Some("replace"), Some("wait"), false),
        (Some("fail"), None, true),
        (Some("replace"), None, true),
        (None, Some("fail"), true),
        (Some("queue"), Some("fail"), true),
    ] {
        let mut fields = json!({ "catchUp": "once" });
        for (name, given) in [("overlap", overlap), ("onPaused", on_paused)] {
            if let Some(given) = given {
                fields[name] = given.into();
            }
        }
        if is_refused {
            refuses(fields, fault);
        } else {
            takes(fields);
        }
    }
    let fails = json!({ "overlap": "fail", "catchUp": "once" });
    refused(Play::of(fails).with_null("onPaused"), fault);
}

#[test]
fn acquire_lock_gets_every_field_that_the_workflow_does_not_check() {
    let numbers = LockOptions::default().numbers().into_iter();
    let numbers = numbers.filter(|(field, ..)| *field != "maxQueue");
    for (field, range, _) in numbers {
        for value in [i64::from(range.least) - 1, i64::from(range.most) + 1] {
            let played = Play::granted(json!({ field: value })).works().play();

            assert_eq!(played.payload_of("Acquire Lock")[field], value, "{field}");
        }
    }
    let mut every = json!({
        "overlap": "queue", "whenQueueFull": "skip", "onPaused": "wait", "catchUp": "once", "stalePolicy": "yield", "runKey": "tick", "onSkip": "fail",
        "waitSeconds": 60, "waitIntervalSeconds": 30, "notBefore": time(0),
        "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID": EXECUTION,
    });
    for (field, range, _) in LockOptions::default().numbers() {
        every[field] = json!(range.most);
    }
    let played = Play::granted(every).works().play();
    let options = fields_of::<LockOptions>();
    let fields = fields_of::<ExclusiveRunInput>().iter().chain(options);
    for field in fields {
        assert!(played.input.get(field).is_some(), "{field}");
    }
    let request = played.payload_of("Acquire Lock").clone();
    let checked = AcquireRequest::read(request.clone(), Retention::both(Seconds::of(1)));
    assert!(checked.is_ok(), "{request}: {checked:?}");
    for field in options {
        // Only the waiting state sends it.
        let waits = *field == "maxQueue";
        assert_eq!(request.get(field).is_none(), waits, "{field}");
    }
}

#[test]
fn a_number_that_the_workflow_computes_with_is_not_null() {
    for field in ExclusiveRunInput::COMPUTED {
        let rule = match field {
            "maxQueue" => "a whole number from 1 to 500, and needs overlap \"queue\"",
            _ => "a whole number or left out",
        };
        let fault = format!("field {field} is null, but must be {rule}");
        refused(Play::of(json!({})).with_null(field), &fault);
    }
}

#[test]
fn fields_that_the_workflow_sets_itself_are_refused() {
    let own = [fields_of::<ExclusiveRunInput>(), fields_of::<LockOptions>()].concat();
    let told = fields_of::<AcquireRequest>()
        .iter()
        .filter(|field| !own.contains(field));
    let mut count = 0;
    for field in told {
        let fault = format!("field {field} must be left out: exclusive-run sets it");
        refuses(json!({ *field: "mine" }), &fault);
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn a_start_time_is_a_time_at_most_a_year_away() {
    for (text, seconds) in [
        // The wait ends a second past its time.
        (time(90_000).as_str(), 91),
        (&time(YEAR), YEAR / 1000 + 1),
        ("2024-02-29T23:59:59Z", 0),
        ("2000-02-29T23:59:59Z", 0),
        ("2026-02-28T23:59:59Z", 0),
        ("2026-03-01T02:00:30.5+02:00", 31),
        ("2026-02-28T19:00:30-05:00", 31),
    ] {
        assert_eq!(takes(json!({ "notBefore": text })), seconds, "{text}");
    }
    // The message ends with the present time as the example, of which the milliseconds are not compared.
    let rule = "must be an RFC 3339 time at most a year from now, such as 2026-03-01T00:00:00";
    for value in [
        json!("tomorrow"),
        json!("2026-03-01"),
        json!("2026-02-30T00:00:00Z"),
        json!("2027-02-29T00:00:00Z"),
        json!("2100-02-29T00:00:00Z"),
        json!("2026-04-31T00:00:00Z"),
        json!("2026-13-01T00:00:00Z"),
        json!("2026-03-01T24:00:00Z"),
        json!("2026-03-01T00:60:00Z"),
        json!("2026-03-01T00:00:00"),
        json!(time(YEAR + 60_000)),
        json!(5),
    ] {
        let failure = Play::of(json!({ "notBefore": value }))
            .play()
            .end
            .unwrap_err();
        assert_eq!(failure.error, "Lockstep.InvalidRequest", "{value}");
        let cause = format!("field notBefore is {value}, but {rule}");
        assert!(failure.cause.starts_with(&cause), "{}", failure.cause);
    }
}

#[test]
fn a_run_with_not_before_is_checked_again_after_its_wait() {
    let fields = json!({ "notBefore": time(90_000) });

    let played = Play::granted(fields).works().play();

    let path = &played.path[..4];
    let again = "Check Input > Wait For Start Time > Check Input > Acquire Lock";
    assert_eq!(path.join(" > "), again);
}
