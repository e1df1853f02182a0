//! A retry with the run key of a dead attempt whose execution could not be described for an hour, so that its lock is
//! frozen.

use super::comes_to_a_run;
use crate::ending::{exited, run_of};
use crate::functions::Functions;
use crate::scene::merged;
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

/// The freeze is no answer of DescribeExecution. The attempt is in doubt as long as there is none, before the freeze, in
/// the call that freezes the lock, and after it.
#[tokio::test]
async fn a_retry_is_no_duplicate_of_an_attempt_for_which_its_lock_froze() {
    for (waited, asks) in [(3600, 1), (3670, 1), (3670, 2)] {
        let functions = Functions::running(&["a", "b"]);
        let key = json!({ "runKey": "tick" });
        functions.granted_with(run_of("a", key.clone())).await;
        functions.put_task("a", exited(1));
        functions.end("a", ExecutionEnd::Failed);
        functions.lose_every(ExecutionsCall::Describe);
        functions.wait(waited);
        let retry = merged(run_of("b", key), &json!({ "waitForEnding": true }));

        for ask in 1..=asks {
            let answer = functions.acquire(retry.clone()).await;

            assert!(comes_to_a_run(&answer), "{waited}, {ask}: {answer:?}");
        }
    }
}
