//! A retry whose attempt has died in the queue, and has the place in it that the retry needs.

use crate::functions::{Functions, task_token};
use crate::scene::{ask, ask_with, execution, merged};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// Returns the request of the waiting state of an attempt with these policies.
fn attempt(name: &str, policies: &Value) -> Value {
    let terms = json!({
        "taskToken": format!("token-{name}"), "parent": execution("caller"), "waitForEnding": true
    });
    ask_with(name, merged(terms, policies))
}

/// DescribeExecution shows the end of the attempt to the second call only. A place in the queue has no lease, and nothing
/// puts it in doubt.
#[tokio::test]
async fn a_retry_is_skipped_by_its_attempt_that_died_in_a_full_queue_unseen() {
    let catches_up = json!({ "catchUp": "once" });
    let queues = json!({ "overlap": "queue", "maxQueue": 1, "whenQueueFull": "skip" });
    for (policies, is_paused) in [(catches_up, true), (queues, false)] {
        let functions = Functions::running(&["x", "a", "b"]);
        functions.granted_with(ask("x")).await;
        if is_paused {
            functions.pause("upgrade").await;
        }
        let queued = functions.status(attempt("a", &policies)).await;
        assert_eq!(queued, "queued", "{policies}");
        functions.wait(5);
        functions.end_late("a", ExecutionEnd::Aborted, 1);
        functions.executions.close(&task_token("token-a"));

        let first = functions.status(attempt("b", &policies)).await;
        let second = functions.status(attempt("b", &policies)).await;

        assert_eq!(
            [first.as_str(), second.as_str()],
            ["skipped", "queued"],
            "{policies}"
        );
    }
}
