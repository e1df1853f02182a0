//! A retry whose call marks another holder as ending, while its own predecessor is still shown as running.

use super::comes_to_a_run;
use crate::ending::run_of;
use crate::functions::Functions;
use crate::scene::{LATE, ask_with, execution, merged, task, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// Without the other one, the predecessor is looked at three times more, and found dead a second later.
#[tokio::test]
async fn a_retry_looks_again_although_it_marks_another_holder_as_ending() {
    for other_dies in [false, true] {
        let functions = Functions::running(&["x", "a", "w", "b"]);
        let of_two = |request: Value| merged(request, &json!({ "permits": 2 }));
        let parent = json!({ "parent": execution("caller") });
        functions.granted_with(of_two(run_of("x", json!({})))).await;
        functions.put_task("x", task("t", 1, false));
        let earlier = of_two(ask_with("a", parent.clone()));
        functions.granted_with(earlier).await;
        let waits = functions.status(of_two(waiting("w", "token-w"))).await;
        assert_eq!(waits, "queued");
        functions.wait(LATE);
        if other_dies {
            functions.end("x", ExecutionEnd::Aborted);
        }
        functions.end_late("a", ExecutionEnd::Aborted, 1);
        functions.wait(1);
        let retry = merged(parent, &json!({ "waitForEnding": true }));

        let answer = functions.acquire(of_two(ask_with("b", retry))).await;

        // The permit of `a` may have gone to the waiter. Then `a` is settled, and the lock is full.
        let holders = functions.holders("nightly").await;
        let is_settled = !holders.contains(&execution("a"));
        assert!(
            is_settled || comes_to_a_run(&answer),
            "the other dies: {other_dies}: {answer:?}"
        );
    }
}
