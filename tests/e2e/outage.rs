//! The table is away for some leases while batches work. No batch is ended for it: neither by the
//! runs that ask during the outage and right after it, nor by the sweep.
//!
//! `LOCKSTEP_BATCHES` sets how many batches work; the default is 6, and 60 in `make storm`.

use crate::support::connect;
use lockstep::config::variable;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{BatchInput, Event, Habit, Stack, TableAnswer, now, pause, unique};
use serde_json::json;

const LEASE_SECONDS: u32 = 6;

/// How many containers start at once.
const AT_ONCE: usize = 10;

/// How long other runs ask, and the sweep runs, after the table is back.
const AFTER_SECONDS: u32 = 12;

fn batches(default: usize) -> usize {
    let given = variable("LOCKSTEP_BATCHES").and_then(|text| text.parse().ok());
    given.unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_some_leases_ends_no_batch() {
    let stack = connect().await;
    survives(&stack, batches(6), TableAnswer::Fail, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes, and all of the machine: make storm"]
async fn no_outage_ends_one_of_sixty_batches() {
    let stack = connect().await;
    let cases = [
        (TableAnswer::Fail, 1),
        (TableAnswer::Hang, 3),
        (TableAnswer::Throttle, 5),
        (TableAnswer::Hang, 10),
    ];
    for (answer, leases) in cases {
        survives(&stack, batches(60), answer, leases).await;
    }
}

/// Takes the table away for `leases` leases while `count` batches work, each under a lock of its
/// own.
async fn survives(stack: &Stack, count: usize, answer: TableAnswer, leases: u32) {
    let outage = leases * LEASE_SECONDS;
    let prefix = unique("away");
    let locks: Vec<_> = (0..count).map(|n| format!("{prefix}/{n}")).collect();
    // Containers of many batches take a while to start.
    let seconds = outage + AFTER_SECONDS + 10 + u32::try_from(count).unwrap_or(0);
    let long = |lock: &String| input(stack, lock).seconds(f64::from(seconds));
    let inputs: Vec<_> = locks.iter().map(long).collect();
    let mut arns = Vec::new();
    for (inputs, locks) in inputs.chunks(AT_ONCE).zip(locks.chunks(AT_ONCE)) {
        arns.extend(stack.start_all(inputs).await);
        for lock in locks {
            stack.wait_for(lock, Event::Start, 1, 180).await;
        }
    }

    let replaced = long(&format!("{prefix}/replaced"));
    let old = stack.start(&replaced).await;
    stack.wait_for(replaced.lock(), Event::Start, 1, 60).await;
    let short = |lock: &str| input(stack, lock).seconds(0.2);
    stack
        .switch_on(Habit::TableAway(answer, outage), &prefix)
        .await;
    let back = now() + u64::from(outage) * 1000;
    let queued: Vec<_> = locks
        .iter()
        .step_by(4)
        .map(|lock| short(lock).queued())
        .collect();
    let queued = stack.start_all(&queued).await;
    let new = short(replaced.lock()).with("overlap", "replace");
    let new = stack.start(&new).await;
    let let_in = asks(stack, &locks, back + u64::from(AFTER_SECONDS) * 1000).await;

    let ended = stack.wait_all(&arns, 240).await;
    let cut: Vec<_> = ended.iter().filter(|ended| !ended.ran()).collect();
    let named: Vec<_> = cut.iter().map(|e| (&e.status, &e.error)).collect();
    eprintln!(
        "figure: {answer:?} for {leases} leases: {} of {count} batches were ended",
        cut.len()
    );
    assert!(let_in.is_empty(), "granted beside a batch: {let_in:?}");
    assert!(cut.is_empty(), "{answer:?} for {leases} leases: {named:?}");
    for waiter in stack.wait_all(&queued, 240).await {
        assert!(waiter.ran(), "{waiter:?}");
    }
    assert!(stack.wait(&new, 120).await.ran(), "the replacing run");
    stack
        .judge(replaced.lock(), &Expected::permits(1).stops(&old))
        .await;
    for lock in &locks {
        stack.judge(lock, &Expected::permits(1)).await;
    }
}

fn input(stack: &Stack, lock: &str) -> BatchInput {
    let input = stack.batch_input(lock).env("BATCH_STEP", "0.5");
    let input = input.with("heartbeatSeconds", 2);
    input.with("leaseSeconds", LEASE_SECONDS)
}

/// Asks for each lock in turn, four times a second, and sweeps every two seconds, until `end`.
/// Returns the locks that were granted to an asker.
async fn asks(stack: &Stack, locks: &[String], end: u64) -> Vec<String> {
    let ask = async {
        let mut let_in = Vec::new();
        for (number, lock) in locks.iter().cycle().enumerate() {
            if now() >= end {
                break;
            }
            let holder = format!("asker-{number}");
            let request = json!({ "lock": lock, "holder": holder, "leaseSeconds": 3 });
            let acquire = stack.output("AcquireLockFunctionArn");
            // An error counts as a skip. An asker must neither end a batch nor be granted its lock.
            let answer = stack.invoke(acquire, &request).await;
            if answer.is_ok_and(|answer| answer["status"] == "granted") {
                let_in.push(lock.clone());
            }
            pause(250).await;
        }
        let_in
    };
    let sweep = async {
        while now() < end {
            let reaper = stack.output("ReaperFunctionArn");
            let _swept = stack.invoke(reaper, &json!({ "sweep": true })).await;
            pause(2_000).await;
        }
    };
    tokio::join!(ask, sweep).0
}
