//! A retry that has to wait for an attempt that is ending, beside a sibling at work.

use crate::ending::run_of;
use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged, status_of, task};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// The run waits for its turn after the answer, so the call does not look again at the sibling. Each check of the ending attempt stops its task
/// once more, so a call makes at most two.
#[tokio::test]
async fn a_retry_that_waits_for_an_ending_attempt_stops_its_task_at_most_twice() {
    let functions = Functions::running(&["a", "s", "b"]);
    let of_two = |request: Value| merged(request, &json!({ "permits": 2 }));
    let parent = json!({ "parent": execution("caller") });
    functions
        .granted_with(of_two(run_of("a", parent.clone())))
        .await;
    functions.put_task("a", task("t", 1, false));
    functions
        .granted_with(of_two(ask_with("s", parent.clone())))
        .await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    functions.reap_end("a", "ABORTED").await;
    let before = functions.tasks.stops().len();
    let retry = merged(parent, &json!({ "waitForEnding": true }));

    let answer = functions.acquire(of_two(ask_with("b", retry))).await;

    assert_eq!(status_of(&answer), "skipped");
    assert_eq!(answer.unwrap()["ending"], true);
    let stops = functions.tasks.stops().len() - before;
    assert!(stops <= 2, "{stops}");
}
