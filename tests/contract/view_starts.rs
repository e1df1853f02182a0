//! The starts that got no permit, as view reads them from the log of events into the history.

use crate::faulty::{Behind, Faulty};
use crate::functions::{Functions, key};
use crate::scene::{ask_with, assert_says, execution, merged};
use lockstep::contract::EventKind;
use lockstep::domain::{HolderId, WaiterId};
use lockstep::events::{Event, Events};
use serde_json::{Value, json};

/// A time before all runs of these tests.
const BEGIN: &str = "2026-01-01T00:00:00Z";

/// Publishes the event of a start of `lock` that gets no permit, and waits 10 s.
async fn refused(functions: &Functions, kind: EventKind, lock: &str) {
    let event = Event {
        kind,
        lock: key(lock),
        holder: Some(HolderId::new("laptop").unwrap()),
        token: None,
        reason: "held".into(),
        advice: "nothing".into(),
        at: functions.now(),
        state: None,
        failed: None,
    };
    functions.events.publish(vec![event]).await;
    functions.wait(10);
}

/// Returns the functions with three locks. `t/a` and `t/b` each have a run and starts after it. `t/new` has
/// starts and no record.
async fn with_starts() -> Functions {
    use EventKind::{RunDuplicate, RunSkipped, WaitGivenUp};
    let functions = Functions::new();
    functions.wait(60);
    for lock in ["t/a", "t/b"] {
        functions.ran(lock, "run").await;
        functions.wait(10);
        refused(&functions, RunSkipped, lock).await;
        refused(&functions, RunSkipped, lock).await;
        refused(&functions, RunDuplicate, lock).await;
    }
    refused(&functions, RunSkipped, "t/new").await;
    refused(&functions, WaitGivenUp, "t/new").await;
    functions
}

/// Returns the entries of all pages, each as `lock outcome starts`.
async fn entries(functions: &Functions, request: &Value) -> Vec<String> {
    let request = merged(request.clone(), &json!({ "act": "history" }));
    let mut found = Vec::new();
    for page in functions.pages(request).await {
        for entry in page["entries"].as_array().unwrap() {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let starts = entry["starts"].as_u64().map(|starts| starts.to_string());
            let starts = starts.unwrap_or_default();
            found.push(format!("{} {} {starts}", text("lock"), text("outcome")));
        }
    }
    found
}

const OF_A: [&str; 3] = ["t/a duplicate 1", "t/a skipped 2", "t/a succeeded "];
const OF_B: [&str; 3] = ["t/b duplicate 1", "t/b skipped 2", "t/b succeeded "];
const OF_NEW: [&str; 2] = ["t/new gaveUp 1", "t/new skipped 1"];

#[tokio::test]
async fn a_history_lists_the_starts_and_runs_of_each_lock_newest_first() {
    let functions = with_starts().await;
    let all = [&OF_A[..], &OF_B, &OF_NEW].concat();
    let known = [&OF_A[..], &OF_B].concat();
    for (request, expected) in [
        (json!({ "prefix": "t/", "from": BEGIN }), &all[..]),
        // Without `from`, view reads the history of each lock in the index. `t/new` has no record, so it is
        // not there.
        (json!({ "prefix": "t/" }), &known),
        (json!({ "lock": "t/a", "from": BEGIN }), &OF_A),
        (json!({ "lock": "t/b" }), &OF_B),
        (
            json!({ "prefix": "t/", "from": BEGIN, "failed": true }),
            &[],
        ),
    ] {
        assert_eq!(entries(&functions, &request).await, expected, "{request}");
    }
}

#[tokio::test]
async fn the_log_is_read_once_for_a_prefix_and_for_no_filter() {
    for (request, reads) in [
        (json!({ "prefix": "t/", "from": BEGIN }), 1),
        (json!({ "prefix": "t/" }), 2),
        (json!({ "lock": "t/a", "from": BEGIN }), 1),
        (json!({ "lock": "t/a" }), 1),
        (json!({ "prefix": "t/", "from": BEGIN, "failed": true }), 0),
        (json!({ "lock": "t/a", "failed": true }), 0),
    ] {
        let functions = with_starts().await;

        entries(&functions, &request).await;

        assert_eq!(functions.events.reads().len(), reads, "{request}");
    }
}

#[tokio::test]
async fn a_page_of_a_history_says_how_many_runs_could_not_be_read() {
    let functions = with_starts().await;
    let table = Faulty::unreadable_entries(&functions, 2);
    let history = json!({ "act": "history", "lock": "t/a" });
    let whole = functions.operate(history.clone()).await.unwrap();

    let page = functions.operate_on(table, history).await.unwrap();

    assert_eq!(whole.get("problem"), None);
    assert_says(
        page["problem"].as_str().unwrap(),
        "2 runs of lock t/a are left out",
    );
}

#[tokio::test]
async fn an_unreadable_log_is_a_problem_only_of_a_history_with_starts() {
    let functions = with_starts().await;
    functions.events.close_log();
    for (failed, problem) in [(true, None), (false, Some("the log cannot be read"))] {
        let request = json!({ "act": "history", "lock": "t/a", "failed": failed });

        let page = functions.view(request).await.unwrap();

        assert_eq!(page.get("problem").and_then(Value::as_str), problem);
    }
}

/// The waiter was granted after view had read the record, so its side item is gone.
#[tokio::test]
async fn a_waiter_without_an_item_is_shown_only_while_it_waits() {
    let (functions, grant) = Functions::held(&["a", "b"]).await;
    let more = json!({ "overlap": "queue", "taskToken": "token-b" });
    functions.acquire(ask_with("b", more)).await.unwrap();
    let show = json!({ "act": "show", "lock": "nightly" });
    let table = Faulty::behind_a_read(&functions, grant, Behind::Released);

    let shown = functions.operate_on(table, show).await.unwrap();

    assert_eq!(shown["queueLength"], 1, "the record that was read");
    assert_eq!(shown["waiters"], json!([]));
}

#[tokio::test]
async fn a_damaged_waiter_is_shown_with_its_problem_while_it_waits() {
    let (functions, _) = Functions::held(&["a", "b"]).await;
    let more = json!({ "overlap": "queue", "taskToken": "token-b" });
    functions.acquire(ask_with("b", more)).await.unwrap();
    let waiter = WaiterId::of(&HolderId::new(execution("b")).unwrap());
    let table = Faulty::damaged_waiter(&functions, waiter);
    let show = json!({ "act": "show", "lock": "nightly" });

    let shown = functions.operate_on(table, show).await.unwrap();

    let problem = shown["waiters"][0]["problem"].as_str();
    assert_says(problem.expect("a problem"), "permits");
}
