//! Bad input fails before anything is written or started.

use crate::stack;
use lockstep_tests::stack::{BatchInput, Stack, unique};

#[tokio::test]
async fn bad_input_names_the_field_and_does_nothing() {
    let stack = stack().await;
    let cases = cases(&stack);
    let inputs: Vec<_> = cases.iter().map(|(_, _, input)| input.clone()).collect();
    let arns = stack.start_all(&inputs).await;
    for (arn, (lock, field, _)) in arns.iter().zip(&cases) {
        let ended = stack.wait(arn, 30).await;
        assert_eq!(ended.status, "FAILED", "{field}: {ended:?}");
        assert_eq!(ended.error, "Lockstep.InvalidRequest", "{field}: {ended:?}");
        assert!(ended.cause.contains(field), "{field}: {}", ended.cause);
        let items = stack.items(lock).await;
        assert!(items.is_empty(), "{field} wrote {items:?}");
        let tasks = stack.tasks(lock).await;
        assert!(tasks.is_empty(), "{field} started {tasks:?}");
    }
    // Checks that a task that was started is found. Otherwise the check above could not fail.
    let lock = unique("good");
    let good = stack.run(&stack.batch_input(&lock).seconds(0.2), 30).await;
    assert!(good.ran(), "{good:?}");
    assert_eq!(stack.tasks(&lock).await.len(), 1);
}

/// Returns the lock, the field that the error has to name, and the input of each case.
fn cases(stack: &Stack) -> Vec<(String, &'static str, BatchInput)> {
    let case = |field, change: &dyn Fn(BatchInput) -> BatchInput| {
        let lock = unique("bad");
        let input = change(stack.batch_input(&lock));
        (lock, field, input)
    };
    vec![
        case("lock", &|input| input.without("lock")),
        case("lock", &|input| input.with("lock", "")),
        case("field work must have exactly one of", &|input| {
            input.without("work")
        }),
        case("work.container", &|input| {
            let work = input.json()["work"]["runTask"].clone();
            input.with(
                "work",
                serde_json::json!({ "runTask": work, "container": 7 }),
            )
        }),
        case("work.runTask.Group", &|mut input| {
            input.run_task()["Group"] = "nightly".into();
            input
        }),
        case("work.runTask.Overrides", &|input| {
            input.env("REPORT", &"x".repeat(7_500))
        }),
        case("leaseSecond", &|input| input.with("leaseSecond", 30)),
        case("leaseSeconds", &|input| input.with("leaseSeconds", 2)),
        case("leaseSeconds", &|input| input.with("leaseSeconds", "60")),
        case("heartbeatSeconds", &|input| {
            input.with("leaseSeconds", 5).with("heartbeatSeconds", 4)
        }),
        case("maxRunSeconds", &|input| input.with("maxRunSeconds", 0)),
        // A rest may last 31 days at most.
        case("minIntervalSeconds", &|input| {
            input.with("minIntervalSeconds", 2_678_401)
        }),
        case("overlap", &|input| input.with("overlap", "wait")),
        case("maxQueue", &|input| input.with("maxQueue", 2)),
        case("maxQueue", &|input| input.queued().with("maxQueue", 501)),
        case("waitSeconds", &|input| input.with("waitSeconds", 9)),
        case("waitSeconds", &|input| {
            input.queued().with("waitSeconds", 0)
        }),
        case("waitIntervalSeconds", &|input| {
            input.queued().with("waitIntervalSeconds", 4)
        }),
        case("notBefore", &|input| input.with("notBefore", "tomorrow")),
        case("stalePolicy", &|input| input.with("stalePolicy", "kill")),
        case("noProgressSeconds", &|input| {
            input.with("noProgressSeconds", 0)
        }),
        case("permits", &|input| input.with("permits", 0)),
        case("runKey", &|input| input.with("runKey", "")),
        case("runKey", &|input| {
            input.with("runKey", "<aws.scheduler.execution-id>")
        }),
        case("onSkip", &|input| input.with("onSkip", "maybe")),
    ]
}
