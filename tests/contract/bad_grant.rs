//! A receipt that is not one: heartbeat and release refuse it and leave the lease alone.

use crate::bad_input::{ARN, Case, assert_invalid, short, with};
use crate::functions::Functions;
use serde_json::json;

#[tokio::test]
async fn heartbeat_names_field_value_and_rule_and_leaves_the_lease_alone() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", ARN).await;
    let before = functions.record("nightly").await;
    let base = json!({ "grant": grant });

    for (field, value, parts) in grant_cases() {
        let answer = functions.heartbeat(with(&base, field, value.clone())).await;
        assert_invalid(answer, &format!("{field} = {}", short(&value)), &parts);
    }
    for token in ["", "se cret", "sécret", &"secret".repeat(400)] {
        let answer = functions
            .heartbeat(with(&base, "taskToken", json!(token)))
            .await;
        let message = answer.as_ref().expect_err(token).message().to_owned();
        assert_invalid(answer, "taskToken", &["taskToken", "(hidden)", "1 to 2048"]);
        assert!(!message.contains("cret"), "a task token shows: {message}");
    }

    assert_eq!(functions.record("nightly").await, before);
}

#[tokio::test]
async fn a_progress_is_a_short_visible_text() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", ARN).await;
    let before = functions.record("nightly").await;
    let base = json!({ "grant": grant });
    let rule = "1 to 256 visible";
    let cases = [
        (json!(""), vec!["progress", "\"\"", rule]),
        (json!("50 %\n"), vec!["progress", "50 %\\n", rule]),
        (json!("größe"), vec!["progress", "gr\\u{f6}", rule]),
        (json!("x".repeat(257)), vec!["progress", rule]),
        (json!(50), vec!["progress", "integer `50`"]),
    ];

    for (value, parts) in cases {
        let answer = functions
            .heartbeat(with(&base, "progress", value.clone()))
            .await;
        assert_invalid(answer, &format!("progress = {}", short(&value)), &parts);
    }

    assert_eq!(functions.record("nightly").await, before);
}

#[tokio::test]
async fn release_lock_names_field_value_and_rule_and_leaves_the_lease_alone() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", ARN).await;
    let before = functions.record("nightly").await;
    let base = json!({ "grant": grant, "outcome": "succeeded" });
    let own = [
        ("outcome", json!(null), vec!["missing field `outcome`"]),
        (
            "outcome",
            json!("lost"),
            vec!["outcome", "lost", "succeeded"],
        ),
        ("outcome", json!(1), vec!["outcome"]),
    ];

    for (field, value, parts) in grant_cases().into_iter().chain(own) {
        let answer = functions.release(with(&base, field, value.clone())).await;
        assert_invalid(answer, &format!("{field} = {}", short(&value)), &parts);
    }

    assert_eq!(functions.record("nightly").await, before);
}

/// The workflow that sends them may be of the next version, after a rollback of the functions: a
/// heartbeat that is refused for that would end a batch that works.
#[tokio::test]
async fn heartbeat_and_release_ignore_fields_that_they_do_not_know() {
    let functions = Functions::new();
    let mut grant = functions.granted("nightly", ARN).await;
    grant["shard"] = json!(7);
    let task = json!({ "task": "t", "cluster": "c", "minutes": 5 });
    let beat = json!({ "grant": grant, "deadline": "soon" });
    let release = json!({ "grant": grant, "outcome": "succeeded", "by": { "whom": task } });

    let renewed = functions.heartbeat(beat).await.unwrap();
    let released = functions.release(release).await.unwrap();

    assert_eq!(renewed["status"], "renewed");
    assert_eq!(released["status"], "released");
}

/// What can be wrong with a receipt.
fn grant_cases() -> Vec<Case<'static>> {
    vec![
        ("grant", json!(null), vec!["missing field `grant`"]),
        ("grant", json!("nightly"), vec!["grant", "nightly"]),
        (
            "grant.lock",
            json!(null),
            vec!["grant", "missing field `lock`"],
        ),
        (
            "grant.lock",
            json!(""),
            vec!["grant.lock", "\"\"", "1 to 128"],
        ),
        (
            "grant.lock",
            json!("x".repeat(300_000)),
            vec!["grant.lock", "1 to 128"],
        ),
        (
            "grant.lock",
            json!("n\u{0}"),
            vec!["grant.lock", "n\\u{0}", "1 to 128"],
        ),
        (
            "grant.holder",
            json!(null),
            vec!["grant", "missing field `holder`"],
        ),
        ("grant.holder", json!(""), vec!["grant.holder", "1 to 512"]),
        (
            "grant.holder",
            json!("ü"),
            vec!["grant.holder", "visible ASCII"],
        ),
        (
            "grant.token",
            json!(null),
            vec!["grant", "missing field `token`"],
        ),
        (
            "grant.token",
            json!(0),
            vec!["grant.token", "is 0", "from 1"],
        ),
        (
            "grant.token",
            json!(-7),
            vec!["grant.token", "is -7", "from 1"],
        ),
        (
            "grant.token",
            json!(9_007_199_254_740_992_i64),
            vec!["grant.token", "from 1"],
        ),
        (
            "grant.token",
            json!("1"),
            vec!["grant.token", "string \"1\""],
        ),
        ("grant.runKey", json!(""), vec!["grant.runKey", "1 to 512"]),
    ]
}
