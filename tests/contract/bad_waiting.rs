//! The values that acquire-lock refuses in the fields for waiting.

use crate::bad_input::{ARN, assert_acquire_refuses, assert_invalid, cases};
use crate::functions::{Functions, key};
use lockstep::store::memory::LockItems;
use serde_json::{Value, json};

const QUEUE_ONLY: &str = "given only with overlap queue";
const WAITING_ONLY: &str =
    "given only with overlap queue or replace, onPaused wait or catchUp once";

pub(crate) fn base(overlap: &str) -> Value {
    json!({ "lock": "nightly", "holder": ARN, "overlap": overlap, "work": { "cluster": "batch" } })
}

#[tokio::test]
async fn max_queue_is_refused_without_overlap_queue() {
    for overlap in ["skip", "fail", "replace"] {
        for given in [1, 100, 501] {
            let cases = cases! { "maxQueue", given => "maxQueue", "is ", QUEUE_ONLY; };
            assert_acquire_refuses(&base(overlap), cases).await;
        }
    }
}

#[tokio::test]
async fn task_token_and_wait_until_are_refused_for_a_run_that_cannot_wait() {
    for overlap in ["skip", "fail"] {
        let until = "2026-03-01T07:00:00Z";
        let cases = cases! {
            "taskToken", "AQC" => "taskToken", "(hidden)", WAITING_ONLY;
            "waitUntil", until => "waitUntil", until, WAITING_ONLY;
        };

        assert_acquire_refuses(&base(overlap), cases).await;
    }
}

#[tokio::test]
async fn a_task_token_is_never_repeated() {
    let functions = Functions::new();
    let secrets = [
        json!("se cret"),
        json!("sécret"),
        json!(""),
        json!("secret".repeat(400)),
        json!(["secret"]),
        json!({ "secret": "secret" }),
        json!(4711),
    ];
    for overlap in ["skip", "queue", "replace"] {
        for secret in &secrets {
            let mut request = base(overlap);
            request["taskToken"] = secret.clone();

            let answer = functions.acquire(request).await;

            let case = format!("{overlap} {}", secret.to_string().len());
            let message = answer.as_ref().expect_err(&case).message().to_owned();
            assert!(!message.contains("cret"), "a task token shows: {message}");
            assert_invalid(answer, &case, &["taskToken"]);
        }
    }
    assert_eq!(functions.store.items(&key("nightly")), LockItems::default());
}

#[tokio::test]
async fn a_wrong_max_queue_or_wait_until_is_refused_with_its_rule() {
    let range = "from 1 to 500";
    let bounds = cases! {
        "maxQueue", 0 => "maxQueue", "is 0", range;
        "maxQueue", 501 => "maxQueue", "is 501", range;
        "maxQueue", -1 => "maxQueue", "is -1", range;
        "maxQueue", i64::MIN => "maxQueue", "-9223", range;
        "maxQueue", 1.5 => "maxQueue", "1.5";
        "maxQueue", "3" => "maxQueue", "string \"3\"";
    };
    assert_acquire_refuses(&base("queue"), bounds).await;

    let rule = "RFC 3339";
    let times = cases! {
        "waitUntil", "" => "waitUntil", "\"\"", rule;
        "waitUntil", "tomorrow" => "waitUntil", "\"tomorrow\"", rule;
        "waitUntil", "2026-03-01" => "waitUntil", "2026-03-01", rule;
        "waitUntil", "2026-03-01T06:00:00" => "waitUntil", rule;
        "waitUntil", "2026-02-30T06:00:00Z" => "waitUntil", rule;
        "waitUntil", "1969-12-31T23:59:59Z" => "waitUntil", "1969", rule;
        "waitUntil", "x".repeat(300_000) => "waitUntil", rule;
        "waitUntil", 1_772_344_800 => "waitUntil", "integer";
    };
    for overlap in ["queue", "replace"] {
        assert_acquire_refuses(&base(overlap), times.clone()).await;
    }
}
