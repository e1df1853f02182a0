//! Run keys: a run with the key of a success, or of a run that is alive, is a duplicate.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{ask_with, assert_has, merged};
use serde_json::{Value, json};
use std::time::Duration;

/// Returns the request of the execution `name` for the message `m`, at a lock with free permits.
fn message(name: &str) -> Value {
    ask_with(name, json!({ "permits": 3, "runKey": "m" }))
}

#[tokio::test]
async fn a_duplicate_takes_the_permit_of_a_process_once_its_lease_is_dead() {
    let functions = Functions::new();
    let worker = |name: &str| {
        let terms = json!({ "holder": name, "leaseSeconds": 20 });
        merged(message(name), &terms)
    };
    functions.granted_with(worker("worker-1")).await;

    functions.wait(21);
    let early = functions.status(worker("worker-2")).await;
    functions.wait(1);
    let late = functions.acquire(worker("worker-2")).await.unwrap();

    assert_eq!(early, "duplicate");
    assert_has(
        &late,
        json!({ "status": "granted", "takenFrom": "worker-1" }),
    );
}

/// The failed guard on the run key returns the run that succeeded.
#[tokio::test]
async fn a_duplicate_of_a_success_costs_no_read_and_changes_nothing() {
    for waited in [0, 120] {
        let functions = Functions::new();
        let grant = functions.granted_with(message("a")).await;
        functions.succeed(&grant).await;
        functions.wait(waited);
        let table = Faulty::slow(&functions, Duration::from_secs(1));
        let before = (functions.now(), functions.record("nightly").await);

        let answer = functions.acquire_on(table, message("b")).await.unwrap();

        assert_eq!(answer["status"], "duplicate");
        let after = (functions.now(), functions.record("nightly").await);
        assert_eq!(after, before);
    }
}

#[tokio::test]
async fn a_duplicate_counts_as_duplicate_and_not_as_skipped() {
    let functions = Functions::new();
    functions.granted_with(message("a")).await;

    let status = functions.status(message("b")).await;

    assert_eq!(status, "duplicate");
    assert!(functions.has_counted("Duplicate"));
    assert!(!functions.has_counted("Skipped"));
}
