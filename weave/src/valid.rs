//! Checks the rules of CreateStateMachine that apply to every state, so that a definition can be created
//! after it is woven.

use crate::Error;
use crate::document::{Document, Entry, Node};
use crate::section::transitions;

/// The types of states (<https://docs.aws.amazon.com/step-functions/latest/dg/workflow-states.html>).
const TYPES: [&str; 8] = [
    "Task", "Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map",
];

/// Checks the type and the transitions of each state, including states inside a Parallel or a Map. A value
/// with `${…}` is not checked, because only the deployment replaces it.
///
/// # Errors
/// The first state that breaks a rule, with the rule.
pub(crate) fn check(document: &Document) -> Result<(), Error> {
    check_machine(&document.root)
}

fn check_machine(machine: &Node) -> Result<(), Error> {
    let states = machine.get("States").map(Node::entries).unwrap_or_default();
    let is_there = |name: &str| states.iter().any(|state| state.name == name);
    for state in states {
        check_type(state)?;
        for (field, target) in transitions(&state.value) {
            let target = target.text().unwrap_or_default();
            if !target.contains("${") && !is_there(target) {
                let rule = "but must be a state of the same level";
                return wrong(state, &format!("has the {field} \"{target}\", {rule}"));
            }
        }
        let branches = state.value.get("Branches").map(Node::items);
        let nested = ["ItemProcessor", "Iterator"].into_iter();
        let nested = nested.filter_map(|name| state.value.get(name));
        for inner in branches.unwrap_or_default().iter().chain(nested) {
            check_start(state, inner)?;
            check_machine(inner)?;
        }
    }
    Ok(())
}

fn check_start(around: &Entry, machine: &Node) -> Result<(), Error> {
    let start = machine
        .get("StartAt")
        .and_then(Node::text)
        .unwrap_or_default();
    let states = machine.get("States").map(Node::entries).unwrap_or_default();
    if start.contains("${") || states.iter().any(|state| state.name == start) {
        return Ok(());
    }
    wrong(
        around,
        &format!("has the StartAt \"{start}\" inside, but that must name a state beside it"),
    )
}

fn check_type(state: &Entry) -> Result<(), Error> {
    let value = &state.value;
    if !value.is_map() {
        return wrong(state, "must be a map with a Type");
    }
    let Some(kind) = value.get("Type").and_then(Node::text) else {
        return wrong(
            state,
            &format!("has no Type, but must have one of {}", TYPES.join(", ")),
        );
    };
    if kind.contains("${") {
        return Ok(());
    }
    if !TYPES.contains(&kind) {
        let rule = format!("but must have one of {}", TYPES.join(", "));
        return wrong(state, &format!("has the Type \"{kind}\", {rule}"));
    }
    let ends = value.get("End").and_then(Node::text) == Some("true");
    let has_next = value.get("Next").is_some();
    match kind {
        "Choice" if has_next || value.get("End").is_some() => wrong(
            state,
            "is a Choice with Next or End, but only its Choices and its Default lead on",
        ),
        "Choice"
            if value
                .get("Choices")
                .is_none_or(|rules| rules.items().is_empty()) =>
        {
            wrong(
                state,
                "is a Choice without Choices, but must have at least one",
            )
        }
        "Succeed" | "Fail" if has_next => wrong(
            state,
            &format!("is a {kind} with Next, but it ends the execution"),
        ),
        "Choice" | "Succeed" | "Fail" => Ok(()),
        _ if ends && has_next => wrong(state, "has both Next and End, but must have one of them"),
        _ if !ends && !has_next => wrong(
            state,
            "has neither Next nor \"End\": true, but must have one of them",
        ),
        _ => Ok(()),
    }
}

fn wrong(state: &Entry, why: &str) -> Result<(), Error> {
    Err(Error::Definition(format!("state \"{}\" {why}", state.name)))
}
