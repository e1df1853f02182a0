//! Each refusal with its whole message.

use super::{lock, section};
use crate::{DEFINITION_MAX, Options, check, unweave, weave};
use lockstep::contract::Overlap;

/// A definition of `A` to `D` in a line, with `more` fields of `B`.
fn line(more: &str) -> String {
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
    let cases = [
        ("", "the file is empty"),
        ("[1]", "a definition must be a map with StartAt and States"),
        (
            "{\n  \"StartAt\": ",
            "line 2, column 13: EOF while parsing a value",
        ),
        (
            "StartAt: A\n\tB: 7\n",
            "line 1, column 10: while scanning a plain scalar, found a tab",
        ),
        (
            "StartAt: A\n---\nStates: {}\n",
            "line 3, column 1: a second document begins here",
        ),
        (
            "{\"States\": {}}",
            "field StartAt must be there once, but is there 0 times",
        ),
        (
            "{\"StartAt\": \"A\", \"States\": {}, \"States\": {}}",
            "field States must be there once, but is there 2 times",
        ),
        (
            "{\"StartAt\": \"A\", \"States\": {}}",
            "field States must be a map of at least one state",
        ),
        (
            "{\"StartAt\": \"A\", \"States\": {\"B\": {\"Type\": \"Succeed\"}}}",
            "field StartAt is \"A\", but must be a state of the same level",
        ),
        (
            "{\"StartAt\": \"B\", \"States\": {\"B\": {\"Type\": \"Pass\", \"Next\": \"C\"}}}",
            "Next of state \"B\" is \"C\", but must be a state of the same level",
        ),
        (
            "{\"StartAt\": \"B\", \"States\": {\"B\": {\"Type\": \"Pass\"}, \"B\": {\"Type\": \"Pass\"}}}",
            "field States has a state twice, but names must be unique",
        ),
        (
            "Resources:\n  A:\n    Type: AWS::Serverless::StateMachine\n    Properties: {Type: STANDARD}\n",
            "this is a template of CloudFormation, not a definition: weave the file that its DefinitionUri or \
             DefinitionS3Location names.",
        ),
        (
            "Resources:\n  A:\n    Type: AWS::Serverless::StateMachine\n    Properties: {Type: EXPRESS}\n",
            "this is a template of CloudFormation, not a definition: weave the file that its DefinitionUri or \
             DefinitionS3Location names. A state machine of type EXPRESS cannot hold a lock: nothing shows when \
             its execution has ended.",
        ),
        (
            "{\"StartAt\": \"B\", \"States\": {\"B\": {\"Type\": \"Task\", \"Parameters\": \
             {\"FunctionName\": \"${AcquireLockFunctionArn}\"}, \"End\": true}}}",
            "state \"B\" calls ${AcquireLockFunctionArn} itself: a definition must have its guard by hand or \
             woven, not both",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(refusal(text, &lock()), message, "{text}");
    }
}

#[test]
fn a_section_with_two_entrances_or_two_exits_is_refused() {
    let catch = r#""Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "D" }],"#;
    let retry = r#""Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "A" }],"#;
    let read = line("").replace(
        "\"D\": { \"Type\": \"Pass\",",
        "\"D\": { \"Type\": \"Pass\", \"Result\": \"{% $n %}\",",
    );
    let assigns = read.replace(
        "\"Type\": \"Task\",",
        "\"Type\": \"Task\", \"Assign\": { \"n.$\": \"$.n\" },",
    );
    let choice = line("").replace(
        "\"C\": { \"Type\": \"Pass\", \"Next\": \"D\" }",
        "\"C\": { \"Type\": \"Choice\", \"Choices\": [], \"Default\": \"D\" }",
    );
    let map =
        line(r#""ItemProcessor": { "StartAt": "I", "States": { "I": { "Type": "Succeed" } } },"#)
            .replace("\"Task\"", "\"Map\"");
    let parallel = map.replace("\"Map\"", "\"Parallel\"");
    let ends = line("").replace(
        "\"B\": { \"Type\": \"Task\",  \"Next\": \"C\" }",
        "\"B\": { \"Type\": \"Choice\", \"Choices\": [{ \"Next\": \"E\" }], \"Default\": \"C\" }, \"E\": { \"Type\": \"Succeed\" }",
    );
    let apart = r#"{ "StartAt": "A", "States": { "A": { "Type": "Pass", "Next": "B" }, "C": { "Type": "Succeed" },
      "B": { "Type": "Pass", "Next": "C" } } }"#;
    let cases = [
        (
            line(""),
            "X",
            "C",
            "--from is \"X\", but must be a state of the definition's top level",
        ),
        (
            line(""),
            "B",
            "X",
            "--to is \"X\", but must be a state of the definition's top level",
        ),
        (
            line(""),
            "C",
            "B",
            "--to is \"B\", but must be reachable from \"C\"",
        ),
        (
            map,
            "I",
            "I",
            "--from is \"I\", but is inside of the Map \"B\": its iterations have one execution, so they would \
             share one holder. Name the Map itself",
        ),
        (
            parallel,
            "B",
            "I",
            "--to is \"I\", but is inside of the Parallel \"B\": its branches have one execution, so they would \
             share one holder. Name the Parallel itself",
        ),
        (
            choice,
            "B",
            "C",
            "--to is \"C\", a Choice state, but must be a state with one exit: Next or End",
        ),
        (
            line(catch),
            "B",
            "C",
            "the section from \"B\" to \"C\" has two exits: \"B\" leads to \"D\" too",
        ),
        (
            line(catch),
            "A",
            "B",
            "the section from \"A\" to \"B\" has two exits: \"D\" ends the execution",
        ),
        (
            ends,
            "A",
            "C",
            "the section from \"A\" to \"C\" has two exits: \"E\" ends the execution",
        ),
        (line(retry), "C", "D", ""),
        (
            line("").replace("\"StartAt\": \"A\"", "\"StartAt\": \"B\""),
            "A",
            "B",
            "the section from \"A\" to \"B\" has a second entrance: StartAt is \"B\"",
        ),
        (
            line(retry).replace("\"Next\": \"A\" }", "\"Next\": \"D\" }"),
            "C",
            "D",
            "the section from \"C\" to \"D\" has a second entrance: Catch of \"B\" leads to \"D\"",
        ),
        (
            line("").replace("\"Next\": \"D\"", "\"Next\": \"B\""),
            "B",
            "C",
            "the section from \"B\" to \"C\" leads back to its first state \"B\"",
        ),
        (
            assigns,
            "B",
            "C",
            "the section from \"B\" to \"C\" assigns the variable \"n\" in \"B\", which \"D\" outside of it has \
             too: variables of the work end with it",
        ),
        (
            apart.into(),
            "A",
            "B",
            "the section from \"A\" to \"B\" has states that do not stand next to each other in the file: move \
             \"C\" before or behind them",
        ),
    ];
    for (text, from, to, message) in cases {
        let woven = weave(&text, &section(from, to));
        let said = woven.err().map(|error| error.to_string());
        assert_eq!(said.unwrap_or_default(), message, "{from} {to}: {text}");
    }
}

#[test]
fn an_option_that_breaks_its_rule_is_refused_by_the_name_of_its_flag() {
    let queue = Options {
        overlap: Some(Overlap::Queue),
        ..lock()
    };
    let cases = [
        (
            Options {
                lock: "a b".into(),
                ..lock()
            },
            "--lock is \"a b\", but must be 1 to 128 characters out of A-Z a-z 0-9 and . _ - / : (no spaces, ASCII only)",
        ),
        (
            Options {
                permits: Some(101),
                ..lock()
            },
            "--permits is 101, but must be a whole number from 1 to 100",
        ),
        (
            Options {
                lease_seconds: Some(2),
                ..lock()
            },
            "--lease-seconds is 2, but must be a whole number of seconds from 3 to 86400",
        ),
        (
            Options {
                heartbeat_seconds: Some(59),
                ..lock()
            },
            "--heartbeat-seconds is 59, but must be a whole number of seconds from 1 to 58: two below leaseSeconds, \
             because a heartbeat is retried a second after its timeout",
        ),
        (
            Options {
                max_run_seconds: Some(0),
                ..lock()
            },
            "--max-run-seconds is 0, but must be a whole number of seconds from 1 to 31536000",
        ),
        (
            Options {
                max_queue: Some(5),
                ..lock()
            },
            "--max-queue is 5, but must be given only with overlap queue",
        ),
        (
            Options {
                wait_seconds: Some(5),
                ..lock()
            },
            "--wait-seconds is 5, but must be given only with --overlap queue or replace",
        ),
        (
            Options {
                wait_seconds: Some(0),
                ..queue.clone()
            },
            "--wait-seconds is 0, but must be a whole number of seconds from 1 to 31536000",
        ),
        (
            Options {
                wait_interval_seconds: Some(4),
                ..queue
            },
            "--wait-interval-seconds is 4, but must be a whole number of seconds from 5 to 3600",
        ),
        (
            Options {
                set: [("Region".into(), "x".into())].into(),
                ..lock()
            },
            "--set is \"Region=…\", but must name one of AcquireLockFunctionArn, HeartbeatFunctionArn, Partition, \
             ReleaseLockFunctionArn",
        ),
    ];
    for (options, message) in cases {
        assert_eq!(refusal(&line(""), &options), message);
    }
}

#[test]
fn a_definition_that_grows_over_the_limit_is_refused_with_its_length() {
    let comment = "c".repeat(DEFINITION_MAX - 1_000);
    let text = line("").replace(
        "\"StartAt\"",
        &format!("\"Comment\": \"{comment}\", \"StartAt\""),
    );

    let message = refusal(&text, &lock());

    let (start, rest) = message.split_once("has ").unwrap();
    let (characters, rest) = rest.split_once(' ').unwrap();
    assert_eq!(start, "the woven definition ");
    assert_eq!(
        rest,
        "characters, but CreateStateMachine takes at most 1048576"
    );
    assert!(
        characters.parse::<usize>().unwrap() > DEFINITION_MAX,
        "{message}"
    );
}

#[test]
fn text_that_cannot_be_moved_is_refused_instead_of_changed() {
    // A block scalar that keeps its trailing lines would take fewer of them along.
    let kept = "StartAt: A\nStates:\n  A:\n    Type: Succeed\n    Comment: |+\n      one\n\n\nVersion: \"1.0\"\n";

    let message = refusal(kept, &lock());

    assert_eq!(
        message,
        "the text cannot be moved without a change: state \"A\" would be another one. Write its scalars in \
         quotes, its aliases out, and a newline at the end of the file"
    );
}

#[test]
fn a_file_whose_woven_states_were_changed_is_not_taken_for_woven() {
    let woven = weave(&line(""), &lock()).unwrap();
    let cases = [
        (line(""), "the definition is not woven"),
        (
            woven.replace("\"Run Work\"", "\"My Work\""),
            "state \"Request Lock\" is woven, but the state around the work is not there as it was woven",
        ),
        (
            woven.replace("\"Run Exclusively\"", "\"My Hold\""),
            "state \"Request Lock\" is woven, but the state that holds the lock is not there as it was woven",
        ),
        (
            woven.replace("\"Rethrow\":", "\"Throw\":"),
            "state \"Request Lock\" is woven, but one of the woven states is not there as it was woven",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(unweave(&text).unwrap_err().to_string(), message);
    }
    let older = woven.replace("\"MaxDelaySeconds\": 30", "\"MaxDelaySeconds\": 20");
    assert!(older != woven);
    assert_eq!(
        check(&older).unwrap_err().to_string(),
        "the woven states differ from those that this version weaves; weave it again"
    );
    assert_eq!(unweave(&older).unwrap(), line(""));
}
