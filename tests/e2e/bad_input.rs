//! Bad input to exclusive-run fails at once, names its field, and touches nothing.

use crate::stack;
use lockstep_tests::stack::unique;
use serde_json::json;

#[tokio::test]
async fn bad_input_is_refused_by_name_and_nothing_is_written_or_run() {
    let stack = stack().await;
    let lock = unique("bad");
    let base = || stack.batch_input(&lock);
    let cases = [
        (base().without("work"), "work.runTask"),
        (
            base().with("work", json!({ "runTask": {} })),
            "work.container",
        ),
        (base().with("onSkip", "maybe"), "onSkip"),
        (base().with("permits", 0), "permits"),
        (base().with("leaseSeconds", -1), "leaseSeconds"),
        (
            base().with("leaseSeconds", 10).with("heartbeatSeconds", 10),
            "heartbeatSeconds",
        ),
        (base().with("overlap", "queue"), "overlap"),
        (base().with("lockName", "x"), "lockName"),
        (base().with("runKey", "a b"), "runKey"),
        (base().without("lock"), "lock"),
    ];
    let inputs: Vec<_> = cases.iter().map(|(input, _)| input.clone()).collect();

    let arns = stack.start_all(&inputs).await;
    let ended = stack.wait_all(&arns, 60).await;

    for (ended, (_, field)) in ended.iter().zip(&cases) {
        assert_eq!(ended.error, "Lockstep.InvalidRequest", "{field}: {ended:?}");
        assert!(ended.cause.contains(field), "{field}: {}", ended.cause);
    }
    assert!(stack.items(&lock).await.is_empty());
    assert!(stack.tasks(&lock).await.is_empty());
}
