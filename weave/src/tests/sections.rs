//! Tests states that are not a section: each refusal with its whole message.

use super::refusals::line;
use super::{section, unindented};
use crate::weave;

/// Checks that sections of `text` are refused. Each line of `cases` contains the first and the last state of
/// a section, and the whole message.
fn assert_refused(text: &str, cases: &str) {
    for case in unindented(cases) {
        let (ends, message) = case.split_once(": ").expect(&case);
        let (from, to) = ends.split_once(' ').expect(&case);
        let refusal = weave(text, &section(from, to)).err();
        let refusal = refusal.map(|error| error.to_string());
        assert_eq!(refusal.as_deref(), Some(message), "{ends}: {text}");
    }
}

/// Returns the definition of [`line`] with a Catch of `B` that leads to `next`.
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
    assert_refused(
        &line(""),
        r#"
        X C: --from is "X", but must be a state of the definition's top level
        B X: --to is "X", but must be a state of the definition's top level
        C B: --to is "B", but must be reachable from "C"
        "#,
    );
    assert_refused(
        &map,
        r#"
        I I: --from is "I", but is inside of the Map "B": its iterations have one execution, so
            they would share one holder. Name the Map itself
        "#,
    );
    assert_refused(
        &parallel,
        r#"
        B I: --to is "I", but is inside of the Parallel "B": its branches have one execution, so
            they would share one holder. Name the Parallel itself
        "#,
    );
    let rule = "a Choice state, but must be a state with one exit: Next or End";
    assert_refused(&choice, &format!("B C: --to is \"C\", {rule}"));
}

#[test]
fn a_section_has_one_exit() {
    let ends = line("").replace(
        r#""B": { "Type": "Task",  "Next": "C" }"#,
        r#""B": { "Type": "Choice", "Choices": [{ "Next": "E" }], "Default": "C" }, "E": { "Type": "Succeed" }"#,
    );
    assert_refused(
        &catching("D"),
        r#"
        B C: the section from "B" to "C" has two exits: "B" leads to "D" too
        A B: the section from "A" to "B" has two exits: "D" ends the execution
        "#,
    );
    assert_refused(
        &ends,
        r#"A C: the section from "A" to "C" has two exits: "E" ends the execution"#,
    );
    assert_refused(
        &line("").replace("\"Next\": \"D\"", "\"Next\": \"B\""),
        r#"B C: the section from "B" to "C" leads back to its first state "B""#,
    );
    let woven = weave(&catching("A"), &section("C", "D"));
    assert!(woven.is_ok(), "a loop before the section");
}

#[test]
fn a_section_has_one_entrance() {
    assert_refused(
        &line("").replace("\"StartAt\": \"A\"", "\"StartAt\": \"B\""),
        r#"A B: the section from "A" to "B" has a second entrance: StartAt is "B""#,
    );
    assert_refused(
        &catching("D"),
        r#"C D: the section from "C" to "D" has a second entrance: Catch of "B" leads to "D""#,
    );
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
    assert_refused(
        &assigns,
        r#"
        B C: the section from "B" to "C" assigns the variable "n" in "B", and "D" outside of it
            uses that variable: the variables of the work are lost when the work ends
        "#,
    );
    assert_refused(
        apart,
        r#"
        A B: the section from "A" to "B" has states that do not stand next to each other in the
            file: move "C" before or after them
        "#,
    );
}
