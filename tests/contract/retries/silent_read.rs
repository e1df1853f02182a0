//! A retry with the run key of a dead attempt, of which a read fails or gets no response.

use crate::ending::{exited, run_of, yielded};
use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{execution, merged, status_of};
use lockstep::domain::ExecutionEnd;
use serde_json::{Value, json};

/// Returns the functions with `a`, which has died unseen, as the holder of a run key, and the request of its retry.
async fn dead_attempt() -> (Functions, Value) {
    let functions = Functions::running(&["a", "b"]);
    let key = json!({ "runKey": "tick" });
    functions.granted_with(run_of("a", key.clone())).await;
    functions.put_task("a", exited(1));
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(1);
    let retry = merged(run_of("b", key), &json!({ "waitForEnding": true }));
    (functions, retry)
}

/// The refusal has the run and not its lease. A read that fails shows nothing of the earlier attempt, so the call looks
/// again.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_an_attempt_that_cannot_be_read() {
    let (functions, retry) = dead_attempt().await;
    let table = Faulty::unread(&functions);

    let answer = functions.acquire_on(&table, retry).await;

    assert_eq!(status_of(&answer), "granted");
}

/// The table answers the decisions and no read. So nothing has looked at the earlier attempt when the checks end.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_an_attempt_whose_read_gets_no_response() {
    let (functions, retry) = dead_attempt().await;
    let table = Faulty::mute(&functions);

    let answer = functions.acquire_on(&table, retry).await;

    assert!(table.is_silent());
    assert_eq!(status_of(&answer), "Lockstep.Unavailable");
}

/// `a` went on without its permit, and has failed. It is in the way only once the call has freed the permit of `x`, which has
/// died too. A single request gets no response until the checks end.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_a_dead_yielded_run_if_a_request_is_lost() {
    let mut wrong = Vec::new();
    for lost in 1..=14 {
        let functions = yielded(&["a", "x", "b"]).await;
        functions.granted_with(run_of("x", json!({}))).await;
        functions.put_task("a", exited(1));
        for name in ["a", "x"] {
            functions.end(name, ExecutionEnd::Failed);
        }
        functions.wait(40);
        let table = Faulty::losing(&functions, lost);
        let retry = run_of("b", json!({ "runKey": "tick", "waitForEnding": true }));

        let answer = functions.acquire_on(&table, retry).await;

        let status = status_of(&answer);
        // If the check of `x` gets no response, `x` holds the permit, and is no attempt of the caller.
        let holder = answer
            .as_ref()
            .map_or("", |answer| answer["holder"].as_str().unwrap_or_default());
        let by_other = status == "skipped" && holder == execution("x");
        if !by_other && !["granted", "Lockstep.Unavailable"].contains(&status) {
            wrong.push((lost, status.to_owned()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
