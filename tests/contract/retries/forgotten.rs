//! A retry whose call frees another dead holder, whose permit goes to a waiter.

use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

#[tokio::test]
async fn a_retry_is_not_skipped_in_doubt_although_it_frees_another_holder() {
    for other_dies in [false, true] {
        let functions = Functions::running(&["x", "a", "w", "b"]);
        let of_two = |request: Value| merged(request, &json!({ "permits": 2 }));
        let parent = json!({ "parent": execution("caller") });
        functions
            .granted_with(of_two(ask_with("x", json!({}))))
            .await;
        let earlier = of_two(ask_with("a", parent.clone()));
        let grant = functions.granted_with(earlier).await;
        let waits = functions.status(of_two(waiting("w", "token-w"))).await;
        assert_eq!(waits, "queued");
        functions.wait(30);
        if other_dies {
            functions.end("x", ExecutionEnd::Failed);
        }
        // The heartbeat of `a` may have been under way at its end, or belong to a redrive.
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        functions.beat(&grant, "beat-a").await;
        let retry = merged(parent, &json!({ "waitForEnding": true }));

        let status = functions.status(of_two(ask_with("b", retry))).await;

        assert_eq!(status, "Lockstep.Unavailable", "another dies: {other_dies}");
    }
}
