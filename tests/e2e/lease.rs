//! A working holder keeps its lease whatever its heartbeats fail with. A lost lease stops the work.

use crate::support::{at_work, in_queue};
use crate::telemetry::lines;
use crate::{ran_alone, ran_alone_but_stopped, stack};
use lockstep::contract::parse_time;
use lockstep::domain::RunOutcome;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{Event, Failure, Stack, ending, now, pause, runs, unique, until};
use serde_json::{Value, json};

#[tokio::test]
async fn a_batch_three_leases_long_keeps_its_lock() {
    let (stack, lock) = (stack().await, unique("long"));
    let input = stack.batch_input(&lock).short_lease();
    let first = stack.start(&input.clone().seconds(10.0)).await;
    let records = stack.wait_for(&lock, Event::Start, 1, 30).await;
    let granted = expires_at(&stack, &lock, &first).await;
    let (middle, mut renewals, mut seen) = (records[0].at + 5_000, 0, granted);
    while now() < middle {
        let moved = expires_at(&stack, &lock, &first).await;
        renewals += usize::from(moved > seen);
        seen = moved;
        pause(50).await;
    }
    assert!(renewals >= 1, "renewals seen in five seconds: {renewals}");
    let second = stack.run(&input, 20).await;
    assert_eq!(second.answer(), "skipped", "{second:?}");
    assert_eq!(second.output["holder"], first.as_str());
    let ended = stack.wait(&first, 40).await;
    assert!(ended.ran(), "{ended:?}");
    eprintln!("figure: {renewals} renewals in 5 s of a 10 s batch under a 3 s lease");
    ran_alone(&stack, &lock, 1).await;
}

#[tokio::test]
async fn a_longer_run_beats_less_often_under_a_longer_lease() {
    let (stack, lock) = (stack().await, unique("grows"));
    let input = stack.batch_input(&lock).with("leaseSeconds", 3);
    let input = input
        .with("heartbeatSeconds", 1)
        .with("maxHeartbeatSeconds", 3);
    let run = at_work(&stack, &input.seconds(16.0)).await;
    // At an age of 4 s the heartbeat is 2 s, and the lease is three heartbeats and 3 s more.
    until("a longer lease", 10, async || {
        lease_time(&stack, &lock, &run.arn, "leaseMs").await == 9000
    })
    .await;
    let ended = stack.wait(&run.arn, 40).await;

    assert!(ended.ran(), "{ended:?}");
    let beats: Vec<_> = lines(&stack, "heartbeat", &lock)
        .await
        .iter()
        .filter(|line| line["message"] == "renewed")
        .map(|line| time_of(&line["timestamp"]))
        .collect();
    let gaps: Vec<_> = beats.windows(2).map(|pair| pair[1] - pair[0]).collect();
    eprintln!("figure: heartbeats of a batch of 16 s are {gaps:?} ms apart");
    assert!((7..=12).contains(&gaps.len()), "{gaps:?}");
    assert!(gaps[0] < 1900 && gaps[gaps.len() - 1] > 2800, "{gaps:?}");
    stack.judge(&lock, &Expected::permits(1)).await;
}

#[tokio::test]
async fn a_lost_lease_stops_the_batch_and_fails_the_execution() {
    let (stack, lock) = (stack().await, unique("evict"));
    let input = stack.batch_input(&lock).short_lease();
    let arn = stack.start(&input.clone().seconds(60.0)).await;
    let records = stack.wait_for(&lock, Event::Start, 1, 30).await;
    let token = runs(&records)[0].token();
    let evicted = now();
    stack.evict(&lock, &arn, "the report is wrong").await;
    let ended = stack.wait(&arn, 30).await;
    assert_eq!(ended.status, "FAILED", "{ended:?}");
    assert_eq!(ended.error, "Lockstep.LeaseLost", "{}", ended.cause);
    assert!(ended.cause.contains(&arn), "{}", ended.cause);
    let records = stack.wait_for(&lock, Event::Sigterm, 1, 10).await;
    let sigterm = runs(&records)[0].sigterm.expect("a SIGTERM");
    let took = sigterm.saturating_sub(evicted);
    eprintln!("figure: from eviction to SIGTERM {took} ms");
    // A beat lasts a second and is repeated a second later.
    assert!(took < 5_000, "{took} ms from eviction to SIGTERM");

    let entry = stack.entry(&lock, token).await.expect("the evicted run");
    let (outcome, why) = ending(&entry);
    assert_eq!(outcome, RunOutcome::Evicted, "{entry:?}");
    assert_eq!(why, "the report is wrong (by operator)");

    let grant = json!({ "lock": lock, "holder": arn, "token": token });
    let beat = json!({ "grant": grant });
    let heartbeat = stack.output("HeartbeatFunctionArn");
    let late = stack.invoke(heartbeat, &beat).await;
    let refused = late.expect_err("a late beat");
    assert_eq!(refused.error_type, "Lockstep.LeaseLost", "{refused:?}");

    assert!(stack.run(&input.seconds(0.5), 30).await.ran());
    ran_alone_but_stopped(&stack, &lock, 2, &[&arn]).await;
}

#[tokio::test]
async fn a_late_release_cannot_touch_the_next_holder() {
    let (stack, lock) = (stack().await, unique("late"));
    let input = stack.batch_input(&lock).seconds(0.5);
    let first = stack.run(&input, 30).await;
    let token = runs(&stack.records(&lock).await)[0].token();
    let second = stack.start(&input.seconds(3.0)).await;
    stack.wait_for(&lock, Event::Start, 2, 30).await;
    let grant = json!({ "lock": lock, "holder": first.arn, "token": token });
    let release = stack.output("ReleaseLockFunctionArn");
    let late = json!({ "grant": grant, "outcome": "succeeded" });
    let answer = stack.invoke(release, &late).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(stack.held(&lock).await, 1, "the second run holds the lock");
    assert!(stack.wait(&second, 30).await.ran());
    ran_alone(&stack, &lock, 2).await;
}

#[tokio::test]
async fn a_run_over_its_time_is_stopped_and_frees_the_lock() {
    let (stack, lock) = (stack().await, unique("overrun"));
    let input = stack.batch_input(&lock).with("maxRunSeconds", 8);
    let ended = stack.run(&input.clone().seconds(60.0), 40).await;
    assert_eq!(ended.status, "FAILED", "{ended:?}");
    let expected = ["States.Timeout", "Lockstep.LeaseLost"];
    assert!(expected.contains(&ended.error.as_str()), "{ended:?}");
    let records = stack.wait_for(&lock, Event::Sigterm, 1, 10).await;
    let run = &runs(&records)[0];
    let worked = run.sigterm.expect("a SIGTERM") - run.start;
    eprintln!(
        "figure: {} after {worked} ms of work, maxRunSeconds 8",
        ended.error
    );
    let free = stack.wait_free(&lock, 15).await;
    eprintln!("figure: the lock is free {free} ms after the end of an overrun");
    assert!(stack.run(&input.seconds(0.5), 30).await.ran());
    ran_alone_but_stopped(&stack, &lock, 2, &[&ended.arn]).await;
}

/// Returns the RFC 3339 time of a log line, in milliseconds.
fn time_of(text: &Value) -> u64 {
    let time = parse_time("timestamp", text.as_str().expect("a text"));
    time.expect("a time").millis()
}

async fn expires_at(stack: &Stack, lock: &str, holder: &str) -> u64 {
    lease_time(stack, lock, holder, "expiresAt").await
}

/// Returns a time of the holder's lease, in milliseconds.
async fn lease_time(stack: &Stack, lock: &str, holder: &str, field: &str) -> u64 {
    let item = stack.lock_item(lock).await.expect("a record");
    let holders = item["holders"].as_m().expect("a map");
    let lease = holders
        .get(holder)
        .unwrap_or_else(|| panic!("{holder} does not hold {lock}: {holders:?}"));
    let at = lease.as_m().expect("a lease")[field].as_n();
    at.expect("a number").parse().expect("milliseconds")
}

/// Failures that no definition lists by name: of a deployment, of a KMS key, of a policy that is
/// being changed, and of a bug.
const UNLISTED: [Failure; 4] = [
    Failure::Named("Lambda.ResourceConflictException"),
    Failure::Named("Lambda.KMSAccessDeniedException"),
    Failure::Named("States.Permissions"),
    Failure::Panic,
];

#[tokio::test]
async fn a_heartbeat_that_fails_once_with_any_error_does_not_end_the_run() {
    let stack = stack().await;
    let fails = |index: usize| fails_once(&stack, UNLISTED[index]);
    tokio::join!(fails(0), fails(1), fails(2), fails(3));
}

async fn fails_once(stack: &Stack, failure: Failure) {
    let lock = unique("beat");
    let input = stack.batch_input(&lock);
    let input = input.with("leaseSeconds", 6).with("heartbeatSeconds", 2);
    let first = at_work(stack, &input.clone().seconds(10.0)).await;
    let heartbeat = stack.output("HeartbeatFunctionArn");
    stack.fail_next(heartbeat, 1, failure, &lock).await;
    stack.wait_fired(&lock, 1, 15).await;
    let ended = stack.wait(&first.arn, 40).await;
    assert!(ended.ran(), "{failure:?}: {ended:?}");
    stack.judge(&lock, &Expected::permits(1)).await;
}

#[tokio::test]
async fn no_failure_of_a_heartbeat_frees_a_lock_whose_container_still_works() {
    let stack = stack().await;
    let fails = |index: usize| fails_for_long(&stack, UNLISTED[index]);
    tokio::join!(fails(0), fails(1), fails(2), fails(3));
}

/// Lets the heartbeats fail for three leases while a run waits. The batch ignores SIGTERM: if it is
/// stopped for its silence, it works for ten more seconds.
async fn fails_for_long(stack: &Stack, failure: Failure) {
    let lock = unique("beats");
    let input = stack.batch_input(&lock).short_lease();
    let long = input.clone().seconds(14.0).env("BATCH_IGNORE_SIGTERM", "1");
    let first = at_work(stack, &long).await;
    let next = in_queue(stack, &input.seconds(0.3), 1).await;
    let heartbeat = stack.output("HeartbeatFunctionArn");
    stack.fail_for(heartbeat, 9, failure, &lock).await;
    let ended = stack.wait(&first.arn, 60).await;
    eprintln!(
        "figure: 9 s of {failure:?}: {} {}",
        ended.status, ended.error
    );
    let next = stack.wait(&next, 60).await;
    assert!(next.ran(), "{failure:?}: {next:?}");
    stack
        .judge(&lock, &Expected::permits(1).stops(&first.arn))
        .await;
}
