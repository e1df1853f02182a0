//! A retry whose dead predecessor cannot be described: Step Functions throttles each call of these seconds.
//!
//! A table that fails in these seconds leaves the end of the earlier attempt in doubt, and so does Step Functions.

use crate::ending::{exited, run_of, yielded};
use crate::functions::Functions;
use crate::scene::{execution, merged};
use lockstep::domain::ExecutionEnd;
use lockstep::executions::memory::ExecutionsCall;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::json;

/// DescribeExecution gets no answer, or shows the end while ListTasks gets none.
#[tokio::test]
async fn a_retry_is_in_doubt_while_the_end_of_its_predecessor_is_hidden() {
    for same in [
        json!({ "parent": execution("caller") }),
        json!({ "runKey": "tick" }),
    ] {
        for hides_tasks in [false, true] {
            let functions = Functions::running(&["a", "b"]);
            functions.granted_with(run_of("a", same.clone())).await;
            functions.put_task("a", exited(1));
            functions.end("a", ExecutionEnd::Aborted);
            functions.wait(1);
            match hides_tasks {
                true => {
                    let throttled = TasksError::Unavailable("throttled".into());
                    functions.tasks.fail_every(TasksCall::OfGroup, throttled);
                }
                false => functions.lose_every(ExecutionsCall::Describe),
            }
            let retry = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));

            let status = functions.status(retry).await;

            assert_eq!(status, "Lockstep.Unavailable", "{same}, {hides_tasks}");
        }
    }
}

#[tokio::test]
async fn a_retry_is_in_doubt_while_a_yielded_run_cannot_be_described() {
    let functions = yielded(&["a", "b"]).await;
    functions.put_task("a", exited(1));
    functions.end("a", ExecutionEnd::Aborted);
    functions.lose_every(ExecutionsCall::Describe);
    let retry = run_of("b", json!({ "runKey": "tick", "waitForEnding": true }));

    let status = functions.status(retry).await;

    assert_eq!(status, "Lockstep.Unavailable");
}
