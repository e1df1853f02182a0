//! Overlap `replace` when the first stop of the holder fails.

use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::{execution, status_of};
use lockstep::executions::memory::ExecutionsCall;
use lockstep::tasks::TasksError;
use lockstep::tasks::memory::TasksCall;
use serde_json::json;

#[tokio::test]
async fn a_failed_stop_is_repeated_when_the_replacer_asks_again() {
    let (functions, _) = Functions::held(&["a", "b"]).await;
    functions.lose_next(ExecutionsCall::Stop);

    let first = functions.status(replacing("b", "token-1")).await;
    let between = functions.holders("nightly").await;
    functions.acquire(replacing("b", "token-2")).await.unwrap();

    assert_eq!(first, "queued");
    assert_eq!(between, [execution("a")]);
    assert_eq!(functions.holders("nightly").await, [execution("b")]);
    assert_eq!(functions.output("token-2").unwrap()["status"], "granted");
}

#[tokio::test]
async fn the_sweep_repeats_the_failed_stop_of_a_replaced_run() {
    let (functions, grant) = Functions::held(&["a", "b"]).await;
    functions.lose_next(ExecutionsCall::Stop);
    functions.acquire(replacing("b", "token-b")).await.unwrap();
    functions.wait(50);
    let beat = functions.heartbeat(json!({ "grant": grant })).await;
    functions.wait(12);

    functions.sweep().await;

    assert_eq!(status_of(&beat), "Lockstep.LeaseLost");
    assert_eq!(functions.executions.stops()[0].error, "Lockstep.Replaced");
    assert_eq!(functions.output("token-b").unwrap()["status"], "granted");
}

#[tokio::test]
async fn the_sweep_repeats_the_failed_stop_of_a_task() {
    let (functions, _) = Functions::at_work(&["a", "b"]).await;
    let denied = TasksError::Denied("AccessDeniedException".into());
    functions.tasks.fail_every(TasksCall::Stop, denied);
    functions.acquire(replacing("b", "token-b")).await.unwrap();
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
    functions.tasks.heal();
    functions.wait(62);

    functions.sweep().await;

    assert_eq!(functions.tasks.stops().len(), 1);
    assert_eq!(functions.holders("nightly").await, [execution("a")]);
}
