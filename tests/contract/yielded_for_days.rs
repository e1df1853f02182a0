//! A run that works on without its permit for longer than the history keeps its entry, under a longer retention of run
//! keys.

use crate::functions::{Functions, key};
use crate::scene::ask_with;
use lockstep::clock::Clock;
use lockstep::domain::{ExecutionEnd, Retention, Seconds};
use lockstep::service::{acquire, release};
use lockstep::store::memory::MemoryStore;
use serde_json::{Value, json};

/// `RunRetentionDays` 1 and `RunKeyRetentionDays` 14.
const KEPT: Retention = Retention {
    history: Seconds::of(86_400),
    run_keys: Seconds::of(14 * 86_400),
};

/// Returns the table as DynamoDB leaves it after the TTL of its items.
async fn after_the_ttl(functions: &Functions) -> MemoryStore {
    let (lock, left) = (key("nightly"), MemoryStore::default());
    left.put(lock.clone(), functions.record("nightly").await.unwrap());
    for (id, run) in functions.store.items(&lock).runs {
        let end = run.end.as_ref();
        if end.is_none_or(|end| end.retain_until > functions.clock.now()) {
            left.put_run(lock.clone(), id, run);
        }
    }
    left
}

/// The run has no container whose exit code shows the success, so only its release does.
#[tokio::test]
async fn a_run_that_went_on_for_days_keeps_its_run_key_after_its_success() {
    let mut functions = Functions::running(&["a", "b"]);
    functions.retention = KEPT;
    let yields = json!({ "runKey": "tick", "stalePolicy": "yield" });
    let grant = functions.granted_with(ask_with("a", yields)).await;
    functions.silent_for_long(60).await;
    functions.sweep().await;
    assert!(functions.marker("nightly", "tick").unwrap().lease.is_some());
    functions.wait(2 * 86_400);
    let table = after_the_ttl(&functions).await;
    let deps = functions.deps_on(&table);
    let success = json!({ "grant": grant, "outcome": "succeeded" });
    release::handle(&deps, success).await.unwrap();
    functions.end("a", ExecutionEnd::Succeeded);
    let next = ask_with("b", json!({ "runKey": "tick" }));

    let answer = acquire::handle(&deps, next).await.unwrap();

    let answer: Value = serde_json::to_value(answer).unwrap();
    assert_eq!(answer["status"], "duplicate", "{answer}");
}
