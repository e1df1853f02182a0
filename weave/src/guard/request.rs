//! The first woven state, which assigns the request for the lock.
//!
//! exclusive-run computes its variables from its input. Here the flags determine them, so most are constants.
//! Only the holder, the parent and expressions in flags are evaluated at run time.

use super::{FIRST, Names};
use crate::Error;
use crate::options::Options;
use crate::value::Value;
use serde_json::json;

/// Default of `waitIntervalSeconds` in seconds, as in exclusive-run.
const INTERVAL_DEFAULT: i64 = 300;

/// Returns the variables that the guard reads before it assigns them: the input, and the parts of the
/// request.
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

/// Returns the request to acquire-lock.
///
/// With `work.states`, an execution that ended without a release keeps its permit for 30 seconds, because
/// Step Functions may still be stopping what its states had started. With the parent, Lockstep recognises a
/// retry of a nested execution.
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

/// Returns the state that assigns `variables`.
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

/// Converts a value of the request. A text is written unchanged, so an expression stays an expression.
fn constant(value: &serde_json::Value) -> Value {
    match value.as_str() {
        Some(text) => Value::text(text),
        None => Value::Literal(value.to_string()),
    }
}
