//! An item of a Map whose call frees another holder, beside a sibling at work.

use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// The permit of the other holder goes to a waiter. Then the call looks at the sibling for three seconds, and sees it at
/// work each time, so nothing is in doubt.
#[tokio::test]
async fn an_item_of_a_map_is_skipped_although_its_call_frees_another_holder() {
    for other_dies in [false, true] {
        let functions = Functions::running(&["x", "a", "w", "b"]);
        let of_two = |request: Value| merged(request, &json!({ "permits": 2 }));
        let parent = json!({ "parent": execution("caller") });
        functions
            .granted_with(of_two(ask_with("x", json!({}))))
            .await;
        functions
            .granted_with(of_two(ask_with("a", parent.clone())))
            .await;
        let waits = functions.status(of_two(waiting("w", "token-w"))).await;
        assert_eq!(waits, "queued");
        functions.wait(30);
        if other_dies {
            functions.end("x", ExecutionEnd::Failed);
        }
        let item = merged(parent, &json!({ "waitForEnding": true }));

        let status = functions.status(of_two(ask_with("b", item))).await;

        assert_eq!(status, "skipped", "another dies: {other_dies}");
    }
}
