//! Act `start` with a schedule: operate starts the execution that a tick of the schedule would start.

use crate::bad_input::cases;
use crate::functions::Functions;
use crate::operate::act;
use crate::scene::{ask_with, assert_fails, execution, merged};
use crate::start::started_x;
use lockstep::domain::StateMachineArn;
use lockstep_operate::schedules::{Schedule, SchedulesError, Target, TargetInput};
use serde_json::{Value, json};

const NIGHTLY: &str = "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/nightly";
const RULE: &str = "arn:aws:events:eu-west-1:123456789012:rule/hourly";
/// The time of the functions' clock.
const NOW: &str = "2026-03-01T06:00:00Z";

fn start(more: &Value) -> Value {
    let scheduled = json!({ "lock": "nightly", "schedule": "nightly", "id": "x" });
    act("start", merged(scheduled, more))
}

/// Returns a schedule with one target for each of `inputs`. The targets start the state machine of
/// [`execution`].
fn schedule(arn: &str, inputs: &[TargetInput]) -> Schedule {
    let machine = execution("x").replace(":execution:", ":stateMachine:");
    let machine = StateMachineArn::new(machine.trim_end_matches(":x")).expect("an ARN");
    let target = |input: &TargetInput| Target {
        state_machine: machine.clone(),
        input: input.clone(),
    };
    Schedule {
        arn: arn.into(),
        targets: inputs.iter().map(target).collect(),
    }
}

/// Returns an input of exclusive-run for `lock`, whose run key contains the scheduled time.
fn keyed(lock: &str) -> TargetInput {
    let text = r#"{"lock": "LOCK", "runKey": "<aws.scheduler.schedule-arn>#<aws.scheduler.scheduled-time>"}"#;
    TargetInput::Attributes(text.replace("LOCK", lock))
}

fn with_nightly() -> Functions {
    let functions = Functions::new();
    functions
        .schedules
        .put(Ok(schedule(NIGHTLY, &[keyed("nightly")])));
    functions
}

/// Returns the inputs of the executions that were started.
fn inputs(functions: &Functions) -> Vec<Value> {
    let starts = functions.executions.starts().into_iter();
    let input = |text: String| serde_json::from_str(&text).expect("JSON");
    starts.map(|start| input(start.input.unwrap())).collect()
}

#[tokio::test]
async fn the_first_start_of_a_lock_is_in_its_history_and_opens_no_paused_lock() {
    for paused in [false, true] {
        let functions = with_nightly();
        if paused {
            functions.order("pause", json!({ "all": true })).await;
        }

        functions.operate(start(&json!({}))).await.unwrap();

        let history = functions.history_page().await;
        let entries = history["entries"].as_array().unwrap();
        let outcomes: Vec<_> = entries.iter().map(|entry| &entry["outcome"]).collect();
        assert_eq!(outcomes, ["started"], "{history}");
        let run = functions.status(ask_with("a", json!({}))).await;
        assert_eq!(run, if paused { "skipped" } else { "granted" });
    }
}

#[tokio::test]
async fn operate_starts_a_lock_that_has_never_run_from_its_schedule() {
    for (more, time) in [
        (json!({}), NOW),
        (
            json!({ "scheduledTime": "2026-03-01T02:00:00.9Z" }),
            "2026-03-01T02:00:00Z",
        ),
        (
            json!({ "schedule": NIGHTLY, "scheduledTime": "2026-03-01T03:00:00+01:00" }),
            "2026-03-01T02:00:00Z",
        ),
    ] {
        let functions = with_nightly();

        let dry = merged(more.clone(), &json!({ "dryRun": true }));
        let would = functions.operate(start(&dry)).await.unwrap();
        assert_eq!(inputs(&functions), Vec::<Value>::new());
        let done = functions.operate(start(&more)).await.unwrap();
        let again = functions.operate(start(&more)).await.unwrap();

        let key = format!("{NIGHTLY}#{time}");
        let expected = json!({ "lock": "nightly", "runKey": key });
        assert_eq!(inputs(&functions), [expected]);
        assert_eq!(would["status"], "wouldStart");
        for answer in [&would, &done] {
            let told = ["from", "scheduledTime", "runKey"].map(|field| answer[field].clone());
            assert_eq!(told, [json!(NIGHTLY), json!(time), json!(key)]);
        }
        let given = ["schedule", "scheduledTime"].map(|field| more[field].as_str());
        let [schedule, at] = [given[0].unwrap_or("nightly"), given[1].unwrap_or_default()];
        let started = execution(&started_x(["", schedule, at]));
        assert_eq!(done["executionArn"], started);
        assert_eq!(again["executionArn"], started);
        assert_eq!(again["scheduledTime"], Value::Null);
    }
}

#[tokio::test]
async fn a_start_has_the_input_that_the_schedule_has_now() {
    let functions = with_nightly();
    functions.start(&["monday"]);
    let grant = functions.granted_with(ask_with("monday", json!({}))).await;
    functions.succeed(&grant).await;
    let changed = r#"{"lock": "nightly", "size": "large"}"#;
    let changed = TargetInput::Attributes(changed.into());
    functions.schedules.put(Ok(schedule(NIGHTLY, &[changed])));
    functions.wait(60);

    functions.operate(start(&json!({}))).await.unwrap();

    let expected = json!({ "lock": "nightly", "size": "large" });
    assert_eq!(inputs(&functions), [expected]);
    let entry = &functions.history_page().await["entries"][0];
    assert_eq!(entry["outcome"], "started");
}

#[tokio::test]
async fn a_scheduled_time_that_succeeded_is_started_only_with_its_key() {
    let functions = with_nightly();
    let key = format!("{NIGHTLY}#{NOW}");
    functions.start(&["monday"]);
    let ask = ask_with("monday", json!({ "runKey": key }));
    let grant = functions.granted_with(ask).await;
    let held = functions.operate(start(&json!({}))).await;
    functions.succeed(&grant).await;

    let at = json!({ "scheduledTime": NOW });
    let refused = functions.operate(start(&at)).await;
    let other = merged(at.clone(), &json!({ "again": "tick-1" }));
    let other = functions.operate(start(&other)).await;
    let again = merged(at, &json!({ "again": key }));
    let started = functions.operate(start(&again)).await.unwrap();
    let free = functions
        .status(ask_with("tuesday", json!({ "runKey": key })))
        .await;

    assert_fails(held, "Lockstep.LockHeld", &[&key]);
    assert_fails(refused, "Lockstep.InvalidRequest", &["again", "duplicate"]);
    assert_fails(other, "Lockstep.InvalidRequest", &["again", &key]);
    assert_eq!(started["status"], "started");
    assert_eq!(free, "granted");
}

#[tokio::test]
async fn operate_starts_the_target_of_a_rule_that_names_the_lock() {
    let functions = Functions::new();
    let of = |lock: &str| TargetInput::Constant(json!({ "lock": lock }).to_string());
    let targets = [of("other"), of("nightly"), TargetInput::Event("$".into())];
    functions.schedules.put(Ok(schedule(RULE, &targets)));

    let asked = start(&json!({ "schedule": "hourly" }));
    let started = functions.operate(asked).await.unwrap();

    assert_eq!(started["from"], RULE);
    assert_eq!(inputs(&functions), [json!({ "lock": "nightly" })]);
}

#[tokio::test]
async fn a_schedule_that_starts_nothing_for_the_lock_is_refused() {
    let of = |lock: &str| TargetInput::Constant(json!({ "lock": lock }).to_string());
    for (inputs_of_rule, field, words) in [
        (vec![], "schedule", ["nightly", "it starts 0"]),
        (
            vec![of("nightly"), of("nightly")],
            "schedule",
            ["one state machine", "it starts 2"],
        ),
        (vec![of("other")], "lock", [RULE, "named in the input"]),
        (
            vec![TargetInput::Constant("{".into())],
            "schedule",
            ["JSON", "{"],
        ),
        (
            vec![TargetInput::Event("$.detail.file".into())],
            "schedule",
            ["paths", "$.detail.file"],
        ),
    ] {
        let functions = Functions::new();
        functions.schedules.put(Ok(schedule(RULE, &inputs_of_rule)));

        let refused = functions.operate(start(&json!({ "schedule": RULE }))).await;

        assert_fails(
            refused,
            "Lockstep.InvalidRequest",
            &[field, words[0], words[1]],
        );
        assert_eq!(inputs(&functions), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn an_unreadable_schedule_fails_as_denied_or_unavailable() {
    for (error, name) in [
        (
            SchedulesError::Denied("GetSchedule: no".into()),
            "Lockstep.Denied",
        ),
        (
            SchedulesError::Unavailable("GetSchedule: no".into()),
            "Lockstep.Unavailable",
        ),
    ] {
        let functions = with_nightly();
        functions.schedules.put(Err(error));

        let failed = functions.operate(start(&json!({}))).await;

        assert_fails(failed, name, &["GetSchedule: no"]);
    }
}

#[tokio::test]
async fn a_wrong_schedule_is_refused_with_its_field_value_and_rule() {
    let functions = with_nightly();
    let foreign = NIGHTLY.replace("123456789012", "210987654321");
    let base = start(&json!({}));
    let cases = cases! {
        "schedule", "a b" => "schedule", "\"a b\"", "GROUP/NAME";
        "schedule", "arn:aws:events:eu-west-1:1:rule/bus/x" => "schedule", "rule/bus/x", "ARN";
        "schedule", "weekly" => "schedule", "\"weekly\"", "EventBridge Scheduler";
        "schedule", "default/weekly" => "schedule", "default/weekly", "EventBridge Scheduler";
        "schedule", foreign => "schedule", "210987654321", "EventBridge Scheduler";
        "scheduledTime", "yesterday" => "scheduledTime", "\"yesterday\"", "RFC 3339";
        "scheduledTime", "2026-03-01T06:00:01Z" => "scheduledTime", ":01Z", "not later than now";
    };

    functions.assert_refused(&base, cases).await;

    let alone = json!({ "lock": "nightly", "scheduledTime": NOW });
    let alone = functions.operate(act("start", alone)).await;
    assert_fails(
        alone,
        "Lockstep.InvalidRequest",
        &["scheduledTime", "only together with schedule"],
    );
}

/// The first answer was lost, and the schedule has been deleted since.
#[tokio::test]
async fn a_repeated_start_is_answered_after_its_schedule_was_deleted() {
    let functions = with_nightly();
    functions.start(&["monday"]);
    functions.granted_with(ask_with("monday", json!({}))).await;
    let first = functions.operate(start(&json!({}))).await.unwrap();

    let at = json!({ "scheduledTime": "2026-03-01T02:00:00Z" });
    let other = functions.operate(start(&at)).await.unwrap();
    let away = SchedulesError::Denied("deleted".into());
    functions.schedules.put(Err(away));
    let repeated = functions.operate(start(&json!({}))).await.unwrap();

    assert_eq!(repeated["executionArn"], first["executionArn"]);
    assert_ne!(other["executionArn"], first["executionArn"]);
    assert_eq!(inputs(&functions).len(), 2);
}

#[tokio::test]
async fn an_input_too_long_for_an_execution_is_refused() {
    let around = json!({ "lock": "nightly", "more": "" }).to_string().len();
    for (length, fits) in [(262_144, true), (262_145, false)] {
        let functions = Functions::new();
        let more = "x".repeat(length - around);
        let long = json!({ "lock": "nightly", "more": more }).to_string();
        let long = TargetInput::Attributes(long);
        functions.schedules.put(Ok(schedule(NIGHTLY, &[long])));

        let answer = functions.operate(start(&json!({}))).await;

        match fits {
            true => assert_eq!(answer.unwrap()["status"], "started"),
            false => {
                let says = ["schedule", "262144 bytes"];
                assert_fails(answer, "Lockstep.InvalidRequest", &says);
            }
        }
    }
}
