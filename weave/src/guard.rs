//! The states that hold the lock, taken from the definition of exclusive-run.
//!
//! The definition of exclusive-run is the only source of these states, which are called the guard. Its states
//! from *Acquire Lock* on are found along their transitions, so a state that is added to exclusive-run is
//! woven without a change of this code. Only two states are defined here: *Request Lock*, and *Run Work*,
//! which replaces the states that start a task or a workflow.

mod names;
mod request;

pub(crate) use names::{Names, state_names, variables_of};

use crate::Error;
use crate::document::Document;
use crate::options::Options;
use crate::value::Value;
use std::collections::BTreeSet;

/// The definition of exclusive-run. Its states between the request and the work are the guard.
const EXCLUSIVE_RUN: &str = include_str!("exclusive-run.asl.json");
/// The state of exclusive-run that the guard begins with.
const FIRST: &str = "Acquire Lock";
/// The state of exclusive-run that holds the lock around its first branch.
pub(crate) const HOLD: &str = "Run Exclusively";
/// The state of exclusive-run after work that has succeeded.
const AFTER: &str = "Release Lock";
/// The state of exclusive-run whose catcher of [`ANY`] is used for the woven work. Its other catchers apply
/// only to the one task that it runs.
const MODEL: &str = "Run Batch";
/// The state of exclusive-run that waits while the work that a failed workflow had started may still be
/// stopping.
const WAIT_FOR_STOP: &str = "Let Work Stop";
/// The error name that matches every error that can be caught.
const ANY: &str = "States.ALL";

/// The first woven state. It assigns the request.
pub(crate) const ENTRY: &str = "Request Lock";
/// The state around the work, inside [`HOLD`].
pub(crate) const WORK: &str = "Run Work";

/// What the guard has to know about the definition around it.
pub(crate) struct Around {
    /// Whether the query language of the definition is JSONata. If not, each woven state names its own query
    /// language.
    pub(crate) jsonata: bool,
    /// The name of the first state of the work, as the definition writes it.
    pub(crate) start: String,
    /// The name of the state that follows the work, as the definition writes it; `None` if the execution ends
    /// with the work.
    pub(crate) next: Option<String>,
}

/// Returns the woven states in their order. [`Value::Work`] stands for the states that are the work.
pub(crate) fn build(
    options: &Options,
    names: &Names,
    around: &Around,
) -> Result<Vec<(String, Value)>, Error> {
    let mut guard = from_exclusive_run()?;
    let known = substitute(&mut guard, options);
    if let Some(unknown) = options.set.keys().find(|name| !known.contains(*name)) {
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        return Err(Error::Option(format!(
            "--set is \"{unknown}=…\", but must name one of {}",
            known.join(", ")
        )));
    }
    let variables = request::variables(options);
    names.apply(&mut guard, variables.iter().map(|(name, _)| *name));
    fill_work(&mut guard, names, around);
    let hold = guard.get_mut(&names.state(HOLD));
    // Without a state after the work, the execution ends after the lock is released, as it ended with the
    // work before.
    if let (Some(hold), Some(next)) = (hold, &around.next) {
        hold.replace("End", "Next", Value::Verbatim(next.clone()));
    }
    let entry = request::state(options, names, variables)?;
    let mut states = vec![(names.state(ENTRY), entry)];
    states.extend(guard.into_fields());
    if !around.jsonata {
        for (_, state) in &mut states {
            state.change(&mut add_query_language);
        }
    }
    Ok(states)
}

/// Returns the names of all states of the guard, at any depth.
pub(crate) fn own_names() -> Result<Vec<String>, Error> {
    let mut names = vec![ENTRY.to_owned()];
    names::collect(&mut from_exclusive_run()?, &mut names);
    Ok(names)
}

/// Returns the names of the functions that the guard calls, as the definition would write them.
pub(crate) fn functions(options: &Options) -> Result<BTreeSet<String>, Error> {
    let mut guard = from_exclusive_run()?;
    substitute(&mut guard, options);
    let mut found = BTreeSet::new();
    guard.change(&mut |value| {
        let name = value.get("FunctionName").and_then(Value::as_text);
        found.extend(name.map(str::to_owned));
    });
    Ok(found)
}

/// Returns the guard under the names of exclusive-run. The state around the work, [`WORK`], is still empty.
///
/// The definition of exclusive-run is part of this program, so every test would find an error here.
fn from_exclusive_run() -> Result<Value, Error> {
    let lacks = |name: &str| Error::Definition(format!("exclusive-run has no state {name}"));
    let file = Value::from(&Document::parse(EXCLUSIVE_RUN)?.root);
    let states = file.get("States").ok_or_else(|| lacks(FIRST))?;
    let mut guard = reachable(states, [FIRST]);
    let hold = guard.get_mut(HOLD).ok_or_else(|| lacks(HOLD))?;
    let Some(Value::List(branches)) = hold.get_mut("Branches") else {
        return Err(lacks(HOLD));
    };
    let first = branches.first_mut().ok_or_else(|| lacks(HOLD))?;
    let inner = first.get("States").ok_or_else(|| lacks(MODEL))?;
    let catchers = inner.get(MODEL).and_then(|model| model.get("Catch"));
    let catchers = catchers.map(Value::items).unwrap_or_default().iter();
    // The other catchers treat `States.Timeout` as work over its time limit. A state of the user may time out
    // for another reason, such as a Lambda function, so only the catcher of every error is used.
    let any: Vec<_> = catchers.filter(|catcher| catches_any(catcher)).collect();
    let failed: Vec<_> = any
        .iter()
        .filter_map(|catcher| catcher.get("Next")?.as_text())
        .collect();
    let mut after = reachable(inner, failed.iter().copied().chain([AFTER, WAIT_FOR_STOP]));
    // In exclusive-run, the only task has ended when its state fails. States of the user may run side by
    // side: when one fails, Step Functions stops the others, and the guard waits for that.
    for name in failed {
        if let Some(state) = after.get_mut(name) {
            state.replace("Default", "Default", Value::text(WAIT_FOR_STOP));
        }
    }
    let comment = "The states that hold the lock, as they were.";
    let work = Value::map([
        ("Type", Value::text("Parallel")),
        ("Comment", Value::text(comment)),
        ("Catch", Value::List(any.into_iter().cloned().collect())),
        ("Next", Value::text(AFTER)),
    ]);
    let states = [(WORK.to_owned(), work)].into_iter();
    let states = states.chain(after.into_fields()).collect();
    *first = Value::map([
        ("StartAt", Value::text(WORK)),
        ("States", Value::Map(states)),
    ]);
    Ok(guard)
}

fn catches_any(catcher: &Value) -> bool {
    let errors = catcher.get("ErrorEquals").map(Value::items);
    let mut errors = errors.unwrap_or_default().iter();
    errors.any(|error| error.as_text() == Some(ANY))
}

/// Returns the states named in `first` and all states that can follow them, in the order of the file.
fn reachable<'a>(states: &'a Value, first: impl IntoIterator<Item = &'a str>) -> Value {
    let mut left: Vec<&str> = first.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(name) = left.pop() {
        if let Some(state) = states.get(name)
            && found.insert(name)
        {
            left.extend(targets(state));
        }
    }
    let states = states.fields().iter();
    let states = states.filter(|(name, _)| found.contains(name.as_str()));
    Value::Map(states.cloned().collect())
}

/// Returns the names of the states that a state of the guard may lead to.
fn targets(state: &Value) -> impl Iterator<Item = &str> {
    let rules = ["Choices", "Catch"].into_iter();
    let rules = rules
        .filter_map(|name| state.get(name))
        .flat_map(Value::items);
    let rules = rules.filter_map(|rule| rule.get("Next"));
    let own = ["Next", "Default"].into_iter();
    let own = own.filter_map(|name| state.get(name));
    rules.chain(own).filter_map(Value::as_text)
}

/// Replaces each `${NAME}` by its value of `--set`, and `${Partition}` by `aws` unless it is set. Returns all
/// names that occur.
fn substitute(guard: &mut Value, options: &Options) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    guard.change(&mut |value| {
        let Value::Text(text) = value else { return };
        let mut whole = String::new();
        let mut rest = text.as_str();
        while let Some((before, name, after)) = placeholder(rest) {
            let set = options.set.get(name).map(String::as_str);
            let default = (name == "Partition").then_some("aws");
            let kept = format!("${{{name}}}");
            whole.push_str(before);
            whole.push_str(set.or(default).unwrap_or(&kept));
            found.insert(name.to_owned());
            rest = after;
        }
        *text = whole + rest;
    });
    found
}

/// Returns the text before the first `${NAME}`, the name, and the text after it; `None` if there is no
/// `${NAME}`.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Fills the state [`WORK`]: its input, the branch with the work, and its output.
fn fill_work(guard: &mut Value, names: &Names, around: &Around) {
    let [input, work] = [names.variable("input"), names.state(WORK)];
    guard.change(&mut |value| {
        let Some(Value::Map(fields)) = value.get_mut(&work) else {
            return;
        };
        let branch = Value::map([
            ("StartAt", Value::Verbatim(around.start.clone())),
            ("States", Value::Work),
        ]);
        let own = [
            ("Arguments", Value::text(format!("{{% ${input} %}}"))),
            ("Branches", Value::List(vec![branch])),
            // The output of a Parallel is the list of the outputs of its branches. The output of the work is
            // the first.
            ("Output", Value::text("{% $states.result[0] %}")),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let at = fields.iter().position(|(name, _)| name == "Catch");
        let at = at.unwrap_or(fields.len());
        fields.splice(at..at, own);
    });
}

/// Adds the query language JSONata to a state.
///
/// In a definition in JSONPath, a state without a query language is in JSONPath, even inside a state in
/// JSONata: <https://docs.aws.amazon.com/step-functions/latest/dg/amazon-states-language-common-fields.html>.
fn add_query_language(value: &mut Value) {
    let is_state = value.get("Type").and_then(Value::as_text);
    if let (true, Value::Map(fields)) = (is_state.is_some(), value) {
        let at = fields.iter().position(|(name, _)| name == "Type");
        let language = ("QueryLanguage".to_owned(), Value::text("JSONata"));
        fields.insert(at.map_or(0, |at| at + 1), language);
    }
}
