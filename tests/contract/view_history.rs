//! What view answers about the past: the history of a lock, and of the locks of a prefix.

use crate::functions::Functions;
use crate::scene::{ask_with, assert_has, assert_says, merged};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

#[tokio::test]
async fn the_history_of_a_lock_has_runs_and_acts_each_on_one_page() {
    let functions = Functions::new();
    let mut expected = Vec::new();
    for number in 0..4 {
        let grant = functions.granted("nightly", &format!("run-{number}")).await;
        functions.wait(3);
        functions.succeed(&grant).await;
        expected.push(json!(format!("run-{number}")));
        functions.wait(3);
        functions.pause(&format!("act {number}")).await;
        expected.push(json!(format!("act {number} (by ops@example.com)")));
        functions.wait(3);
        functions.resume("on").await;
        expected.push(json!("on (by ops@example.com)"));
        functions.wait(3);
    }
    expected.reverse();

    for limit in [1, 2, 3, 4, 100] {
        let request = json!({ "act": "history", "lock": "nightly", "limit": limit });
        assert_eq!(entries(&functions, request).await, expected, "{limit}");
    }
}

#[tokio::test]
async fn a_lock_is_shown_with_its_five_latest_runs_and_its_first_hundred_waiters() {
    let functions = Functions::new();
    for number in 0..6 {
        functions.ran("nightly", &format!("run-{number}")).await;
        functions.wait(3);
    }
    functions.granted("nightly", "holder").await;
    for number in 0..101 {
        let name = format!("waiter-{number}");
        let more = json!({ "overlap": "queue", "taskToken": name, "maxQueue": 101 });
        functions.acquire(ask_with(&name, more)).await.unwrap();
    }

    let shown = functions.shown().await;

    let count = |field: &str| shown[field].as_array().map(Vec::len);
    assert_eq!((count("last"), count("waiters")), (Some(5), Some(100)));
    assert_eq!(shown["queueLength"], 101);
}

#[tokio::test]
async fn a_history_ends_with_the_page_that_has_its_last_entry() {
    let functions = Functions::new();
    let mut from = String::new();
    for lock in ["t/a", "t/b"] {
        for round in 0..3 {
            from = functions.time_in(0);
            functions.ran(lock, &format!("{lock}-{round}")).await;
            functions.wait(60);
        }
    }
    for (request, pages) in [
        (json!({ "prefix": "t/" }), 1),
        (json!({ "lock": "t/b" }), 1),
        (json!({ "lock": "t/b", "limit": 2 }), 2),
        // The run that is older than `from` is read, and is the last one.
        (json!({ "lock": "t/b", "limit": 1, "from": from }), 2),
    ] {
        let request = merged(request, &json!({ "act": "history" }));
        let read = functions.pages(request.clone()).await;
        assert_eq!(read.len(), pages, "{request}");
    }
}

#[tokio::test]
async fn the_history_of_a_prefix_goes_lock_by_lock_and_keeps_to_its_times() {
    let functions = Functions::new();
    let mut middle = String::new();
    for round in 0..3 {
        if round == 1 {
            middle = functions.time_in(0);
        }
        for lock in ["t/b", "t/a", "u/c"] {
            functions.ran(lock, &format!("{lock}-{round}")).await;
        }
        functions.wait(60);
    }
    let all = ["t/a-2", "t/a-1", "t/a-0", "t/b-2", "t/b-1", "t/b-0"];
    for limit in [1, 2, 3, 100] {
        let request = json!({ "act": "history", "prefix": "t/", "limit": limit });
        let found = entries(&functions, request.clone()).await;
        assert_eq!(found, all, "{limit}");
        for (field, expected) in [
            ("from", ["t/a-2", "t/a-1", "t/b-2", "t/b-1"]),
            ("to", ["t/a-1", "t/a-0", "t/b-1", "t/b-0"]),
        ] {
            let request = merged(request.clone(), &json!({ field: middle }));
            let found = entries(&functions, request).await;
            assert_eq!(found, expected, "{field} {limit}");
        }
    }
}

#[tokio::test]
async fn the_history_says_on_what_evidence_a_run_was_recovered() {
    let (functions, _) = Functions::held(&["dead"]).await;
    functions.end("dead", ExecutionEnd::Failed);
    functions.wait(90);
    functions.sweep().await;

    let history = functions.history_page().await;

    let entry = &history["entries"][0];
    assert_has(entry, json!({ "kind": "run", "outcome": "recovered" }));
    assert_says(entry["evidence"].as_str().unwrap(), "FAILED");
}

/// The entries in all pages of a history: the holder of a run, the note of an act.
async fn entries(functions: &Functions, request: Value) -> Vec<Value> {
    let limit = request["limit"].as_u64().unwrap_or(50);
    let mut found = Vec::new();
    for page in functions.pages(request).await {
        let entries = page["entries"].as_array().unwrap();
        let runs = entries.iter().filter(|entry| entry["kind"] == "run");
        assert!(runs.count() as u64 <= limit, "{page}");
        found.extend(entries.iter().map(|entry| match entry["kind"].as_str() {
            Some("run") => entry["holder"].clone(),
            _ => entry["note"].clone(),
        }));
    }
    found
}
