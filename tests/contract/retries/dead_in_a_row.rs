//! A retry whose call hands the permit of the first attempt over to the second and then to the third, which have both died
//! in the queue.

use super::comes_to_a_run;
use crate::ending::{exited, run_of};
use crate::functions::{Functions, task_token};
use crate::scene::{execution, merged, task, waiting};
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// Both died less than 30 s before their turn. The third attempt is in the way only at the third decision of the call.
#[tokio::test]
async fn a_retry_is_not_skipped_by_the_second_dead_attempt_at_its_turn() {
    for same in [
        json!({ "parent": execution("caller") }),
        json!({ "runKey": "tick" }),
    ] {
        let functions = Functions::running(&["a", "c", "d", "b"]);
        functions.granted_with(run_of("a", same.clone())).await;
        functions.put_task("a", task("t", 1, false));
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        for name in ["c", "d"] {
            let token = format!("token-{name}");
            let attempt = merged(waiting(name, &token), &same);
            assert_eq!(functions.status(attempt).await, "queued", "{same}, {name}");
            functions.wait(1);
            functions.end(name, ExecutionEnd::Aborted);
            functions.executions.close(&task_token(&token));
            functions.wait(1);
        }
        functions.put_task("a", exited(1));
        let fourth = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));

        let answer = functions.acquire(fourth).await;

        let holders = functions.holders("nightly").await;
        assert!(!holders.contains(&execution("a")), "{same}: {holders:?}");
        assert!(!holders.contains(&execution("c")), "{same}: {holders:?}");
        assert!(comes_to_a_run(&answer), "{same}: {answer:?}");
    }
}
