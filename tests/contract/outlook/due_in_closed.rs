//! What show says of holders that a sweep would check, of a closed lock for which no sweep comes.

use super::replace_after_rest::sweep_until;
use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::{ask_with, execution, merged};
use lockstep::domain::{ExecutionEnd, Mode};
use serde_json::{Value, json};

/// Sweeps each minute until the time `by`, and for two minutes more.
async fn sweep_past(functions: &Functions, by: &Value) {
    sweep_until(functions, by.as_str().unwrap()).await;
    for _ in 0..2 {
        functions.wait(60);
        functions.sweep().await;
    }
}

/// Grants a permit of two to the execution `name`, and returns the grant.
async fn of_two(functions: &Functions, name: &str, more: Value) -> Value {
    let terms = merged(json!({ "permits": 2 }), &more);
    functions.granted_with(ask_with(name, terms)).await
}

/// Freezes the lock by a heartbeat of `grant`, which is over its time under `hold`.
async fn freeze(functions: &Functions, grant: &Value) {
    functions.renew(grant).await;
    let mode = functions.record("nightly").await.unwrap().gate.mode;
    assert!(matches!(mode, Mode::Frozen { .. }), "{mode:?}");
}

fn holds() -> Value {
    json!({ "stalePolicy": "hold", "maxRunSeconds": 100, "leaseSeconds": 3600 })
}

/// Its lease is dead, so each sweep of the lock checks it. Its limit makes no frozen lock due.
#[tokio::test]
async fn a_suspect_of_a_frozen_lock_is_stopped_for_its_limit_by_then() {
    let functions = Functions::running(&["a", "b"]);
    let grant = of_two(&functions, "a", holds()).await;
    let long = json!({ "leaseSeconds": 1000, "heartbeatSeconds": 900, "maxRunSeconds": 1500 });
    of_two(&functions, "b", long).await;
    functions.wait(101);
    freeze(&functions, &grant).await;
    functions.wait(901);
    functions.sweep().await;
    functions.wait(1);

    let shown = functions.shown().await;
    let view = &shown["holders"][1];
    sweep_past(&functions, &view["next"]["by"]).await;

    assert_eq!(view["holder"], execution("b"), "{shown}");
    assert_eq!(view["next"]["action"], "stop", "{shown}");
    assert!(!functions.executions.stops().is_empty(), "{view}");
}

/// Another run waits to replace it, so each sweep of the lock checks it.
#[tokio::test]
async fn a_replaced_run_of_a_frozen_lock_is_stopped_for_its_limit_by_then() {
    let functions = Functions::running(&["a", "b", "c"]);
    let limited = json!({ "maxRunSeconds": 400, "leaseSeconds": 3600 });
    of_two(&functions, "b", limited).await;
    let rests = merged(holds(), &json!({ "minIntervalSeconds": 600 }));
    let grant = of_two(&functions, "a", rests).await;
    functions.wait(50);
    let replace = merged(replacing("c", "token-c"), &json!({ "permits": 2 }));
    assert_eq!(functions.status(replace).await, "queued");
    functions.wait(51);
    freeze(&functions, &grant).await;

    let shown = functions.shown().await;
    let view = &shown["holders"][0];
    sweep_past(&functions, &view["next"]["by"]).await;

    assert_eq!(view["holder"], execution("b"), "{shown}");
    assert_eq!(view["next"]["action"], "stop", "{shown}");
    assert!(!functions.executions.stops().is_empty(), "{view}");
}

/// A sweep that comes before that time writes the end of the lease as the next check.
#[tokio::test]
async fn a_dead_replacer_of_a_paused_lock_leaves_the_queue_by_the_shown_time() {
    let rests = json!({ "minIntervalSeconds": 7200, "leaseSeconds": 3600 });
    let (functions, grant) = Functions::held_with(&["a", "b"], rests).await;
    functions.wait(3500);
    functions.renew(&grant).await;
    functions.wait(89);
    functions.end("b", ExecutionEnd::Aborted);
    functions.wait(1);
    let status = functions.status(replacing("b", "token-b")).await;
    assert_eq!(status, "queued");
    functions.pause("upgrade").await;
    functions.wait(2);

    let shown = functions.shown().await;
    let next = &shown["holders"][0]["next"];
    functions.wait(15);
    functions.sweep().await;
    sweep_past(&functions, &next["by"]).await;

    assert_eq!(next["action"], "dropReplacer", "{shown}");
    let record = functions.record("nightly").await.unwrap();
    assert!(record.queue.is_empty(), "{next}");
}
