//! The queue: its order, its bounds of length and time, and waiters that leave at the moment of
//! their turn.

use crate::support::{at_work, in_queue, runs_after};
use crate::{ran_alone, ran_alone_but_stopped, stack};
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Ended, Event, Stack, now, pause, runs, unique, until};

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
    // Long enough for three more runs to enter the queue, also on a busy machine.
    let input = stack.batch_input(&lock).seconds(15.0).with("permits", 2);
    let mut arns = stack.start_all(&vec![input.clone().queued(); 2]).await;
    stack.wait_for(&lock, Event::Start, 2, 30).await;
    let short = input.seconds(1.0);
    for place in 1..=3 {
        arns.push(in_queue(&stack, &short, place).await);
    }
    let ended = stack.wait_all(&arns, 60).await;
    assert!(ended.iter().all(Ended::ran), "{ended:?}");
    let containers = stack.judge(&lock, &Expected::permits(2)).await;
    assert_eq!(containers.len(), 5, "{containers:?}");
    let alone = Expected::permits(1).violations(&containers);
    assert!(!alone.is_empty(), "two at once: {containers:?}");
}

#[tokio::test]
async fn a_run_does_not_ask_for_its_lock_before_its_time() {
    let (stack, lock) = (stack().await, unique("later"));
    let input = stack.batch_input(&lock).seconds(0.3);
    // A time without a fraction of a second: the Wait state waits until a whole second.
    let at = now() / 1000 * 1000 + 5000;
    let time = lockstep::domain::Timestamp::from_millis(at);
    let later = input
        .clone()
        .with("notBefore", lockstep::domain::rfc3339(time));
    let waits = stack.start(&later).await;
    // Until then the lock is free for other runs.
    assert!(stack.run(&input, 20).await.ran());
    assert!(stack.wait(&waits, 30).await.ran());
    let runs = runs(&ran_alone(&stack, &lock, 2).await);
    let token = runs[1].token();
    assert!(runs[0].start < at, "the other one ran meanwhile: {runs:?}");
    assert!(
        token >= at + 1000,
        "granted at {token}, asked before {at} and a second"
    );
}

#[tokio::test]
async fn a_full_queue_fails_or_skips_the_run_that_comes_next() {
    let (stack, lock) = (stack().await, unique("full"));
    let input = stack.batch_input(&lock).with("maxQueue", 2);
    let first = at_work(&stack, &input.clone().queued().seconds(12.0)).await;
    let input = input.seconds(0.3);
    let waiters = [
        in_queue(&stack, &input, 1).await,
        in_queue(&stack, &input, 2).await,
    ];
    let third = stack.run(&input.clone().queued(), 20).await;
    assert_eq!(third.status, "FAILED", "{third:?}");
    assert_eq!(third.error, "Lockstep.QueueFull", "{third:?}");
    assert!(third.cause.contains("maxQueue 2"), "{}", third.cause);
    assert!(third.cause.contains(&first.arn), "{}", third.cause);
    let skips = input.queued().with("whenQueueFull", "skip");
    let fourth = stack.run(&skips, 20).await;
    assert_eq!(
        (fourth.status.as_str(), fourth.answer()),
        ("SUCCEEDED", "skipped")
    );
    assert_eq!(fourth.output["holder"], first.arn.as_str(), "{fourth:?}");
    let fifth = stack.run(&skips.with("onSkip", "fail"), 20).await;
    assert_eq!(
        (fifth.status.as_str(), fifth.error.as_str()),
        ("FAILED", "Lockstep.LockHeld")
    );
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

    assert_eq!(
        stack.waiting(&lock).await,
        0,
        "a run that gives up leaves the queue"
    );
    let items = stack.items(&lock).await;
    let left = items
        .iter()
        .filter(|item| item["sk"].as_s().is_ok_and(|sk| sk.starts_with("waiter#")));
    assert_eq!(left.count(), 0, "{items:?}");
    stack.abort(&first.arn).await;
    stack.wait_free(&lock, 20).await;
    ran_alone_but_stopped(&stack, &lock, 1, &[&first.arn]).await;
}

/// When the waiter in front leaves, in milliseconds after the end of the holder's work.
const MOMENTS: [i64; 6] = [-200, 0, 150, 300, 500, 800];

/// How long a waiter may be left beside a free lock. The interval at which a waiter asks again is
/// far longer: five minutes.
const LEFT_SECONDS: u64 = 45;

#[tokio::test]
async fn the_next_waiter_runs_when_the_one_in_front_dies_at_its_turn() {
    let stack = stack().await;
    let leaves = |index: usize| leaves_at(&stack, MOMENTS[index]);
    tokio::join!(leaves(0), leaves(1), leaves(2));
    tokio::join!(leaves(3), leaves(4), leaves(5));
}

async fn leaves_at(stack: &Stack, moment: i64) {
    const WORK_SECONDS: u32 = 8;
    let lock = unique("leaves");
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = at_work(stack, &input.clone().seconds(WORK_SECONDS.into())).await;
    let front = in_queue(stack, &input, 1).await;
    let behind = in_queue(stack, &input, 2).await;
    let records = stack.records(&lock).await;
    let end = runs(&records)[0].start + 1000 * u64::from(WORK_SECONDS);
    let at = end.saturating_add_signed(moment);
    pause(at.saturating_sub(now())).await;
    stack.abort(&front).await;
    assert!(stack.wait(&first.arn, 30).await.ran(), "{moment} ms");
    let ended = stack.wait(&behind, LEFT_SECONDS + 10).await;
    assert!(ended.ran(), "{moment} ms: {ended:?}");
    let expected = Expected::permits(1).stops(&front);
    let containers = stack.judge(&lock, &expected).await;
    let own = containers.iter().find(|one| one.holder == behind);
    let left = own
        .expect("its container")
        .started
        .saturating_sub(end.max(at));
    eprintln!(
        "figure: the waiter in front leaves {moment} ms after the end: the next works {left} ms later"
    );
    assert!(
        left < LEFT_SECONDS * 1000,
        "{moment} ms: {left} ms beside a free lock"
    );
}
