//! Requests of heartbeat and release-lock with a wrong field: they are refused, and the lease does not
//! change.

use crate::bad_input::{ARN, Case, NULL, assert_refuses, cases};
use crate::functions::{Answer, Functions};
use crate::scene::merged;
use serde_json::{Value, json};

/// Checks that `call` refuses a grant with the fields of `more` and each of `cases`, and that the lease does
/// not change.
async fn assert_lease_kept(
    call: impl AsyncFn(&Functions, Value) -> Answer,
    more: Value,
    cases: Vec<Case<'_>>,
) {
    let functions = Functions::new();
    let grant = functions.granted("nightly", ARN).await;
    let base = merged(json!({ "grant": grant }), &more);
    assert_refuses(&functions, call, &base, cases).await;
}

#[tokio::test]
async fn heartbeat_names_field_value_and_rule_and_leaves_the_lease_alone() {
    let rule = "1 to 256 visible";
    let mut cases = cases! {
        "progress", "" => "progress", "\"\"", rule;
        "progress", "50 %\n" => "progress", "50 %\\n", rule;
        "progress", "größe" => "progress", "gr\\u{f6}", rule;
        "progress", "x".repeat(257) => "progress", rule;
        "progress", 50 => "progress", "integer `50`";
    };
    cases.extend(grant_cases());
    assert_lease_kept(Functions::heartbeat, json!({}), cases).await;

    let pace = json!({ "leaseSeconds": 300, "heartbeatSeconds": 99 });
    let cases = cases! {
        "leaseSeconds", NULL => "heartbeatSeconds", "is 99", "given only together with leaseSeconds";
        "heartbeatSeconds", NULL => "leaseSeconds", "is 300", "given only together with heartbeatSeconds";
        "leaseSeconds", 2 => "leaseSeconds", "is 2", "from 3 to 86400";
        "leaseSeconds", 86_401 => "leaseSeconds", "86401", "from 3 to 86400";
        "heartbeatSeconds", 299 => "heartbeatSeconds", "299", "from 1 to 298", "below leaseSeconds";
        "heartbeatSeconds", 0 => "heartbeatSeconds", "is 0", "from 1 to 298";
        "heartbeatSeconds", 1.5 => "heartbeatSeconds", "1.5";
    };
    assert_lease_kept(Functions::heartbeat, pace, cases).await;
}

#[tokio::test]
async fn heartbeat_refuses_a_task_token_without_repeating_it() {
    for token in ["", "se cret", "sécret", &"secret".repeat(400)] {
        let hides = async |functions: &Functions, event: Value| {
            let answer = functions.heartbeat(event).await;
            let message = answer.as_ref().expect_err(token).message();
            assert!(!message.contains("cret"), "a task token shows: {message}");
            answer
        };
        let cases = cases! { "taskToken", token => "taskToken", "(hidden)", "1 to 2048"; };
        assert_lease_kept(hides, json!({}), cases).await;
    }
}

#[tokio::test]
async fn release_lock_names_field_value_and_rule_and_leaves_the_lease_alone() {
    let mut cases = cases! {
        "outcome", NULL => "missing field `outcome`";
        "outcome", "lost" => "outcome", "lost", "succeeded";
        "outcome", 1 => "outcome";
        "outcome", json!({ "succeeded": null }) => "outcome", "{\"succeeded\":null}", "`failed`";
    };
    cases.extend(grant_cases());
    let succeeded = json!({ "outcome": "succeeded" });
    assert_lease_kept(Functions::release, succeeded, cases).await;
}

/// After a rollback of the functions, a workflow of the next version may send fields that they do not know. A
/// refused heartbeat would end a batch that works.
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

/// Returns the cases of a wrong receipt.
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
