//! The first woven state: the request of the lock.

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

fn constant(value: &serde_json::Value) -> Value {
    match value.as_str() {
        Some(text) => Value::text(text),
        None => Value::Literal(value.to_string()),
    }
}
