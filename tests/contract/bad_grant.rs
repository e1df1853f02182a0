//! A receipt that is not one: heartbeat and release refuse it and leave the lease alone.

use crate::bad_input::{ARN, Case, NULL, assert_invalid, assert_refuses, cases, with};
use crate::functions::Functions;
use serde_json::json;

#[tokio::test]
async fn heartbeat_names_field_value_and_rule_and_leaves_the_lease_alone() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", ARN).await;
    let before = functions.record("nightly").await;
    let base = json!({ "grant": grant });

    assert_refuses(&base, grant_cases(), async |event| {
        functions.heartbeat(event).await
    })
    .await;
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
    let cases = cases! {
        "progress", "" => "progress", "\"\"", rule;
        "progress", "50 %\n" => "progress", "50 %\\n", rule;
        "progress", "größe" => "progress", "gr\\u{f6}", rule;
        "progress", "x".repeat(257) => "progress", rule;
        "progress", 50 => "progress", "integer `50`";
    };

    assert_refuses(&base, cases, async |event| functions.heartbeat(event).await).await;

    assert_eq!(functions.record("nightly").await, before);
}

#[tokio::test]
async fn a_pace_is_a_lease_and_a_heartbeat_at_least_two_below_it() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", ARN).await;
    let before = functions.record("nightly").await;
    let base = json!({ "grant": grant, "leaseSeconds": 300, "heartbeatSeconds": 99 });
    let cases = cases! {
        "leaseSeconds", NULL => "heartbeatSeconds", "is 99", "given only together with leaseSeconds";
        "heartbeatSeconds", NULL => "leaseSeconds", "is 300", "given only together with heartbeatSeconds";
        "leaseSeconds", 2 => "leaseSeconds", "is 2", "from 3 to 86400";
        "leaseSeconds", 86_401 => "leaseSeconds", "86401", "from 3 to 86400";
        "heartbeatSeconds", 299 => "heartbeatSeconds", "299", "from 1 to 298", "below leaseSeconds";
        "heartbeatSeconds", 0 => "heartbeatSeconds", "is 0", "from 1 to 298";
        "heartbeatSeconds", 1.5 => "heartbeatSeconds", "1.5";
    };

    assert_refuses(&base, cases, async |event| functions.heartbeat(event).await).await;

    assert_eq!(functions.record("nightly").await, before);
}

#[tokio::test]
async fn release_lock_names_field_value_and_rule_and_leaves_the_lease_alone() {
    let functions = Functions::new();
    let grant = functions.granted("nightly", ARN).await;
    let before = functions.record("nightly").await;
    let base = json!({ "grant": grant, "outcome": "succeeded" });
    let mut cases = cases! {
        "outcome", NULL => "missing field `outcome`";
        "outcome", "lost" => "outcome", "lost", "succeeded";
        "outcome", 1 => "outcome";
    };

    cases.extend(grant_cases());
    assert_refuses(&base, cases, async |event| functions.release(event).await).await;

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
    cases! {
        "grant", NULL => "missing field `grant`";
        "grant", "nightly" => "grant", "nightly";
        "grant.lock", NULL => "grant", "missing field `lock`";
        "grant.lock", "" => "grant.lock", "\"\"", "1 to 128";
        "grant.lock", "x".repeat(300_000) => "grant.lock", "1 to 128";
        "grant.lock", "n\u{0}" => "grant.lock", "n\\u{0}", "1 to 128";
        "grant.holder", NULL => "grant", "missing field `holder`";
        "grant.holder", "" => "grant.holder", "1 to 512";
        "grant.holder", "ü" => "grant.holder", "visible ASCII";
        "grant.token", NULL => "grant", "missing field `token`";
        "grant.token", 0 => "grant.token", "is 0", "from 1";
        "grant.token", -7 => "grant.token", "is -7", "from 1";
        "grant.token", 9_007_199_254_740_992_i64 => "grant.token", "from 1";
        "grant.token", "1" => "grant.token", "string \"1\"";
        "grant.runKey", "" => "grant.runKey", "1 to 512";
    }
}
