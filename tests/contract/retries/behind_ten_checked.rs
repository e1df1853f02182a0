//! A retry whose own attempt is in the way only after ten checks of its siblings, when no time is left to check it.

use super::comes_to_a_run;
use super::many_siblings::acquire_slowly;
use crate::ending::{exited, yielded};
use crate::functions::{Functions, task_token};
use crate::scene::{ask_with, execution, merged, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// How long each DescribeExecution takes, in milliseconds: twenty of them end in time, and no other.
const TAKES: u64 = 240;

fn of_ten(name: &str, more: &Value) -> Value {
    let terms = json!({ "permits": 10, "parent": execution("caller") });
    ask_with(name, merged(terms, more))
}

/// Lets ten siblings of the caller hold all permits.
async fn fill(functions: &Functions) {
    for number in 0..10 {
        let name = format!("x{number}");
        functions.start(&[&name]);
        functions.granted_with(of_ten(&name, &json!({}))).await;
        functions.wait(1);
    }
}

/// Ends the last sibling. The second look at it shows that.
fn end_last(functions: &Functions) {
    functions.end_late("x9", ExecutionEnd::Failed, 1);
}

/// `a` went on without its permit, and has failed.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_an_attempt_that_was_not_checked() {
    let functions = yielded(&["a", "b"]).await;
    functions.put_task("a", exited(1));
    functions.end("a", ExecutionEnd::Failed);
    fill(&functions).await;
    end_last(&functions);
    let retry = of_ten("b", &json!({ "runKey": "tick", "waitForEnding": true }));

    let answer = acquire_slowly(&functions, [TAKES, TAKES], retry).await;

    assert!(comes_to_a_run(&answer), "{answer:?}");
}

/// `a` has died in the queue, and gets its turn by the call. It is the tenth holder then.
#[tokio::test]
async fn a_retry_is_not_skipped_by_an_attempt_that_was_not_checked() {
    let functions = Functions::running(&["a", "b"]);
    fill(&functions).await;
    let more = json!({ "permits": 10, "parent": execution("caller") });
    let waits = merged(waiting("a", "token-a"), &more);
    assert_eq!(functions.status(waits).await, "queued");
    functions.wait(1);
    functions.end("a", ExecutionEnd::Aborted);
    functions.executions.close(&task_token("token-a"));
    end_last(&functions);
    functions.wait(1);
    let retry = of_ten("b", &json!({ "waitForEnding": true }));

    let answer = acquire_slowly(&functions, [TAKES, TAKES], retry).await;

    let holders = functions.holders("nightly").await;
    assert!(holders.contains(&execution("a")), "{holders:?}");
    assert!(comes_to_a_run(&answer), "{answer:?}");
}
