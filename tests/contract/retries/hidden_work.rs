//! A retry whose predecessor is seen to have ended, while ECS throttles the list of its tasks.

use crate::ending::{exited, run_of};
use crate::functions::Functions;
use crate::scene::{execution, merged};
use lockstep::domain::ExecutionEnd;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::json;

/// Nothing shows that the predecessor works, and its permit is free as soon as ECS answers.
#[tokio::test]
async fn a_retry_is_in_doubt_while_the_tasks_of_its_predecessor_are_hidden() {
    for same in [
        json!({ "parent": execution("caller") }),
        json!({ "runKey": "tick" }),
    ] {
        let functions = Functions::running(&["a", "b"]);
        functions.granted_with(run_of("a", same.clone())).await;
        functions.put_task("a", exited(1));
        functions.end("a", ExecutionEnd::Aborted);
        functions.wait(1);
        let throttled = TasksError::Unavailable("throttled".into());
        functions.tasks.fail_every(TasksCall::OfGroup, throttled);
        let retry = merged(run_of("b", same.clone()), &json!({ "waitForEnding": true }));

        let status = functions.status(retry).await;

        assert_eq!(status, "Lockstep.Unavailable", "{same}");
    }
}
