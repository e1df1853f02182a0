//! One run at a time, whatever starts it.

use crate::stack;
use lockstep_tests::stack::{Event, overlaps, pause, runs, unique};

#[tokio::test]
async fn ten_executions_at_once_give_one_container_and_nine_skips_that_name_the_holder() {
    let stack = stack().await;
    let lock = unique("ten");
    let inputs = vec![stack.batch_input(&lock).seconds(3.0); 10];

    let arns = stack.start_all(&inputs).await;
    let ended = stack.wait_all(&arns, 60).await;

    let winner = ended.iter().find(|e| e.ran()).expect("one execution runs");
    let skipped: Vec<_> = ended.iter().filter(|e| e.answer() == "skipped").collect();
    assert_eq!(skipped.len(), 9);
    for skip in skipped {
        assert_eq!(skip.status, "SUCCEEDED");
        assert_eq!(skip.output["holder"], winner.arn.as_str());
        assert!(
            skip.output["message"]
                .as_str()
                .unwrap()
                .contains("stop-execution")
        );
    }
    let records = stack.records(&lock).await;
    assert_eq!(runs(&records).len(), 1, "{records:?}");
    assert_eq!(stack.held(&lock).await, 0);
}

#[tokio::test]
async fn ten_deliveries_of_one_tick_give_one_container() {
    let stack = stack().await;
    let lock = unique("tick");
    let inputs = vec![
        stack
            .batch_input(&lock)
            .seconds(2.0)
            .with("runKey", "tick#06:00");
        10
    ];

    let arns = stack.start_all(&inputs).await;
    let ended = stack.wait_all(&arns, 60).await;

    assert_eq!(ended.iter().filter(|e| e.ran()).count(), 1);
    assert!(
        ended.iter().all(|e| e.ran() || e.answer() == "skipped"),
        "{ended:?}"
    );
    assert_eq!(runs(&stack.records(&lock).await).len(), 1);
}

#[tokio::test]
async fn a_tick_delivered_again_after_its_success_is_a_duplicate_and_runs_nothing() {
    let stack = stack().await;
    let lock = unique("again");
    let input = stack
        .batch_input(&lock)
        .seconds(0.5)
        .with("runKey", "tick#06:00");

    let first = stack.run(&input, 30).await;
    let second = stack.run(&input, 30).await;

    assert!(first.ran(), "{first:?}");
    assert_eq!(second.answer(), "duplicate");
    assert_eq!(second.output["holder"], first.arn.as_str());
    assert_eq!(runs(&stack.records(&lock).await).len(), 1);
}

#[tokio::test]
async fn a_tick_whose_run_failed_may_run_again() {
    let stack = stack().await;
    let lock = unique("retry");
    let input = stack
        .batch_input(&lock)
        .seconds(0.5)
        .with("runKey", "tick#06:00");

    let first = stack.run(&input.clone().exit(1), 30).await;
    let second = stack.run(&input, 30).await;

    assert_eq!(first.status, "FAILED");
    assert!(second.ran(), "{second:?}");
    assert_eq!(runs(&stack.records(&lock).await).len(), 2);
}

#[tokio::test]
async fn a_batch_three_leases_long_keeps_its_lock() {
    let stack = stack().await;
    let lock = unique("long");
    let input = stack.batch_input(&lock).seconds(9.0).short_lease();

    let long = stack.start(&input).await;
    stack.wait_for(&lock, Event::Start, 1, 30).await;
    pause(6000).await;
    let other = stack.run(&input, 30).await;
    let long = stack.wait(&long, 60).await;

    assert!(long.ran(), "{long:?}");
    assert_eq!(other.answer(), "skipped");
    assert_eq!(other.output["holder"], long.arn.as_str());
    let records = stack.records(&lock).await;
    assert_eq!((runs(&records).len(), overlaps(&records, 1)), (1, 0));
}

#[tokio::test]
async fn the_fencing_token_reaches_the_container_and_grows_from_run_to_run() {
    let stack = stack().await;
    let lock = unique("token");
    let input = stack.batch_input(&lock).seconds(0.2);

    for _ in 0..3 {
        assert!(stack.run(&input, 30).await.ran());
    }

    let tokens: Vec<_> = runs(&stack.records(&lock).await)
        .iter()
        .map(|r| r.token())
        .collect();
    assert_eq!(tokens.len(), 3);
    assert!(
        tokens[0] > 0 && tokens.is_sorted_by(|a, b| a < b),
        "{tokens:?}"
    );
    let item = stack.lock_item(&lock).await.unwrap();
    assert_eq!(item["lastToken"].as_n().unwrap(), &tokens[2].to_string());
}

#[tokio::test]
async fn two_permits_let_two_run_and_another_capacity_is_refused_meanwhile() {
    let stack = stack().await;
    let lock = unique("two");
    let input = stack.batch_input(&lock).seconds(4.0).with("permits", 2);

    let arns = stack.start_all(&vec![input.clone(); 3]).await;
    stack.wait_for(&lock, Event::Start, 2, 30).await;
    let other = stack.run(&input.clone().with("permits", 3), 30).await;
    let ended = stack.wait_all(&arns, 60).await;

    assert_eq!(ended.iter().filter(|e| e.ran()).count(), 2);
    assert_eq!(ended.iter().filter(|e| e.answer() == "skipped").count(), 1);
    assert_eq!(other.error, "Lockstep.PermitsMismatch");
    assert_eq!(overlaps(&stack.records(&lock).await, 2), 0);
}

#[tokio::test]
async fn a_short_batch_does_not_wait_for_the_next_heartbeat() {
    let stack = stack().await;
    let lock = unique("short");
    let input = stack
        .batch_input(&lock)
        .seconds(0.3)
        .with("leaseSeconds", 60);

    let ended = stack.run(&input, 40).await;

    assert!(ended.ran());
    let beat = 20_000;
    assert!(
        ended.millis() < beat / 2,
        "{} ms: the beat was waited out",
        ended.millis()
    );
}
