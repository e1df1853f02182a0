//! The first woven state: the request of the lock.
//!
//! exclusive-run computes these from its input. Here the flags have them, so most are constants,
//! and only the holder, the parent and what the flags give as an expression are read at run time.

use super::{FIRST, Names};
use crate::Error;
use crate::options::Options;
use crate::value::Value;
use serde_json::json;

/// Default of `waitIntervalSeconds`, as of exclusive-run.
const INTERVAL_DEFAULT: i64 = 300;

/// The variables that the guard reads before it assigns them: the request, and the input.
pub(super) fn variables(options: &Options) -> Vec<(&'static str, Value)> {
    let number = |number: i64| Value::Literal(number.to_string());
    let until = |seconds| format!("{{% $fromMillis($millis() + 1000 * {seconds}) %}}");
    let turn = [
        ("maxQueue", options.options.max_queue.map(number)),
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
    let on_skip = constant(&json!(options.on_skip()));
    vec![
        ("input", Value::text("{% $states.input %}")),
        ("request", Value::map([("onSkip", on_skip)])),
        ("ask", ask(options)),
        ("turn", Value::from_fields(turn)),
        ("mayWait", Value::Literal(options.may_wait().to_string())),
        (
            "waitsPaused",
            Value::Literal(options.waits_paused().to_string()),
        ),
        ("awaitsEnding", Value::Literal("false".into())),
        ("waitSeconds", wait),
        ("waitInterval", number(interval)),
    ]
}

/// The request of acquire-lock.
///
/// `work.states` has an execution that ended without a release keep its permit for thirty seconds:
/// Step Functions is still stopping what its states had started. The parent makes a retry of a
/// nested execution known as one.
fn ask(options: &Options) -> Value {
    let parent = "$states.input.AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID";
    let parent = format!("{{% $type({parent}) = 'string' ? {parent} : null %}}");
    let yes = || Value::Literal("true".into());
    let given = options.request().into_iter();
    let given = given.map(|(name, value)| (name, constant(&value)));
    Value::from_fields(given.chain([
        ("holder", Value::text("{% $states.context.Execution.Id %}")),
        ("parent", Value::text(parent)),
        ("waitForEnding", yes()),
        ("work", Value::map([("states", yes())])),
    ]))
}

/// The state that assigns `variables`.
pub(super) fn state(
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

/// A value as the definition has it: a text may be an expression, and stays one.
fn constant(value: &serde_json::Value) -> Value {
    match value.as_str() {
        Some(text) => Value::text(text),
        None => Value::Literal(value.to_string()),
    }
}
