//! Sections that are none: each refusal with its whole message.

use super::refusals::line;
use super::section;
use crate::weave;

/// A definition, the first and the last state of the section, and why it is refused.
type Case = (String, &'static str, &'static str, &'static str);

fn assert_refused<const N: usize>(cases: [Case; N]) {
    for (text, from, to, message) in cases {
        let woven = weave(&text, &section(from, to));
        let refusal = woven.err().map(|error| error.to_string());
        assert_eq!(refusal.as_deref(), Some(message), "{from} {to}: {text}");
    }
}

/// The [`line`] with a Catch of `B` that leads to `next`.
fn catching(next: &str) -> String {
    line(&format!(
        r#""Catch": [{{ "ErrorEquals": ["States.ALL"], "Next": "{next}" }}],"#
    ))
}

#[test]
fn both_ends_are_states_of_the_top_level() {
    let inner = r#""ItemProcessor": { "StartAt": "I", "States": { "I": { "Type": "Succeed" } } },"#;
    let map = line(inner).replace("\"Task\"", "\"Map\"");
    let parallel = map.replace("\"Map\"", "\"Parallel\"");
    let choice = line("").replace(
        r#""C": { "Type": "Pass", "Next": "D" }"#,
        r#""C": { "Type": "Choice", "Choices": [], "Default": "D" }"#,
    );
    assert_refused([
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
    ]);
}

#[test]
fn a_section_has_one_exit() {
    let ends = line("").replace(
        r#""B": { "Type": "Task",  "Next": "C" }"#,
        r#""B": { "Type": "Choice", "Choices": [{ "Next": "E" }], "Default": "C" }, "E": { "Type": "Succeed" }"#,
    );
    assert_refused([
        (
            catching("D"),
            "B",
            "C",
            "the section from \"B\" to \"C\" has two exits: \"B\" leads to \"D\" too",
        ),
        (
            catching("D"),
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
        (
            line("").replace("\"Next\": \"D\"", "\"Next\": \"B\""),
            "B",
            "C",
            "the section from \"B\" to \"C\" leads back to its first state \"B\"",
        ),
    ]);
    assert!(
        weave(&catching("A"), &section("C", "D")).is_ok(),
        "a loop before the section"
    );
}

#[test]
fn a_section_has_one_entrance() {
    assert_refused([
        (
            line("").replace("\"StartAt\": \"A\"", "\"StartAt\": \"B\""),
            "A",
            "B",
            "the section from \"A\" to \"B\" has a second entrance: StartAt is \"B\"",
        ),
        (
            catching("D"),
            "C",
            "D",
            "the section from \"C\" to \"D\" has a second entrance: Catch of \"B\" leads to \"D\"",
        ),
    ]);
}

#[test]
fn a_section_keeps_its_variables_and_stands_together() {
    let read = line("").replace(
        r#""D": { "Type": "Pass","#,
        r#""D": { "Type": "Pass", "Result": "{% $n %}","#,
    );
    let assigns = read.replace(
        r#""Type": "Task","#,
        r#""Type": "Task", "Assign": { "n.$": "$.n" },"#,
    );
    let apart = r#"{ "StartAt": "A", "States": { "A": { "Type": "Pass", "Next": "B" }, "C": { "Type": "Succeed" },
      "B": { "Type": "Pass", "Next": "C" } } }"#;
    assert_refused([
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
    ]);
}
