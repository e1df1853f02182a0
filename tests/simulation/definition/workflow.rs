//! Work that is a workflow of a user.

use super::play::{MACHINE, Play, ask, failure, granted, merged, of_workflow};
use crate::invoke::Failure;
use serde_json::{Value, json};

const NAME: &str = "lockstep-nightly-7-0";
const BEGINS: &str = "ASKS > Run Exclusively > Begin Work > Run Workflow";

fn play(fields: Value) -> Play {
    Play::granted(of_workflow(fields)).ends()
}

/// Returns the end of an execution as DescribeExecution gives it.
fn described(status: &str, fields: Value) -> Value {
    merged(json!({ "Status": status }), fields)
}

/// Returns the ARN of the execution that is started after `redrives` redrives.
fn child(redrives: u64) -> String {
    format!("arn:aws:states:eu-west-1:1:execution:etl:lockstep-nightly-7-{redrives}")
}

/// Returns an execution whose work fails with `error`, and is then described as `child`.
fn fails(error: &str, child: Value) -> Play {
    play(json!({}))
        .answers("Run Workflow", error)
        .gives("Read Work", child)
}

#[test]
fn a_workflow_gets_its_input_and_a_name_and_returns_its_output() {
    let output = json!({ "rows": [1, 2], "note": null });
    let result = json!({ "Status": "SUCCEEDED", "Output": output });

    let played = play(json!({})).gives("Run Workflow", result).play();

    played.takes(&format!("{BEGINS} > Release Lock"), &Ok(output));
    let call = played.call_of("Run Workflow");
    let arguments = json!({ "StateMachineArn": MACHINE, "Name": NAME, "Input": { "day": 7 } });
    assert_eq!(call.arguments, arguments);
    assert_eq!(call.timeout_seconds, Some(31_536_000));
    let payload = ask(json!({ "work": null }));
    let work = json!({ "work": { "stateMachineArn": MACHINE } });
    assert_eq!(*played.payload_of("Acquire Lock"), merged(payload, work));
}

#[test]
fn the_grant_is_added_to_the_input_under_grant_field() {
    let grant = json!({ "lock": granted()["grant"] });
    let day = json!({ "day": 7 });
    let old = json!({ "day": null, "lock": "old" });
    let both = merged(day.clone(), grant.clone());
    for (input, field, expected) in [
        (day, json!("lock"), Some(&both)),
        (old, json!("lock"), Some(&grant)),
        // A workflow without an input gets only the grant.
        (json!(null), json!("lock"), Some(&grant)),
        (json!(null), json!(null), None),
    ] {
        let work = json!({ "grantField": field, "startExecution": { "Input": input } });

        let played = play(json!({ "work": work }))
            .gives("Run Workflow", json!({ "Output": {} }))
            .play();

        let arguments = &played.call_of("Run Workflow").arguments;
        assert_eq!(arguments.get("Input"), expected, "{}", played.input);
    }
}

#[test]
fn a_failing_workflow_releases_later_and_fails_with_its_error() {
    let error = json!({ "Error": "Etl.BadRow" });
    let cause = json!({ "Cause": "row 7" });
    let both = merged(error.clone(), cause.clone());
    let stopped = "Lockstep.WorkStopped";
    let (failed, stopping) = ("Let Work Stop > Release After Failure", "Report Stopping");
    let (late, aborted) = ("the execution timed out", "the execution was aborted");
    let with_error = format!("{aborted}: Etl.BadRow");
    let with_both = format!("{with_error}, row 7");
    let of_a_state = "a state of the execution timed out";
    let [timed_out, silent] = ["States.Timeout", "States.HeartbeatTimeout"];
    let of = |error: &str| json!({ "Error": error });
    let cases = [
        ("FAILED", of(timed_out), stopping, timed_out, of_a_state),
        ("FAILED", of(silent), stopping, silent, of_a_state),
        ("FAILED", both.clone(), failed, "Etl.BadRow", "row 7"),
        ("FAILED", error.clone(), failed, "Etl.BadRow", ""),
        ("FAILED", json!({}), failed, "States.TaskFailed", ""),
        ("TIMED_OUT", json!({}), stopping, "States.Timeout", late),
        ("TIMED_OUT", cause, stopping, "States.Timeout", "row 7"),
        ("ABORTED", json!({}), stopping, stopped, aborted),
        ("ABORTED", error, stopping, stopped, &with_error),
        ("ABORTED", both, stopping, stopped, &with_both),
    ];
    for (status, fields, reports, error, cause) in cases {
        let played = fails("States.TaskFailed", described(status, fields)).play();

        let path = format!("{BEGINS} > Read Work > How Work Ended > {reports} > FAILS");
        played.takes(&path, &Err(Failure::new(error, cause)));
        let waited = if reports == failed { 30 } else { 0 };
        assert_eq!(
            played.seconds, waited,
            "work beside the failed state has 30 s to stop"
        );
        let call = played.call_of("Read Work");
        assert_eq!(call.timeout_seconds, Some(15));
        assert_eq!(call.arguments["ExecutionArn"], child(0));
    }
}

#[test]
fn arguments_that_cannot_be_evaluated_fail_the_run_and_free_the_lock() {
    let error = "States.QueryEvaluationError";
    let played = play(json!({})).answers("Run Workflow", error).play();

    let path = format!("{BEGINS} > Is Redriven > Release After Failure > FAILS");
    played.takes(&path, &Err(failure(error)));
}

#[test]
fn a_workflow_that_was_not_started_fails_with_the_error_of_the_start() {
    let not_started = || {
        play(json!({}))
            .answers(
                "Run Workflow",
                "StepFunctions.StateMachineDoesNotExistException",
            )
            .answers("Read Work", "Sfn.ExecutionDoesNotExistException")
    };
    let played = not_started().play();

    let path = format!("{BEGINS} > Read Work > Release After Failure > FAILS");
    let error = failure("StepFunctions.StateMachineDoesNotExistException");
    played.takes(&path, &Err(error));
    // Read Work asks every two seconds, for ten seconds: by then the execution would be described.
    for (seconds, calls) in [(1, 1), (3, 2), (5, 3), (7, 4), (9, 5), (60, 6)] {
        assert_eq!(not_started().calls_in(seconds, "Read Work"), calls);
    }
}

/// DescribeExecution is eventually consistent.
#[test]
fn a_workflow_that_is_not_described_yet_counts_as_started() {
    let unknown = "Sfn.ExecutionDoesNotExistException";
    for lag in [1, 4] {
        let failed = play(json!({})).answers("Run Workflow", "States.TaskFailed");
        let lagging = (0..lag).fold(failed, |play, _| play.answers("Read Work", unknown));

        let played = lagging
            .gives("Read Work", described("ABORTED", json!({})))
            .play();

        let path = format!("{BEGINS} > Read Work > How Work Ended > Report Stopping > FAILS");
        let error = Failure::new("Lockstep.WorkStopped", "the execution was aborted");
        played.takes(&path, &Err(error));
    }
}

#[test]
fn a_workflow_that_ended_before_its_start_was_answered_counts() {
    let output = json!({ "Output": "{\"rows\":[1,2]}" });
    let exists = "StepFunctions.ExecutionAlreadyExistsException";

    let played = fails(exists, described("SUCCEEDED", output)).play();

    let path = format!("{BEGINS} > Read Work > How Work Ended > Take Output > Release Lock");
    played.takes(&path, &Ok(json!({ "rows": [1, 2] })));
}

#[test]
fn a_workflow_that_may_still_run_keeps_the_lock() {
    let denied = "Sfn.AccessDeniedException";
    for (child, path, asked) in [
        ("", "How Work Ended", [1, 0]),
        (denied, "Read Status", [6, 6]),
    ] {
        let error = "StepFunctions.AccessDeniedException";
        let played = play(json!({})).answers("Run Workflow", error);
        let played = match child {
            "" => played.gives("Read Work", described("RUNNING", json!({}))),
            error => played
                .answers("Read Work", error)
                .answers("Read Status", error),
        }
        .play();

        let path = format!("{BEGINS} > Read Work > {path} > Report Stopping > FAILS");
        played.takes(&path, &Err(failure(error)));
        let calls = ["Read Work", "Read Status"].map(|state| played.calls_of(state).len());
        assert_eq!(calls, asked);
    }
}

/// Without the key, DescribeExecution gives no input, output, error or cause.
#[test]
fn an_encrypted_workflow_counts_by_its_end_without_its_key() {
    let ends = "How Work Ended";
    let sealed = "the execution failed, and its error is encrypted with a key that exclusive-run may not use: add the key to the parameter WorkflowKmsKeyArns";
    let stopped = "the execution was aborted";
    let late = "the execution timed out";
    let cases = [
        ("FAILED", "States.TaskFailed", sealed),
        ("ABORTED", "Lockstep.WorkStopped", stopped),
        ("TIMED_OUT", "States.Timeout", late),
    ];
    let read = |status: &str| {
        play(json!({}))
            .answers("Run Workflow", "States.TaskFailed")
            .answers("Read Work", "Sfn.KmsAccessDeniedException")
            .gives("Read Status", described(status, json!({})))
            .play()
    };
    for (status, error, cause) in cases {
        let path = format!("{BEGINS} > Read Work > Read Status > {ends} > Report Stopping > FAILS");
        read(status).takes(&path, &Err(Failure::new(error, cause)));
    }

    let played = read("SUCCEEDED");

    let path = format!("{BEGINS} > Read Work > Read Status > {ends} > Take Output > Release Lock");
    let message = "the workflow succeeded, and its output is encrypted with a key that exclusive-run may not use: add the key to the parameter WorkflowKmsKeyArns";
    let output = json!({ "executionArn": child(0), "message": message });
    played.takes(&path, &Ok(output));
    assert_eq!(played.calls_of("Read Work").len(), 1);
    let arguments = json!({ "ExecutionArn": child(0), "IncludedData": "METADATA_ONLY" });
    assert_eq!(played.call_of("Read Status").arguments, arguments);
}

#[test]
fn a_workflow_over_its_time_is_stopping_unless_it_may_overrun() {
    for (policy, end) in [("terminate", Some(90)), ("yield", None), ("hold", None)] {
        let fields = json!({ "maxRunSeconds": 90, "stalePolicy": policy });
        let played = play(fields)
            .answers("Run Workflow", "hangs")
            .play_for(100_000);

        assert_eq!(
            played.as_ref().map(|played| played.seconds),
            end,
            "{policy}"
        );
        if let Some(played) = played {
            let path = format!("{BEGINS} > Report Stopping > FAILS");
            played.takes(&path, &Err(Failure::new("States.Timeout", "")));
        }
    }
}

#[test]
fn a_redrive_resumes_the_grant_and_starts_the_workflow_anew() {
    let played = play(json!({}))
        .answers("Run Workflow", "hangs")
        .gives("Run Workflow", json!({ "Output": { "rows": 1 } }))
        .gives("Resume Run", json!({ "status": "alreadyHeld" }))
        .redriven_in("Run Workflow")
        .play();

    let resumes =
        "Run Exclusively > Run Workflow > Is Redriven > Let Start Show > Resume Run > Is Work Done";
    let path = format!("{BEGINS} > {resumes} > Run Workflow > Release Lock");
    played.takes(&path, &Ok(json!({ "rows": 1 })));
    let why = "the start of the last attempt has to show";
    assert_eq!(played.seconds, 10, "{why}");
    let names = played.values_of("Run Workflow", "/Name");
    assert_eq!(names, ["lockstep-nightly-7-0", "lockstep-nightly-7-1"]);
}

#[test]
fn after_a_redrive_the_end_of_the_new_execution_is_read() {
    let played = play(json!({}))
        .answers("Run Workflow", "hangs States.TaskFailed")
        .gives("Resume Run", json!({ "status": "alreadyHeld" }))
        .gives(
            "Read Work",
            described("FAILED", json!({ "Error": "Etl.BadRow" })),
        )
        .redriven_in("Run Workflow")
        .play();

    assert_eq!(played.end, Err(Failure::new("Etl.BadRow", "")));
    assert_eq!(played.values_of("Read Work", "/ExecutionArn"), [child(1)]);
}
