//! An item of a Map at a full queue, behind ten siblings at work and one that is ending.

use crate::ending::run_of;
use crate::functions::Functions;
use crate::scene::{execution, merged, task, waiting_alone};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// A call looks at ten siblings. The one that is ending is silent for the longest, so it is among them, and one at work is
/// not. Nothing is unanswered, so nothing is in doubt.
#[tokio::test]
async fn an_item_of_a_map_is_skipped_at_a_full_queue_beside_an_ending_sibling() {
    let functions = Functions::running(&["w", "b"]);
    let of_eleven = |request: Value| merged(request, &json!({ "permits": 11 }));
    let parent = json!({ "parent": execution("caller") });
    for number in 0..11 {
        let name = format!("x{number}");
        functions.start(&[&name]);
        let sibling = of_eleven(run_of(&name, parent.clone()));
        functions.granted_with(sibling).await;
        functions.wait(1);
    }
    functions.put_task("x0", task("t", 1, false));
    functions.end("x0", ExecutionEnd::Aborted);
    functions.wait(1);
    functions.reap_end("x0", "ABORTED").await;
    let waits = of_eleven(waiting_alone("w", "token-w"));
    assert_eq!(functions.status(waits).await, "queued");
    let more = json!({ "waitForEnding": true, "whenQueueFull": "skip" });
    let item = merged(waiting_alone("b", "token-b"), &merged(parent, &more));

    let status = functions.status(of_eleven(item)).await;

    assert_eq!(status, "skipped");
}
