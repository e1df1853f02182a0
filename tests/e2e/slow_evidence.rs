//! Slow evidence about one lock does not keep the sweep from other locks.

use crate::stack;
use lockstep::domain::LockKey;
use lockstep::store::shard;
use lockstep_tests::stack::{Habit, Stack, now, pause, unique};
use serde_json::{Value, json};

/// How many silent holders the crowded lock has: one for each permit.
const STALE: usize = 25;

/// How long DescribeExecution of one of these holders takes.
const SLOW_SECONDS: u32 = 3;

#[tokio::test]
async fn a_dead_holder_is_freed_within_two_sweeps_beside_many_slow_stale_ones() {
    let stack = stack().await;
    let crowd = unique("crowd");
    let wanted = shard(&key(&crowd));
    let dead = (0..).map(|n| format!("{crowd}-dead-{n}"));
    let dead = dead.into_iter().find(|lock| shard(&key(lock)) == wanted);
    let dead = dead.expect("a lock of the same shard");

    let holders = waiting(&stack, &crowd, STALE).await;
    for holder in &holders {
        holds(&stack, &crowd, holder, STALE).await;
    }
    stack.drop_events(&dead).await;
    let holder = waiting(&stack, &dead, 1).await.remove(0);
    holds(&stack, &dead, &holder, 1).await;
    stack.abort(&holder).await;
    // Every lease has expired, and those of the crowd first.
    pause(7_000).await;

    let slow = Habit::Slow("DescribeExecution", SLOW_SECONDS);
    stack.switch_on(slow, &format!("{crowd}\\\"")).await;
    let (began, reaper) = (now(), stack.output("ReaperFunctionArn"));
    let mut sweeps = 0;
    while stack.held(&dead).await > 0 {
        assert!(
            sweeps < 2,
            "{sweeps} sweeps freed no dead holder in {} ms",
            now() - began
        );
        let swept = stack.invoke(reaper, &json!({ "sweep": true })).await;
        eprintln!(
            "figure: sweep beside {STALE} slow holders, {} ms: {swept:?}",
            now() - began
        );
        sweeps += 1;
    }
    stack.switch_off(slow, &format!("{crowd}\\\"")).await;
    stack.deliver_events(&dead).await;
    for holder in &holders {
        stack.abort_if_running(holder).await;
    }
}

fn key(lock: &str) -> LockKey {
    LockKey::new(lock).expect("a lock's name")
}

/// Starts executions of exclusive-run for `lock` that wait an hour for their `notBefore`, and so
/// hold nothing yet.
async fn waiting(stack: &Stack, lock: &str, count: usize) -> Vec<String> {
    let time = lockstep::domain::Timestamp::from_millis(now() + 3_600_000);
    let input = stack.batch_input(lock);
    let input = input.with("notBefore", lockstep::domain::rfc3339(time));
    stack.start_all(&vec![input; count]).await
}

/// Grants `lock` for three seconds to a holder that does not renew it.
async fn holds(stack: &Stack, lock: &str, holder: &str, permits: usize) {
    let request = json!({
        "lock": lock, "holder": holder, "permits": permits,
        "leaseSeconds": 3, "heartbeatSeconds": 1
    });
    let acquire = stack.output("AcquireLockFunctionArn");
    let answer: Result<Value, _> = stack.invoke(acquire, &request).await;
    let answer = answer.unwrap_or_else(|error| panic!("{lock}: {error:?}"));
    assert_eq!(answer["status"], "granted", "{answer}");
}
