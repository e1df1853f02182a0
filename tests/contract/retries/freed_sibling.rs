//! A retry whose call frees a dead sibling before it comes to its own dead predecessor.

use super::comes_to_a_run;
use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// Both items of a Map have died, and the permit of the first goes to a waiter. The call has not looked at the second,
/// whose retry it is.
#[tokio::test]
async fn a_retry_is_not_skipped_by_a_predecessor_that_its_call_has_not_checked() {
    let functions = Functions::running(&["x", "a", "w", "b"]);
    let of_two = |request: Value| merged(request, &json!({ "permits": 2 }));
    let parent = json!({ "parent": execution("caller") });
    for name in ["x", "a"] {
        let item = of_two(ask_with(name, parent.clone()));
        functions.granted_with(item).await;
        functions.wait(1);
    }
    let waits = functions.status(of_two(waiting("w", "token-w"))).await;
    assert_eq!(waits, "queued");
    functions.wait(1);
    functions.end("x", ExecutionEnd::Failed);
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    let retry = merged(parent, &json!({ "waitForEnding": true }));

    let answer = functions.acquire(of_two(ask_with("b", retry))).await;

    assert_eq!(functions.output("token-w").unwrap()["status"], "granted");
    assert!(comes_to_a_run(&answer), "{answer:?}");
}
