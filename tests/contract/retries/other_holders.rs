//! A retry beside a sibling at work, and beside holders that are no attempts at its run.

use crate::ending::run_of;
use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{LATE, ask_with, execution, merged, status_of, task};
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::{Value, json};

fn of_two(request: Value) -> Value {
    merged(request, &json!({ "permits": 2 }))
}

/// The sibling is looked at for three seconds. The other holder, which has died, is looked at twice: the sweep checks it
/// too.
#[tokio::test]
async fn a_call_looks_at_other_holders_at_most_twice() {
    for (calls, expected) in [(1, "granted"), (2, "skipped")] {
        let functions = Functions::running(&["x", "s", "b"]);
        let parent = json!({ "parent": execution("caller") });
        functions
            .granted_with(of_two(ask_with("x", json!({}))))
            .await;
        functions.wait(LATE);
        functions
            .granted_with(of_two(ask_with("s", parent.clone())))
            .await;
        functions.end_late("x", ExecutionEnd::Failed, calls);
        let item = merged(parent, &json!({ "waitForEnding": true }));

        let status = functions.status(of_two(ask_with("b", item))).await;

        assert_eq!(status, expected, "{calls} calls");
    }
}

/// The record says already that the holder is ending, so its check changes no answer.
#[tokio::test]
async fn a_skip_behind_an_ending_holder_is_decided_once() {
    let functions = Functions::running(&["a", "b"]);
    functions.granted_with(run_of("a", json!({}))).await;
    functions.put_task("a", task("t", 1, false));
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    functions.reap_end("a", "ABORTED").await;
    let table = Faulty::silent_after(&functions, u32::MAX);

    let answer = functions.acquire_on(&table, ask_with("b", json!({}))).await;

    assert_eq!(status_of(&answer), "skipped");
    assert_eq!(table.asked(), 2, "the write and the read of its refusal");
}

/// The answer `skipped` takes the run to its waiting state, as behind a lock with its own number of permits.
#[tokio::test]
async fn a_retry_with_other_permits_that_may_wait_is_in_no_doubt() {
    let functions = Functions::running(&["a", "b"]);
    let parent = json!({ "parent": execution("caller") });
    functions
        .granted_with(of_two(ask_with("a", parent.clone())))
        .await;
    functions.lose_every(ExecutionsCall::Describe);
    let retry = json!({ "permits": 3, "overlap": "skip", "mayWait": true, "waitForEnding": true });

    let status = functions
        .status(ask_with("b", merged(parent, &retry)))
        .await;

    assert_eq!(status, "skipped");
}
