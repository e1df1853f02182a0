//! The states that hold the lock, taken from the definition of exclusive-run.

mod names;

pub(crate) use names::{Names, state_names, variables_of};

use crate::Error;
use crate::document::Document;
use crate::options::Options;
use crate::value::Value;
use std::collections::BTreeSet;

/// exclusive-run, whose states between the request and the work are the guard.
const EXCLUSIVE_RUN: &str = include_str!("../../statemachines/exclusive-run.asl.json");
/// The state of exclusive-run that the guard begins with.
const FIRST: &str = "Acquire Lock";
/// The state of exclusive-run that holds the lock around its first branch.
pub(crate) const HOLD: &str = "Run Exclusively";
/// The state of exclusive-run after work that has succeeded.
const AFTER: &str = "Release Lock";
/// The state of exclusive-run whose catcher of [`ANY`] is that of the woven work. Its other catchers are about
/// the one task that it runs.
const MODEL: &str = "Run Batch";
/// Every error that can be caught.
const ANY: &str = "States.ALL";

/// The first woven state: it makes the request.
pub(crate) const ENTRY: &str = "Request Lock";
/// The state around the work, inside of [`HOLD`].
pub(crate) const WORK: &str = "Run Work";

/// What the guard of one definition needs to know of it.
pub(crate) struct Around {
    /// Whether the definition is in JSONata; else each woven state says that it is.
    pub(crate) jsonata: bool,
    /// The first state of the work, as the definition writes it.
    pub(crate) start: String,
    /// Where the work led, as the definition writes it; `None` if the execution ends with it.
    pub(crate) next: Option<String>,
}

/// The woven states in their order, with [`Value::Work`] in place of the work.
pub(crate) fn build(
    options: &Options,
    names: &Names,
    around: &Around,
) -> Result<Vec<(String, Value)>, Error> {
    let mut guard = from_exclusive_run()?;
    let placeholders = substitute(&mut guard, options);
    if let Some(unknown) = options
        .set
        .keys()
        .find(|name| !placeholders.contains(*name))
    {
        let known: Vec<_> = placeholders.iter().map(String::as_str).collect();
        let known = known.join(", ");
        return Err(Error::Option(format!(
            "--set is \"{unknown}=…\", but must name one of {known}"
        )));
    }
    let variables = variables(options);
    names.apply(&mut guard, variables.iter().map(|(name, _)| *name));
    fill_work(&mut guard, names, around);
    let hold = guard.get_mut(&names.state(HOLD));
    if let (Some(Value::Map(fields)), Some(next)) = (hold, &around.next) {
        let end = fields.iter_mut().find(|(name, _)| name == "End");
        if let Some(end) = end {
            *end = ("Next".into(), Value::Verbatim(next.clone()));
        }
    }
    let Value::Map(mut states) = guard else {
        unreachable!("the guard is a map of states")
    };
    states.insert(0, (names.state(ENTRY), entry(options, names, variables)?));
    let mut states = Value::Map(states);
    if !around.jsonata {
        states.change(&mut say_jsonata);
    }
    match states {
        Value::Map(states) => Ok(states),
        _ => unreachable!("the guard is a map of states"),
    }
}

/// The guard's states with the work as an empty state, under the names of exclusive-run.
fn from_exclusive_run() -> Result<Value, Error> {
    let file = Value::from(&Document::parse(EXCLUSIVE_RUN)?.root);
    let states = file
        .get("States")
        .cloned()
        .unwrap_or(Value::Map(Vec::new()));
    let mut guard = reachable(&states, [FIRST.to_owned()]);
    let Some(Value::List(branches)) = guard
        .get_mut(HOLD)
        .and_then(|hold| hold.get_mut("Branches"))
    else {
        return Err(Error::Definition(format!("exclusive-run has no {HOLD}")));
    };
    let inner = branches[0].get("States").cloned();
    let inner = inner.unwrap_or(Value::Map(Vec::new()));
    let catch: Vec<_> = inner
        .get(MODEL)
        .and_then(|model| model.get("Catch"))
        .map(Value::items)
        .unwrap_or_default()
        .iter()
        .filter(|catcher| errors(catcher).any(|error| error == ANY))
        .cloned()
        .collect();
    let after = catch
        .iter()
        .filter_map(|catcher| catcher.get("Next")?.as_text())
        .chain([AFTER]);
    let after = reachable(&inner, after.map(str::to_owned));
    let work = Value::map([
        ("Type", Value::text("Parallel")),
        (
            "Comment",
            Value::text("The states that hold the lock, as they were."),
        ),
        ("Catch", Value::List(catch)),
        ("Next", Value::text(AFTER)),
    ]);
    let Value::Map(after) = after else {
        unreachable!("reachable states are a map")
    };
    let states = [(WORK.to_owned(), work)].into_iter().chain(after);
    branches[0] = Value::map([
        ("StartAt", Value::text(WORK)),
        ("States", Value::Map(states.collect())),
    ]);
    Ok(guard)
}

/// The errors that a catcher is about.
fn errors(rule: &Value) -> impl Iterator<Item = &str> {
    let errors = rule.get("ErrorEquals").map(Value::items);
    errors.unwrap_or_default().iter().filter_map(Value::as_text)
}

/// The states that can follow `first`, with it, in the order of the file.
fn reachable(states: &Value, first: impl IntoIterator<Item = String>) -> Value {
    let mut left: Vec<String> = first.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(name) = left.pop() {
        if let Some(state) = states.get(&name)
            && found.insert(name)
        {
            left.extend(targets(state));
        }
    }
    let Value::Map(states) = states else {
        return Value::Map(Vec::new());
    };
    let states = states.iter().filter(|(name, _)| found.contains(name));
    Value::Map(states.cloned().collect())
}

/// Where a state of the guard may lead.
fn targets(state: &Value) -> Vec<String> {
    let rules = ["Choices", "Catch"].into_iter();
    let rules = rules.filter_map(|name| state.get(name));
    let rules = rules
        .flat_map(Value::items)
        .filter_map(|rule| rule.get("Next"));
    let own = ["Next", "Default"].into_iter();
    let own = own.filter_map(|name| state.get(name));
    rules
        .chain(own)
        .filter_map(|target| target.as_text().map(str::to_owned))
        .collect()
}

/// Puts the values of `--set` in place of their `${NAME}`, and `aws` in place of `${Partition}` unless that
/// is set. Returns the names that there are.
fn substitute(guard: &mut Value, options: &Options) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    guard.change(&mut |value| {
        let Value::Text(text) = value else { return };
        let mut rest = text.clone();
        let mut whole = String::new();
        while let Some((before, name, after)) = placeholder(&rest) {
            let set = options.set.get(name).map(String::as_str);
            let default = (name == "Partition").then_some("aws");
            whole.push_str(before);
            match set.or(default) {
                Some(value) => whole.push_str(value),
                None => whole.push_str(&format!("${{{name}}}")),
            }
            found.insert(name.to_owned());
            rest = after.to_owned();
        }
        *text = whole + &rest;
    });
    found
}

/// The first `${NAME}` of a text: what is before it, its name, what is after it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

/// Puts the place of the work into its state.
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
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let at = fields.iter().position(|(name, _)| name == "Catch");
        let at = at.unwrap_or(fields.len());
        fields.splice(at..at, own);
        let output = ("Output".to_owned(), Value::text("{% $states.result[0] %}"));
        fields.insert(fields.len() - 1, output);
    });
}

/// The variables that the guard reads before it assigns them: the request, and the input.
fn variables(options: &Options) -> Vec<(&'static str, Value)> {
    let parent = "$states.input.AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID";
    let parent = format!("{{% $type({parent}) = 'string' ? {parent} : null %}}");
    let given = options.request().into_iter();
    let ask = given.map(|(name, value)| (name, constant(&value))).chain([
        ("holder", Value::text("{% $states.context.Execution.Id %}")),
        ("parent", Value::text(parent)),
        ("waitForEnding", Value::Literal("true".into())),
    ]);
    let number = |number: i64| Value::Literal(number.to_string());
    let until = |seconds| format!("{{% $fromMillis($millis() + 1000 * {seconds}) %}}");
    let turn = [
        ("maxQueue", options.max_queue.map(number)),
        (
            "waitUntil",
            options
                .wait_seconds
                .map(|seconds| Value::Text(until(seconds))),
        ),
    ];
    let turn = turn
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let wait = options
        .wait_seconds
        .map_or(Value::text("{% null %}"), number);
    let interval = options.wait_interval_seconds.unwrap_or(INTERVAL_DEFAULT);
    let on_skip = serde_json::json!(options.on_skip());
    vec![
        ("input", Value::text("{% $states.input %}")),
        ("request", Value::map([("onSkip", constant(&on_skip))])),
        ("ask", Value::from_fields(ask)),
        ("turn", Value::from_fields(turn)),
        ("mayWait", Value::Literal(options.may_wait().to_string())),
        ("awaitsEnding", Value::Literal("false".into())),
        ("waitSeconds", wait),
        ("waitInterval", number(interval)),
    ]
}

/// The state that makes the request and keeps the input.
fn entry(
    options: &Options,
    names: &Names,
    variables: Vec<(&'static str, Value)>,
) -> Result<Value, Error> {
    let variables = variables.into_iter();
    let variables = variables.map(|(name, value)| (names.variable(name), value));
    Ok(Value::map([
        ("Type", Value::text("Pass")),
        ("Comment", Value::Text(options.comment()?)),
        ("Assign", Value::Map(variables.collect())),
        ("Next", Value::Text(names.state(FIRST))),
    ]))
}

/// Default of `waitIntervalSeconds`, as of exclusive-run.
const INTERVAL_DEFAULT: i64 = 300;

fn constant(value: &serde_json::Value) -> Value {
    match value.as_str() {
        Some(text) => Value::text(text),
        None => Value::Literal(value.to_string()),
    }
}

/// Adds its query language to a state.
fn say_jsonata(value: &mut Value) {
    let Value::Map(fields) = value else { return };
    let is_state = |(name, value): &(String, Value)| {
        name == "Type" && matches!(value, Value::Text(kind) if STATES.contains(&kind.as_str()))
    };
    if let Some(at) = fields.iter().position(is_state) {
        let language = ("QueryLanguage".to_owned(), Value::text("JSONata"));
        fields.insert(at + 1, language);
    }
}

/// The types of the guard's states.
const STATES: [&str; 6] = ["Choice", "Fail", "Parallel", "Pass", "Succeed", "Task"];

/// The names of the guard's states, at any depth.
pub(crate) fn own_names() -> Result<Vec<String>, Error> {
    let mut names = vec![ENTRY.to_owned()];
    names::collect(&mut from_exclusive_run()?, &mut names);
    Ok(names)
}

/// The functions that the guard calls, as the definition would write them.
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
