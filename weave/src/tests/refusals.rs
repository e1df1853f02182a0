//! Tests each refusal with its whole message.

use super::{lock, unindented};
use crate::{DEFINITION_MAX, Options, check, unweave, weave};
use lockstep::contract::{LockOptions, Overlap};

/// Returns a definition of the states `A` to `D`, each of which leads to the next, with `more` fields of `B`.
pub(super) fn line(more: &str) -> String {
    format!(
        r#"{{ "StartAt": "A", "States": {{
          "A": {{ "Type": "Pass", "Next": "B" }},
          "B": {{ "Type": "Task", {more} "Next": "C" }},
          "C": {{ "Type": "Pass", "Next": "D" }},
          "D": {{ "Type": "Pass", "End": true }} }} }}"#
    )
}

fn refusal(text: &str, options: &Options) -> String {
    weave(text, options).expect_err(text).to_string()
}

#[test]
fn a_file_that_is_no_definition_is_refused_with_its_reason() {
    // Each case is a text and its message. `\n` and `\t` in the text are escapes as in Rust.
    let cases = r#"
        [1] => a definition must be a map with StartAt and States
        {\n  "StartAt":  => line 2, column 13: EOF while parsing a value
        StartAt: A\n\tB: 7\n => line 1, column 10: while scanning a plain scalar, found a tab
        StartAt: A\n---\nStates: {}\n => line 3, column 1: a second document begins here
        {"States": {}} => field StartAt must occur exactly once, but occurs 0 times
        {"StartAt": "A", "States": {}, "States": {}} => field States must occur exactly once, but occurs 2 times
        {"StartAt": "A", "States": {}} => field States must be a map of at least one state
        {"StartAt": "A", "States": {"B": {"Type": "Succeed"}}} => field StartAt is "A", but must be
            a state of the same level
        {"StartAt": "B", "States": {"B": {"Type": "Pass", "Next": "C"}}} => Next of state "B" is "C", but
            must be a state of the same level
        {"StartAt": "B", "States": {"B": {"Type": "Pass"}, "B": {"Type": "Pass"}}} => field States has
            a state twice, but names must be unique
        {"StartAt": "B", "States": {"B": {"Type": "Task", "Parameters":
            {"FunctionName": "${AcquireLockFunctionArn}"}, "End": true}}} => state "B" calls
            ${AcquireLockFunctionArn} itself: a definition must hold the lock either by its own states or by woven
            states, not by both
        "#;
    for case in unindented(cases) {
        let (text, message) = case.split_once(" => ").expect(&case);
        let text = text.replace("\\n", "\n").replace("\\t", "\t");
        assert_eq!(refusal(&text, &lock()), message, "{text}");
    }
    assert_eq!(refusal("", &lock()), "the file is empty");
}

#[test]
fn a_template_is_refused_with_what_is_to_be_woven() {
    let message = "this is a CloudFormation template, not a definition: weave the file that its DefinitionUri or \
                   DefinitionS3Location names.";
    let express = " A state machine of type EXPRESS cannot hold a lock: nothing shows when its execution has ended.";
    for (kind, more) in [("STANDARD", ""), ("EXPRESS", express)] {
        let machine = "Type: AWS::Serverless::StateMachine";
        let text = format!("Resources:\n  A:\n    {machine}\n    Properties: {{Type: {kind}}}\n");

        assert_eq!(refusal(&text, &lock()), format!("{message}{more}"));
    }
}

#[test]
fn a_document_around_a_definition_is_refused_with_what_to_do() {
    let sam = "Resources:\n  A:\n    Type: AWS::Serverless::StateMachine\n    Properties:\n      Definition: {StartAt: A}\n";
    let described = r#"{"stateMachineArn": "arn", "name": "x", "definition": "{}"}"#;
    let terraform = "{\n  \"StartAt\": \"A\",\n  \"States\": {\"A\": {\"Type\": \"Pass\", \"Result\": ${jsonencode(x)}, \"End\": true}}}";
    let directive = "{ \"StartAt\": \"${a}\",\n %{ if x } \"States\": {} }";
    for (text, message) in [
        (
            sam,
            "First move the inline Definition of the template into such a file",
        ),
        (described, "--query definition --output text"),
        (
            terraform,
            "outside of a string in line 3; if this is a Terraform template, weave the text that Terraform renders",
        ),
        (directive, "outside of a string in line 2"),
    ] {
        let refusal = refusal(text, &lock());
        assert!(refusal.contains(message), "{refusal}");
    }
}

#[test]
fn what_create_state_machine_refuses_is_not_woven() {
    let of = |state: &str| format!(r#"{{"StartAt": "A", "States": {{"A": {state}}}}}"#);
    for (state, message) in [
        (r#"{"Type": "Pass"}"#, "has neither Next nor"),
        (r#"{"Type": "Pass", "End": false}"#, "has neither Next nor"),
        (
            r#"{"Type": "Pass", "Next": "A", "End": true}"#,
            "has both Next and End",
        ),
        (
            r#"{"Type": "Job", "End": true}"#,
            "has the Type \"Job\", but must have one of Task,",
        ),
        (r#"{"End": true}"#, "has no Type"),
        ("[]", "must be a map"),
        (
            r#"{"Type": "Choice", "Choices": [], "Default": "A"}"#,
            "without Choices",
        ),
        (
            r#"{"Type": "Choice", "Choices": [{"Next": "A"}], "End": true}"#,
            "Choice with Next or End",
        ),
        (r#"{"Type": "Fail", "Next": "A"}"#, "is a Fail with Next"),
        (
            r#"{"Type": "Map", "End": true, "ItemProcessor": {"StartAt": "B", "States": {"B": {"Type": "Pass"}}}}"#,
            "state \"B\" has neither",
        ),
        (
            r#"{"Type": "Map", "End": true, "Iterator": {"StartAt": "C", "States": {"B": {"Type": "Succeed"}}}}"#,
            "StartAt \"C\" inside",
        ),
        (
            r#"{"Type": "Parallel", "End": true, "Branches": [{"StartAt": "B", "States": {"B": {"Type": "Pass", "Next": "A"}}}]}"#,
            "state \"B\" has the Next \"A\", but must be a state of the same level",
        ),
    ] {
        let refusal = refusal(&of(state), &lock());
        assert!(refusal.contains(message), "{state}: {refusal}");
    }
    for state in [
        r#"{"Type": "Succeed"}"#,
        r#"{"Type": "Fail", "Error": "E"}"#,
        r#"{"Type": "${Kind}"}"#,
        r#"{"Type": "Choice", "Choices": [{"Next": "A"}]}"#,
        r#"{"Type": "Map", "End": true, "ItemProcessor": {"StartAt": "B", "States": {"B": {"Type": "Wait", "Seconds": 1, "End": true}}}}"#,
    ] {
        assert!(weave(&of(state), &lock()).is_ok(), "{state}");
    }
}

#[test]
fn yaml_that_begins_like_json_but_is_not_json_is_refused() {
    for value in ["'x'", "0x1F", "NaN", "yes # no", "[1,]"] {
        let text = format!(
            r#"{{"StartAt": "A", "States": {{"A": {{"Type": "Pass", "Result": {value}, "End": true}}}}}}"#
        );

        assert!(
            refusal(&text, &lock()).starts_with("line 1, column "),
            "{value}"
        );
    }
}

#[test]
fn a_definition_of_any_depth_gets_one_error() {
    for depth in [200, 30_000] {
        let json = format!(
            "{{\"StartAt\": {}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        );
        let flow = format!("StartAt: {}{}", "[".repeat(depth), "]".repeat(depth));
        let maps = format!("StartAt: {}{}", "{a: ".repeat(depth), "}".repeat(depth));
        let block = format!("StartAt:\n{}", "- ".repeat(depth));
        for text in [json, flow, maps, block] {
            for refused in [
                weave(&text, &lock()),
                unweave(&text),
                check(&text).map(|_| String::new()),
            ] {
                let refused = refused.unwrap_err().to_string();
                assert_eq!(refused.lines().count(), 1, "{refused:.200}");
            }
        }
    }
}

/// A change that makes options invalid, the flag and its value in the message, and the rule in the message.
type Bad = (fn(&mut Options), &'static str, &'static str);

#[test]
fn an_option_that_breaks_its_rule_is_refused_by_the_name_of_its_flag() {
    let characters =
        "be 1 to 128 characters out of A-Z a-z 0-9 and . _ - / : (no spaces, ASCII only)";
    let heartbeat = "be $ 1 to 58: two below leaseSeconds, because a heartbeat that fails is retried a second later";
    let set = "name one of AcquireLockFunctionArn, HeartbeatFunctionArn, Partition, ReleaseLockFunctionArn";
    let queue = "be given only with overlap queue";
    let wait = "be given only with --overlap queue or replace, --on-paused wait or --catch-up once";
    let cases: [Bad; 10] = [
        (|o| o.lock = "a b".into(), "lock is \"a b\"", characters),
        (
            |o| o.options.permits = Some(101),
            "permits is 101",
            "be a whole number from 1 to 100",
        ),
        (
            |o| o.options.lease_seconds = Some(2),
            "lease-seconds is 2",
            "be $ 3 to 86400",
        ),
        (
            |o| o.options.heartbeat_seconds = Some(59),
            "heartbeat-seconds is 59",
            heartbeat,
        ),
        (
            |o| o.options.max_run_seconds = Some(0),
            "max-run-seconds is 0",
            "be $ 1 to 31536000",
        ),
        (|o| o.options.max_queue = Some(5), "max-queue is 5", queue),
        (
            |o| o.options.no_progress_seconds = Some(5),
            "no-progress-seconds is 5",
            "be left out: states report no progress",
        ),
        (|o| o.wait_seconds = Some(5), "wait-seconds is 5", wait),
        (
            |o| o.wait_interval_seconds = Some(5),
            "wait-interval-seconds is 5",
            wait,
        ),
        (
            |o| o.set = [("Region".into(), "x".into())].into(),
            "set is \"Region=…\"",
            set,
        ),
    ];
    for (change, given, rule) in cases {
        let mut options = lock();
        change(&mut options);
        let rule = rule.replace('$', "a whole number of seconds from");
        let message = format!("--{given}, but must {rule}");
        assert_eq!(refusal(&line(""), &options), message);
    }
}

#[test]
fn a_wait_time_outside_its_range_is_refused() {
    let seconds = "a whole number of seconds from";
    let overlap = Some(Overlap::Queue);
    let waits = [
        (Some(0), None, "--wait-seconds is 0", "1 to 31536000"),
        (None, Some(4), "--wait-interval-seconds is 4", "5 to 3600"),
    ];
    for (wait_seconds, wait_interval_seconds, given, range) in waits {
        let options = Options {
            options: LockOptions {
                overlap,
                ..LockOptions::default()
            },
            wait_seconds,
            wait_interval_seconds,
            ..lock()
        };
        let message = format!("{given}, but must be {seconds} {range}");
        assert_eq!(refusal(&line(""), &options), message);
    }
}

#[test]
fn a_definition_that_grows_over_the_limit_is_refused_with_its_length() {
    let comment = "c".repeat(DEFINITION_MAX - 1_000);
    let start = format!("\"Comment\": \"{comment}\", \"StartAt\"");
    let text = line("").replace("\"StartAt\"", &start);

    let message = refusal(&text, &lock());

    let (before, after) = (
        "the woven definition has ",
        " characters, but CreateStateMachine accepts at most 1048576",
    );
    let characters = message.strip_prefix(before).expect(&message);
    let characters = characters.strip_suffix(after).expect(&message);
    let length: usize = characters.parse().unwrap();
    assert!(length > DEFINITION_MAX, "{message}");
}

#[test]
fn text_that_cannot_be_moved_is_refused_instead_of_changed() {
    // This block scalar keeps its trailing empty lines (`|+`), and would lose some of them if it were moved.
    let kept = "StartAt: A\nStates:\n  A:\n    Type: Succeed\n    Comment: |+\n      one\n\n\nVersion: \"1.0\"\n";

    let message = refusal(kept, &lock());

    assert_eq!(
        message,
        "the text cannot be moved without a change: state \"A\" would change. Put its scalars in quotes, \
         replace its aliases by their values, and end the file with a newline"
    );
}

#[test]
fn a_file_whose_woven_states_were_changed_is_not_taken_for_woven() {
    let woven = weave(&line(""), &lock()).unwrap();
    let cases = [
        (line(""), "the definition is not woven"),
        (
            woven.replace("\"Run Work\"", "\"My Work\""),
            "state \"Request Lock\" is woven, but the state around the work is missing or was changed",
        ),
        (
            woven.replace("\"Run Exclusively\"", "\"My Hold\""),
            "state \"Request Lock\" is woven, but the state that holds the lock is missing or was changed",
        ),
        (
            woven.replace("\"Rethrow\":", "\"Throw\":"),
            "state \"Request Lock\" is woven, but one of the woven states is missing or was changed",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(unweave(&text).unwrap_err().to_string(), message);
    }
    let older = woven.replace("\"MaxDelaySeconds\": 30", "\"MaxDelaySeconds\": 20");
    assert!(older != woven);
    assert_eq!(
        check(&older).unwrap_err().to_string(),
        "the woven states differ from those that this version weaves; weave the definition again"
    );
    assert_eq!(unweave(&older).unwrap(), line(""));
}
