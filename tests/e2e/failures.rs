//! What fails is stopped, told truly, and leaves the lock free.

use crate::stack;
use lockstep_tests::stack::{Event, now, overlaps, pause, runs, unique};
use serde_json::{Value, json};

#[tokio::test]
async fn a_batch_that_exits_1_fails_with_its_own_error_and_leaves_the_lock_free() {
    let stack = stack().await;
    let lock = unique("exit");

    let failed = stack
        .run(&stack.batch_input(&lock).seconds(0.5).exit(1), 30)
        .await;
    let held = stack.held(&lock).await;
    let next = stack.run(&stack.batch_input(&lock).seconds(0.2), 30).await;

    assert_eq!(
        (failed.status.as_str(), failed.error.as_str()),
        ("FAILED", "States.TaskFailed")
    );
    let cause: Value = serde_json::from_str(&failed.cause).expect("the task's own description");
    assert_eq!(cause["Containers"][0]["ExitCode"], 1);
    assert_eq!(held, 0);
    assert!(next.ran());
}

#[tokio::test]
async fn input_reaches_the_container_and_its_output_comes_back_unchanged() {
    let stack = stack().await;
    let lock = unique("through");
    let mut input = stack.batch_input(&lock).seconds(0.2);
    input.run_task()["Overrides"]["ContainerOverrides"][0]["Command"] = json!(["--flag", "a b"]);
    input.run_task()["Tags"] = json!([{ "Key": "team", "Value": "reports" }]);

    let ended = stack.run(&input, 30).await;

    assert!(ended.ran(), "{ended:?}");
    let own = &ended.output["Overrides"]["ContainerOverrides"][0];
    assert_eq!(own["Command"], json!(["--flag", "a b"]));
    let names: Vec<_> = own["Environment"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["Name"].as_str().unwrap())
        .collect();
    let expected = [
        "BATCH_LABEL",
        "BATCH_SECONDS",
        "LOCKSTEP_LOCK",
        "LOCKSTEP_HOLDER",
        "LOCKSTEP_FENCING_TOKEN",
        "LOCKSTEP_TABLE",
    ];
    assert_eq!(names, expected);
    let group = ended.output["Group"].as_str().unwrap();
    assert!(group.starts_with(&format!("lockstep:{lock}:")), "{group}");
    let env = &runs(&stack.records(&lock).await)[0].env;
    assert_eq!(env["LOCKSTEP_HOLDER"], ended.arn);
    assert_eq!(env["LOCKSTEP_TABLE"], stack.output("LockTableName"));
}

#[tokio::test]
async fn an_evicted_holder_gets_sigterm_and_fails_with_lease_lost() {
    let stack = stack().await;
    let lock = unique("evicted");
    let input = stack.batch_input(&lock).seconds(30.0).short_lease();

    let arn = stack.start(&input).await;
    stack.wait_for(&lock, Event::Start, 1, 30).await;
    let evicted_at = now();
    stack.evict(&lock).await;
    let ended = stack.wait(&arn, 30).await;
    let records = stack.wait_for(&lock, Event::Sigterm, 1, 20).await;

    assert_eq!(
        (ended.status.as_str(), ended.error.as_str()),
        ("FAILED", "Lockstep.LeaseLost")
    );
    assert!(ended.cause.contains(&lock), "{}", ended.cause);
    let sigterm = runs(&records)[0].sigterm.unwrap();
    println!("eviction to SIGTERM: {} ms", sigterm - evicted_at);
    let next = stack.run(&stack.batch_input(&lock).seconds(0.2), 30).await;
    assert!(next.ran());
    assert_eq!(overlaps(&stack.records(&lock).await, 1), 0);
}

#[tokio::test]
async fn a_run_over_its_time_is_stopped_and_leaves_the_lock_free() {
    let stack = stack().await;
    let lock = unique("overrun");
    let input = stack
        .batch_input(&lock)
        .seconds(60.0)
        .short_lease()
        .with("maxRunSeconds", 4);

    let ended = stack.run(&input, 40).await;
    let records = stack.wait_for(&lock, Event::Sigterm, 1, 20).await;

    assert_eq!(ended.status, "FAILED");
    let names = ["States.Timeout", "Lockstep.LeaseLost"];
    assert!(names.contains(&ended.error.as_str()), "{}", ended.error);
    assert_eq!(runs(&records).len(), 1);
    assert_eq!(stack.held(&lock).await, 0);
}

#[tokio::test]
async fn an_aborted_run_is_stopped_and_its_lock_is_taken_over_after_its_lease() {
    let stack = stack().await;
    let lock = unique("aborted");
    let arn = stack
        .start(&stack.batch_input(&lock).seconds(60.0).short_lease())
        .await;
    stack.wait_for(&lock, Event::Start, 1, 30).await;
    let aborted_at = now();
    stack.abort(&arn).await;
    stack.wait_for(&lock, Event::Sigterm, 1, 20).await;

    let next = loop {
        let next = stack.run(&stack.batch_input(&lock).seconds(0.2), 30).await;
        if next.ran() {
            break next;
        }
        assert_eq!(next.answer(), "skipped");
        assert!(now() < aborted_at + 20_000, "the lease never ends");
        pause(250).await;
    };

    println!("abort to next run: {} ms", next.started - aborted_at);
    assert_eq!(overlaps(&stack.records(&lock).await, 1), 0);
}

#[tokio::test]
async fn on_skip_fail_and_overlap_fail_both_name_the_holder() {
    let stack = stack().await;
    let lock = unique("fail");
    let holder = stack.start(&stack.batch_input(&lock).seconds(5.0)).await;
    stack.wait_for(&lock, Event::Start, 1, 30).await;

    for (field, value) in [("onSkip", "fail"), ("overlap", "fail")] {
        let ended = stack
            .run(&stack.batch_input(&lock).with(field, value), 30)
            .await;

        assert_eq!(
            (ended.status.as_str(), ended.error.as_str()),
            ("FAILED", "Lockstep.LockHeld")
        );
        assert!(ended.cause.contains(&holder), "{field}: {}", ended.cause);
    }
    assert!(stack.wait(&holder, 40).await.ran());
}
