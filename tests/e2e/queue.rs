//! Waiting for a turn.

use crate::support::{at_work, in_queue, runs_after};
use crate::{ran_alone, stack};
use lockstep_tests::stack::{Ended, Event, now, overlaps, runs, unique, until};

#[tokio::test]
async fn waiters_run_in_the_order_of_their_arrival() {
    let (stack, lock) = (stack().await, unique("fifo"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let mut arrived = vec![at_work(&stack, &input.clone().seconds(8.0)).await.arn];
    for place in 1..=4 {
        arrived.push(in_queue(&stack, &input, place).await);
    }
    let ended = stack.wait_all(&arrived, 60).await;
    assert!(ended.iter().all(Ended::ran), "{ended:?}");
    let runs = runs(&ran_alone(&stack, &lock, 5).await);
    let ran: Vec<_> = runs
        .iter()
        .map(|r| r.env["LOCKSTEP_HOLDER"].clone())
        .collect();
    assert_eq!(ran, arrived);
    let tokens: Vec<_> = runs.iter().map(|run| run.token()).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    for pair in runs.windows(2) {
        let end = pair[0].end.expect("an end");
        eprintln!(
            "figure: from container to container {} ms",
            pair[1].start - end
        );
    }
}

#[tokio::test]
async fn a_waiter_that_is_stopped_gives_its_place_up() {
    let (stack, lock) = (stack().await, unique("leaver"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(&stack, &input.clone().seconds(6.0)).await;
    let leaver = in_queue(&stack, &input, 1).await;
    let behind = in_queue(&stack, &input, 2).await;
    let killed = now();
    stack.abort(&leaver).await;
    // Long before its turn would have come.
    stack.wait_waiting(&lock, 1, 5).await;
    eprintln!(
        "figure: a stopped waiter is gone {} ms after it",
        now() - killed
    );
    assert_eq!(stack.held(&lock).await, 1);
    let first = stack.wait(&first.arn, 30).await;
    assert!(first.ran(), "{first:?}");
    let what = "a turn without the stopped waiter";
    runs_after(&stack, what, &lock, &behind, first.stopped).await;
    ran_alone(&stack, &lock, 2).await;
    assert!(stack.outcomes(&lock).await.contains(&"evicted".to_owned()));
}

#[tokio::test]
async fn a_waiter_dead_without_an_event_is_passed_over_when_its_turn_comes() {
    let (stack, lock) = (stack().await, unique("ghost"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(&stack, &input.clone().seconds(5.0)).await;
    let ghost = in_queue(&stack, &input, 1).await;
    let behind = in_queue(&stack, &input, 2).await;
    stack.drop_events(&ghost).await;
    stack.abort(&ghost).await;
    stack.wait_fired(&ghost, 1, 10).await;
    assert_eq!(stack.waiting(&lock).await, 2, "its place is still there");
    assert!(stack.wait(&first.arn, 30).await.ran());
    let released = now();
    runs_after(&stack, "a dead waiter's turn", &lock, &behind, released).await;
    stack.deliver_events(&ghost).await;
    ran_alone(&stack, &lock, 2).await;
}

#[tokio::test]
async fn a_waiting_state_that_times_out_keeps_its_place_and_gets_its_turn() {
    let (stack, lock) = (stack().await, unique("interval"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(&stack, &input.clone().seconds(9.0)).await;
    let patient = input.clone().with("waitIntervalSeconds", 5);
    let second = in_queue(&stack, &patient, 1).await;
    let third = in_queue(&stack, &input, 2).await;
    let since = async || stack.waits_since(&lock, &second).await;
    let registered = since().await;
    let again = async || since().await > registered;
    until("second registration", 8, again).await;
    let all = [first.arn, second.clone(), third];
    let ended = stack.wait_all(&all, 60).await;
    assert!(ended.iter().all(Ended::ran), "{ended:?}");
    let records = ran_alone(&stack, &lock, 3).await;
    let ran: Vec<_> = runs(&records)
        .iter()
        .map(|r| r.env["LOCKSTEP_HOLDER"].clone())
        .collect();
    assert_eq!(ran, all);
}

#[tokio::test]
async fn two_permits_are_handed_on_one_by_one() {
    let (stack, lock) = (stack().await, unique("pair"));
    let input = stack.batch_input(&lock).seconds(4.0).with("permits", 2);
    let mut arns = stack.start_all(&vec![input.clone().queued(); 2]).await;
    stack.wait_for(&lock, Event::Start, 2, 30).await;
    let short = input.seconds(1.0);
    for place in 1..=3 {
        arns.push(in_queue(&stack, &short, place).await);
    }
    let ended = stack.wait_all(&arns, 60).await;
    assert!(ended.iter().all(Ended::ran), "{ended:?}");
    let records = stack.records_with_ends(&lock).await;
    assert_eq!(runs(&records).len(), 5);
    assert_eq!(overlaps(&records, 2), 0, "{records:?}");
    assert!(overlaps(&records, 1) > 0, "two at once: {records:?}");
}

#[tokio::test]
async fn a_run_does_not_ask_for_its_lock_before_its_time() {
    let (stack, lock) = (stack().await, unique("later"));
    let input = stack.batch_input(&lock).seconds(0.3);
    // Whole seconds: the state waits until a time that has no parts of them.
    let at = now() / 1000 * 1000 + 5000;
    let time = lockstep::domain::Timestamp::from_millis(at);
    let later = input
        .clone()
        .with("notBefore", lockstep::domain::rfc3339(time));
    let waits = stack.start(&later).await;
    // Until then the lock is anybody's.
    assert!(stack.run(&input, 20).await.ran());
    assert!(stack.wait(&waits, 30).await.ran());
    let runs = runs(&ran_alone(&stack, &lock, 2).await);
    let token = runs[1].token();
    assert!(runs[0].start < at, "the other one ran meanwhile: {runs:?}");
    assert!(token >= at, "granted at {token}, not before {at}");
}
