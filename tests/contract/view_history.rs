//! The answers of view about the past: the history of a lock and of the locks with a prefix.

use crate::bad_input::{NULL, assert_refuses, cases};
use crate::functions::Functions;
use crate::scene::{ask_with, assert_has, assert_says, audit_note, merged};
use lockstep::domain::{Command, ExecutionEnd};
use serde_json::{Value, json};

#[tokio::test]
async fn each_run_and_act_is_on_exactly_one_page_of_the_history() {
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
async fn show_has_the_latest_5_runs_and_the_first_100_waiters() {
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
        // The second page is empty: it reads the run before `from` and ends there.
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

/// Returns the holder that a process in a task is.
fn process(task: &str) -> String {
    format!("arn:aws:ecs:eu-west-1:123456789012:task/batch/{task}#4711/k3j4")
}

/// Returns the functions with the locks `s/a` and `t/b`. Each has a run that succeeded, a run of a task that
/// failed, and an act.
async fn mixed() -> Functions {
    let functions = Functions::new();
    for (lock, task) in [("s/a", "0a1b"), ("t/b", "2c3d")] {
        functions.ran(lock, "good").await;
        functions.wait(60);
        let grant = functions.granted(lock, &process(task)).await;
        functions.finish(&grant, "failed").await;
        functions.wait(60);
        let pause = Command::Pause(audit_note("upgrade"), None);
        functions.command(lock, pause).await;
    }
    functions
}

#[tokio::test]
async fn a_history_filter_keeps_exactly_the_matching_runs() {
    let functions = mixed().await;
    let arn = "arn:aws:ecs:eu-west-1:123456789012:task/batch/2c3d";
    for (filter, expected) in [
        (json!({ "all": true, "failed": true }), vec!["0a1b", "2c3d"]),
        (json!({ "prefix": "t/", "failed": true }), vec!["2c3d"]),
        (json!({ "lock": "s/a", "failed": true }), vec!["0a1b"]),
        (json!({ "all": true, "task": "2c3d" }), vec!["2c3d"]),
        (json!({ "all": true, "task": arn }), vec!["2c3d"]),
        (json!({ "all": true, "task": "c3d" }), vec![]),
        (
            json!({ "all": true, "failed": true, "task": "0a1b" }),
            vec!["0a1b"],
        ),
    ] {
        let expected: Vec<_> = expected.into_iter().map(process).collect();
        for limit in [1, 2, 100] {
            let request = merged(filter.clone(), &json!({ "act": "history", "limit": limit }));
            let found = entries(&functions, request).await;
            assert_eq!(found, expected, "{filter} {limit}");
        }
    }
    let all = json!({ "act": "history", "all": true });
    assert_eq!(entries(&functions, all).await.len(), 6);
}

#[tokio::test]
async fn a_history_has_one_scope_and_a_task_of_visible_characters() {
    let functions = Functions::new();
    let base = json!({ "act": "history", "all": true });
    let cases = cases! {
        "all", NULL => "lock", "missing", "unless `prefix` or `all` is";
        "all", "yes" => "all", "string \"yes\"";
        "lock", "a" => "all", "true", "left out where `lock`";
        "prefix", "a" => "prefix", "\"a\"", "left out where";
        "failed", "yes" => "failed", "string \"yes\"";
        "task", "" => "task", "\"\"", "1 to 512";
        "task", "0a 1b" => "task", "0a 1b", "without spaces";
    };

    assert_refuses(&functions, Functions::view, &base, cases).await;
}

#[tokio::test]
async fn show_has_the_usual_length_of_a_run_and_marks_a_longer_holder() {
    let functions = Functions::new();
    // The failed run does not count for the usual length.
    for (seconds, outcome) in [
        (30, "succeeded"),
        (10, "succeeded"),
        (600, "failed"),
        (20, "succeeded"),
    ] {
        let grant = functions.granted("nightly", "batch").await;
        functions.wait(seconds);
        functions.finish(&grant, outcome).await;
        functions.wait(60);
    }
    functions.granted("nightly", "batch").await;
    functions.wait(30);

    let in_time = functions.shown().await;
    functions.wait(1);
    let longer = functions.shown().await;

    let expected = json!({ "successes": 3, "medianSeconds": 20.0, "longestSeconds": 30.0 });
    assert_eq!(in_time["usual"], expected);
    assert_eq!(in_time["holders"][0].get("longerThanUsual"), None);
    assert_eq!(longer["holders"][0]["longerThanUsual"], true);
}

#[tokio::test]
async fn the_usual_length_of_a_run_is_that_of_the_latest_twenty_runs() {
    let functions = Functions::new();
    for number in 0..22_u64 {
        let grant = functions.granted("nightly", "batch").await;
        functions.wait(100 - number);
        functions.succeed(&grant).await;
    }

    let shown = functions.shown().await;

    assert_eq!(shown["usual"]["successes"], 20);
    assert_eq!(shown["usual"]["longestSeconds"], 98.0);
}

/// Returns the entries of all pages of a history: the holder of each run, and the note of each act.
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
