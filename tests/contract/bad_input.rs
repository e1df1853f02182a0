//! Bad input gets one clear error that names the field, the value and the rule; nothing is written.

use crate::functions::{Answer, Functions, key};
use lockstep::store::memory::LockItems;
use serde_json::{Value, json};

pub(crate) const ARN: &str = "arn:aws:states:eu-west-1:123456789012:execution:report:a";

/// `base` with `field` (a path of at most two names) set to `value`, or removed for `null`.
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

/// Checks that `answer` is `InvalidRequest` and says all of `parts`.
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

#[tokio::test]
async fn acquire_lock_names_field_value_and_rule_and_writes_nothing() {
    let base = json!({ "lock": "nightly", "holder": ARN });
    let huge = "x".repeat(300_000);
    let mut cases = name_cases(&huge);
    cases.extend(number_cases());
    cases.extend(other_cases());
    cases.push((&huge, json!(1), vec!["unknown field"]));

    assert_acquire_refuses(&base, cases).await;
}

/// Checks that acquire-lock refuses `base` with each of `cases`, and that nobody has seen anything
/// of it.
pub(crate) async fn assert_acquire_refuses(base: &Value, cases: Vec<Case<'_>>) {
    let functions = Functions::new();
    for (field, value, parts) in cases {
        let case = format!("{} = {}", &field[..field.len().min(40)], short(&value));
        let answer = functions.acquire(with(base, field, value)).await;
        assert_invalid(answer, &case, &parts);
    }

    assert_eq!(functions.store.items(&key("nightly")), LockItems::default());
    assert!(functions.metrics.all().is_empty());
    assert!(functions.events.published().is_empty());
    assert!(functions.executions.ended().is_empty());
}

pub(crate) type Case<'a> = (&'a str, Value, Vec<&'static str>);

fn name_cases(huge: &str) -> Vec<Case<'static>> {
    let long = "x".repeat(129);
    vec![
        ("lock", json!(null), vec!["missing field `lock`"]),
        ("lock", json!(""), vec!["lock", "\"\"", "1 to 128"]),
        ("lock", json!(long), vec!["lock", "xxx", "1 to 128"]),
        ("lock", json!(huge), vec!["lock", "1 to 128"]),
        ("lock", json!(7), vec!["lock", "integer `7`", "string"]),
        (
            "lock",
            json!("täglich"),
            vec!["lock", "t\\u{e4}glich", "ASCII"],
        ),
        ("lock", json!("a\nb"), vec!["lock", "a\\nb", "1 to 128"]),
        ("lock", json!("a b"), vec!["lock", "a b", "no spaces"]),
        ("holder", json!(null), vec!["missing field `holder`"]),
        ("holder", json!(""), vec!["holder", "\"\"", "1 to 512"]),
        (
            "holder",
            json!("a\u{7}b"),
            vec!["holder", "a\\u{7}b", "visible ASCII"],
        ),
        ("holder", json!("x".repeat(513)), vec!["holder", "1 to 512"]),
    ]
}

fn number_cases() -> Vec<Case<'static>> {
    vec![
        ("permits", json!(0), vec!["permits", "0", "from 1 to 100"]),
        (
            "permits",
            json!(101),
            vec!["permits", "101", "from 1 to 100"],
        ),
        ("permits", json!(-1), vec!["permits", "-1", "from 1 to 100"]),
        ("permits", json!(1.5), vec!["permits", "1.5"]),
        ("permits", json!("2"), vec!["permits", "string \"2\""]),
        (
            "leaseSeconds",
            json!(0),
            vec!["leaseSeconds", "is 0", "from 3 to 86400"],
        ),
        (
            "leaseSeconds",
            json!(-5),
            vec!["leaseSeconds", "is -5", "from 3 to 86400"],
        ),
        (
            "leaseSeconds",
            json!(86_401),
            vec!["leaseSeconds", "86401", "from 3 to 86400"],
        ),
        (
            "heartbeatSeconds",
            json!(59),
            vec![
                "heartbeatSeconds",
                "59",
                "from 1 to 58",
                "below leaseSeconds",
            ],
        ),
        (
            "heartbeatSeconds",
            json!(0),
            vec!["heartbeatSeconds", "is 0", "from 1"],
        ),
        (
            "heartbeatSeconds",
            json!(-1),
            vec!["heartbeatSeconds", "is -1", "from 1"],
        ),
        (
            "maxRunSeconds",
            json!(0),
            vec!["maxRunSeconds", "is 0", "from 1 to 31536000"],
        ),
        (
            "maxRunSeconds",
            json!(-1),
            vec!["maxRunSeconds", "is -1", "from 1 to 31536000"],
        ),
        (
            "minIntervalSeconds",
            json!(0),
            vec!["minIntervalSeconds", "is 0", "from 1"],
        ),
        (
            "minIntervalSeconds",
            json!(31_536_001),
            vec!["minIntervalSeconds", "31536001"],
        ),
    ]
}

fn other_cases() -> Vec<Case<'static>> {
    vec![
        ("runKey", json!(""), vec!["runKey", "\"\"", "1 to 512"]),
        (
            "runKey",
            json!("6 o'clock"),
            vec!["runKey", "6 o", "without spaces"],
        ),
        ("runKey", json!("x".repeat(513)), vec!["runKey", "1 to 512"]),
        ("overlap", json!("wait"), vec!["overlap", "wait", "skip"]),
        ("leaseSecs", json!(60), vec!["unknown field `leaseSecs`"]),
    ]
}

#[tokio::test]
async fn a_request_that_is_no_object_is_refused() {
    let functions = Functions::new();

    for event in [json!(null), json!([]), json!("nightly"), json!(7)] {
        assert_invalid(
            functions.acquire(event.clone()).await,
            &event.to_string(),
            &["request"],
        );
        assert_invalid(
            functions.heartbeat(event.clone()).await,
            &event.to_string(),
            &["request"],
        );
        assert_invalid(
            functions.release(event.clone()).await,
            &event.to_string(),
            &["request"],
        );
        assert_invalid(
            functions.reap(event.clone()).await,
            &event.to_string(),
            &["request"],
        );
    }
}

pub(crate) fn short(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}
