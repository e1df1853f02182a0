//! The bounds of waiting: places and time.

use crate::support::{at_work, in_queue};
use crate::{ran_alone, stack};
use lockstep_tests::stack::unique;

#[tokio::test]
async fn a_full_queue_fails_the_run_that_comes_next() {
    let (stack, lock) = (stack().await, unique("full"));
    let input = stack.batch_input(&lock).with("maxQueue", 2);
    let first = at_work(&stack, &input.clone().queued().seconds(6.0)).await;
    let input = input.seconds(0.3);
    let waiters = [
        in_queue(&stack, &input, 1).await,
        in_queue(&stack, &input, 2).await,
    ];
    let third = stack.run(&input.queued(), 20).await;
    assert_eq!(third.status, "FAILED", "{third:?}");
    assert_eq!(third.error, "Lockstep.QueueFull", "{third:?}");
    assert!(third.cause.contains("maxQueue is 2"), "{}", third.cause);
    assert!(third.cause.contains(&first.arn), "{}", third.cause);
    for waiter in &waiters {
        assert!(stack.wait(waiter, 40).await.ran());
    }
    ran_alone(&stack, &lock, 3).await;
}

#[tokio::test]
async fn a_waiter_gives_up_after_its_time() {
    let (stack, lock) = (stack().await, unique("giveup"));
    let input = stack.batch_input(&lock);
    let first = at_work(&stack, &input.clone().seconds(60.0)).await;
    let input = input.seconds(0.3).queued().with("waitSeconds", 3);
    let inputs = [input.clone(), input.clone().with("onSkip", "fail")];
    let [meek, strict]: [String; 2] = stack.start_all(&inputs).await.try_into().expect("two");
    stack.wait_waiting(&lock, 2, 20).await;

    let meek = stack.wait(&meek, 20).await;
    assert_eq!(meek.status, "SUCCEEDED", "{meek:?}");
    assert_eq!(meek.answer(), "gaveUp", "{meek:?}");
    assert_eq!(meek.output["holder"], first.arn.as_str(), "{meek:?}");
    let message = meek.output["message"].as_str().unwrap_or_default();
    assert!(message.contains("gave up waiting"), "{message}");
    eprintln!("figure: waitSeconds 3: given up after {} ms", meek.millis());

    let strict = stack.wait(&strict, 20).await;
    assert_eq!(strict.status, "FAILED", "{strict:?}");
    assert_eq!(strict.error, "Lockstep.LockHeld", "{strict:?}");
    assert!(strict.cause.contains("gave up waiting"), "{strict:?}");

    assert_eq!(stack.waiting(&lock).await, 0, "who gave up left");
    let items = stack.items(&lock).await;
    let left = items
        .iter()
        .filter(|item| item["sk"].as_s().is_ok_and(|sk| sk.starts_with("waiter#")));
    assert_eq!(left.count(), 0, "{items:?}");
    stack.abort(&first.arn).await;
    stack.wait_free(&lock, 20).await;
    ran_alone(&stack, &lock, 1).await;
}
