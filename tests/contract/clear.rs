//! The acts `clear-rest` and `forget`.

use crate::bad_input::{NULL, assert_invalid, cases};
use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::operate::act;
use crate::scene::{ask, ask_with, assert_fails, assert_has, execution, merged, status_of};
use serde_json::{Value, json};

fn tick(name: &str) -> Value {
    ask_with(name, json!({ "runKey": "tick-1" }))
}

/// Returns the functions after `a` has succeeded under the run key.
async fn succeeded() -> Functions {
    let functions = Functions::running(&["a", "b", "c"]);
    let grant = functions.granted_with(tick("a")).await;
    functions.succeed(&grant).await;
    functions
}

fn forget() -> Value {
    act("forget", json!({ "lock": "nightly", "runKey": "tick-1" }))
}

/// Returns the outcome and the note of each act in the history of the lock.
async fn acts(functions: &Functions) -> Vec<Value> {
    let history = functions.history_page().await;
    let entries = history["entries"].as_array().unwrap().iter();
    let acts = entries.filter(|entry| entry["kind"] == "act");
    acts.map(|entry| json!([entry["outcome"], entry["note"]]))
        .collect()
}

#[tokio::test]
async fn a_wrong_clear_rest_or_forget_is_refused_with_field_and_rule() {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    let clear = act("clear-rest", json!({ "lock": "nightly" }));
    let clear_cases = cases! {
        "lock", "unused" => "lock", "\"unused\"", "acquired or paused before";
        "lock", NULL => "missing field `lock`";
        "note", "" => "note", "1 to 500";
        "actor", "Jo Doe" => "actor", "Jo Doe", "without spaces";
        "prefix", "n" => "unknown field `prefix`";
    };
    functions.assert_refused(&clear, clear_cases).await;
    let forget_cases = cases! {
        "lock", "unused" => "lock", "\"unused\"", "acquired or paused before";
        "runKey", NULL => "missing field `runKey`";
        "runKey", "a b" => "runKey", "a b", "visible ASCII";
        "runKey", "tick-2" => "runKey", "\"tick-2\"", "has succeeded within RunKeyRetentionDays";
    };
    functions.assert_refused(&forget(), forget_cases).await;
    let refused = functions.view(forget()).await;
    assert_invalid(refused, "forget", &["forget", "view only reads"]);
}

#[tokio::test]
async fn clear_rest_ends_a_rest_and_grants_the_first_waiter() {
    let rests = json!({ "minIntervalSeconds": 86_400 });
    let (functions, grant) = Functions::held_with(&["a", "b"], rests).await;
    functions.succeed(&grant).await;
    functions.queue(&["b"]).await;
    assert_eq!(functions.output("token-b"), None);
    let clear = act("clear-rest", json!({ "lock": "nightly" }));

    let cleared = functions.operate(clear.clone()).await.unwrap();
    let again = functions.operate(clear).await.unwrap();

    assert_eq!(cleared["status"], "cleared");
    assert_has(
        &again,
        json!({ "status": "unchanged", "message": "lock nightly is not resting" }),
    );
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
    let expected = json!(["restCleared", "upgrade (by jo@example.com)"]);
    assert_eq!(acts(&functions).await, [expected]);
}

#[tokio::test]
async fn a_run_key_that_is_forgotten_is_free_for_one_more_success() {
    let functions = succeeded().await;
    assert_eq!(functions.status(tick("b")).await, "duplicate");

    let forgotten = functions.operate(forget()).await.unwrap();
    let grant = functions.granted_with(tick("b")).await;
    functions.succeed(&grant).await;

    assert_eq!(forgotten["status"], "forgotten");
    assert_eq!(functions.status(tick("c")).await, "duplicate");
    let expected = json!(["forgotten", "run key tick-1: upgrade (by jo@example.com)"]);
    assert_eq!(acts(&functions).await, [expected]);
}

#[tokio::test]
async fn a_run_key_is_not_forgotten_while_a_holder_or_a_waiter_has_it() {
    for (name, policy) in [("a", "skip"), ("w", "queue")] {
        let functions = Functions::running(&["a", "b", "w"]);
        if name == "w" {
            functions.granted_with(ask("b")).await;
        }
        let overlap = json!({ "overlap": policy });
        functions
            .acquire(merged(tick(name), &overlap))
            .await
            .unwrap();

        let refused = functions.operate(forget()).await;

        assert_fails(refused, "Lockstep.LockHeld", &[&execution(name)]);
    }
}

#[tokio::test]
async fn a_repeated_forget_finishes_one_that_was_cut_off() {
    let functions = succeeded().await;

    let lost = Faulty::cut_off_after(&functions, 0);
    let failed = functions.operate_on(&lost, forget()).await;
    let done = functions.operate(forget()).await;

    assert_eq!(status_of(&failed), "Lockstep.Unavailable");
    assert_eq!(status_of(&done), "forgotten");
}
