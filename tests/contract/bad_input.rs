//! A bad request gets one error that names the field, the value and the rule, and writes nothing.

use crate::functions::{Answer, Functions, key};
use serde_json::{Value, json};

/// Stands for a missing field in a table of [`cases`].
pub(crate) const NULL: Value = Value::Null;

/// A table of bad values. Each line has the field, its value, and the parts that the error has to contain.
macro_rules! cases {
    ($($field:expr, $value:expr => $($part:expr),+;)+) => {
        vec![$(($field, serde_json::json!($value), vec![$($part),+])),+]
    };
}

pub(crate) use cases;

pub(crate) const ARN: &str = "arn:aws:states:eu-west-1:123456789012:execution:report:a";

/// Returns `base` with `field` set to `value`, or removed if `value` is `null`. `field` is a path of one or
/// two names.
pub(crate) fn with(base: &Value, field: &str, value: Value) -> Value {
    let mut event = base.clone();
    let (parent, name) = match field.split_once('.') {
        Some((parent, name)) => (&mut event[parent], name),
        None => (&mut event, field),
    };
    let parent = parent.as_object_mut().expect("the path leads to an object");
    match value {
        Value::Null => parent.remove(name),
        value => parent.insert(name.to_owned(), value),
    };
    event
}

/// Checks that `answer` is `InvalidRequest`, contains all of `parts`, and is shorter than 700 bytes.
pub(crate) fn assert_invalid(answer: Answer, case: &str, parts: &[&str]) {
    let error = answer.expect_err(case);
    assert_eq!(
        error.name().as_str(),
        "Lockstep.InvalidRequest",
        "{case}: {error}"
    );
    for part in parts {
        assert!(
            error.message().contains(part),
            "{case}: {part:?} is not in: {error}"
        );
    }
    assert!(
        error.message().len() < 700,
        "{case}: {} bytes",
        error.message().len()
    );
}

/// Checks that `call` refuses `base` with each of `cases`, and changes nothing.
pub(crate) async fn assert_refuses(
    functions: &Functions,
    call: impl AsyncFn(&Functions, Value) -> Answer,
    base: &Value,
    cases: Vec<Case<'_>>,
) {
    let before = traces(functions);
    for (field, value, parts) in cases {
        let case = format!("{} = {}", &field[..field.len().min(40)], short(&value));
        let answer = call(functions, with(base, field, value)).await;
        assert_invalid(answer, &case, &parts);
    }
    assert_eq!(traces(functions), before);
}

/// Returns everything that the functions have written, published, stopped and ended.
fn traces(functions: &Functions) -> impl PartialEq + std::fmt::Debug {
    let Functions {
        executions, tasks, ..
    } = functions;
    (
        functions.store.items(&key("nightly")),
        functions.metrics.all(),
        functions.events.published(),
        (executions.stops(), executions.ended()),
        (tasks.stops(), tasks.wishes()),
    )
}

#[tokio::test]
async fn acquire_lock_names_field_value_and_rule_and_writes_nothing() {
    let base = json!({ "lock": "nightly", "holder": ARN });
    let huge = "x".repeat(300_000);
    let mut cases = acquire_cases(&huge);
    cases.push((&huge, json!(1), vec!["unknown field"]));

    assert_acquire_refuses(&base, cases).await;
}

/// Checks that acquire-lock refuses `base` with each of `cases`.
pub(crate) async fn assert_acquire_refuses(base: &Value, cases: Vec<Case<'_>>) {
    assert_refuses(&Functions::new(), Functions::acquire, base, cases).await;
}

pub(crate) type Case<'a> = (&'a str, Value, Vec<&'static str>);

fn acquire_cases(huge: &str) -> Vec<Case<'static>> {
    let long = "x".repeat(129);
    cases! {
        "lock", NULL => "missing field `lock`";
        "lock", "" => "lock", "\"\"", "1 to 128";
        "lock", long => "lock", "xxx", "1 to 128";
        "lock", huge => "lock", "1 to 128";
        "lock", 7 => "lock", "integer `7`", "string";
        "lock", "täglich" => "lock", "t\\u{e4}glich", "ASCII";
        "lock", "a\nb" => "lock", "a\\nb", "1 to 128";
        "lock", "a b" => "lock", "a b", "no spaces";
        "holder", NULL => "missing field `holder`";
        "holder", "" => "holder", "\"\"", "1 to 512";
        "holder", "a\u{7}b" => "holder", "a\\u{7}b", "visible ASCII";
        "holder", "x".repeat(513) => "holder", "1 to 512";
        "holder", "arn:aws:states:eu-west-1:1:express:report:a:b" => "holder", "express:report", "a Standard workflow";
        "holder", "arn:aws:states:eu-west-1:1:express:report:a:b#2" => "holder", "a Standard workflow";
        "permits", 0 => "permits", "0", "from 1 to 100";
        "permits", 101 => "permits", "101", "from 1 to 100";
        "permits", -1 => "permits", "-1", "from 1 to 100";
        "permits", 1.5 => "permits", "1.5";
        "permits", "2" => "permits", "string \"2\"";
        "leaseSeconds", 0 => "leaseSeconds", "is 0", "from 3 to 86400";
        "leaseSeconds", -5 => "leaseSeconds", "is -5", "from 3 to 86400";
        "leaseSeconds", 86_401 => "leaseSeconds", "86401", "from 3 to 86400";
        "heartbeatSeconds", 59 => "heartbeatSeconds", "59", "from 1 to 58", "below leaseSeconds";
        "heartbeatSeconds", 0 => "heartbeatSeconds", "is 0", "from 1";
        "heartbeatSeconds", -1 => "heartbeatSeconds", "is -1", "from 1";
        "maxHeartbeatSeconds", 0 => "maxHeartbeatSeconds", "is 0", "from 1 to 28799";
        "maxHeartbeatSeconds", 28_800 => "maxHeartbeatSeconds", "28800", "from 1 to 28799";
        "maxRunSeconds", 0 => "maxRunSeconds", "is 0", "from 1 to 31536000";
        "maxRunSeconds", -1 => "maxRunSeconds", "is -1", "from 1 to 31536000";
        "minIntervalSeconds", 0 => "minIntervalSeconds", "is 0", "from 1";
        "minIntervalSeconds", 31_536_001 => "minIntervalSeconds", "31536001";
        "runKey", "" => "runKey", "\"\"", "1 to 512";
        "runKey", "6 o'clock" => "runKey", "6 o", "without spaces";
        "runKey", "x".repeat(513) => "runKey", "1 to 512";
        "overlap", "wait" => "overlap", "wait", "skip";
        "work", json!([]) => "work", "is []", "an object";
        "work", json!(["batch"]) => "work", "is [\"batch\"]", "an object";
        "leaseSecs", 60 => "unknown field `leaseSecs`";
    }
}

#[tokio::test]
async fn a_request_that_is_no_object_is_refused() {
    let functions = Functions::new();

    for event in [
        json!(null),
        json!([]),
        json!([{}, "succeeded"]),
        json!("nightly"),
        json!(7),
    ] {
        for (function, answer, part) in [
            ("acquire", functions.acquire(event.clone()).await, "request"),
            (
                "heartbeat",
                functions.heartbeat(event.clone()).await,
                "request",
            ),
            ("release", functions.release(event.clone()).await, "request"),
            ("reap", functions.reap(event.clone()).await, "request"),
            (
                "operate",
                functions.operate(event.clone()).await,
                "the request is not valid",
            ),
        ] {
            assert_invalid(answer, &format!("{function} {event}"), &[part]);
        }
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}
