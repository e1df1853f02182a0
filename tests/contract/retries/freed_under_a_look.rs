//! A retry whose earlier attempt is freed, or marked as ending, by another call, while the retry looks at it.

use super::comes_to_a_run;
use crate::ending::{exited, run_of};
use crate::faulty::{Call, Faulty};
use crate::functions::{Answer, Functions};
use crate::scene::{execution, merged, task};
use lockstep::domain::{ExecutionEnd, Task};
use serde_json::{Value, json};

/// Returns the answer to a retry of an attempt that has the terms `same` and the task `work`. The attempt is shown as
/// running for two seconds, and as ended to the fourth look, after which the call does not pause. A release with `outcome`
/// comes right before the request to the table with this number, as the reaper may on the event of the end.
async fn retry(same: &Value, work: Task, outcome: &str, request: u32) -> Answer {
    let functions = Functions::running(&["a", "b"]);
    let grant = functions.granted_with(run_of("a", same.clone())).await;
    functions.put_task("a", work);
    functions.end_late("a", ExecutionEnd::Aborted, 3);
    let release = json!({ "grant": grant, "outcome": outcome });
    let table = Faulty::with_a_call_before(&functions, request, Call::Release(release));
    let retry = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));
    functions.acquire_on(&table, retry).await
}

/// A look that finds the attempt gone shows nothing at work.
#[tokio::test]
async fn a_retry_of_a_parent_comes_to_a_run_whenever_its_attempt_is_freed() {
    let parent = json!({ "parent": execution("caller") });
    let mut wrong = Vec::new();
    for request in 1..=20 {
        let answer = retry(&parent, exited(1), "failed", request).await;
        if !comes_to_a_run(&answer) {
            wrong.push((request, format!("{answer:?}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[tokio::test]
async fn a_retry_of_a_run_key_comes_to_a_run_whenever_its_attempt_is_freed() {
    let key = json!({ "runKey": "tick" });
    let mut wrong = Vec::new();
    for request in 1..=20 {
        let answer = retry(&key, exited(1), "failed", request).await;
        if !comes_to_a_run(&answer) {
            wrong.push((request, format!("{answer:?}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The refusal is older than the mark, and the lease that the look reads has it.
#[tokio::test]
async fn a_retry_comes_to_a_run_whenever_its_attempt_is_marked_as_ending() {
    for same in [
        json!({ "runKey": "tick" }),
        json!({ "parent": execution("caller") }),
    ] {
        let mut wrong = Vec::new();
        for request in 1..=20 {
            let answer = retry(&same, task("t", 1, false), "stopping", request).await;
            if !comes_to_a_run(&answer) {
                wrong.push((request, format!("{answer:?}")));
            }
        }
        assert!(wrong.is_empty(), "{same}: {wrong:?}");
    }
}
