//! Measures how long a permit lies idle between two runs: woken from the queue, and polling.

use lockstep::clock::{Clock, SystemClock};
use lockstep_tests::stack::{Stack, Turn, unique};
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

const HELP: &str = "\
Measures the hand-over of a lock on a deployed stack: from the release of one run to the work state
of the next. Twenty times each, in turn: with a run that waits in the queue and is woken, and with
one that asks every three seconds.

usage: hand_over [--times N]

environment:
  LOCKSTEP_STATE   folder of the stack, as tests/stack/lockstack wrote it (default target/stack)";

#[tokio::main]
async fn main() -> ExitCode {
    let given: Vec<_> = std::env::args().skip(1).collect();
    let times = match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => 20,
        ["--times", number] => number.parse().unwrap_or(0),
        _ => 0,
    };
    if times == 0 {
        println!("{HELP}");
        return ExitCode::from(2);
    }
    match Stack::connect().await {
        Ok(stack) => {
            measure(&stack, times).await;
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("hand_over: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(stack: &Stack, times: u64) {
    let functions = stack.functions();
    let queueing = stack.small_machine(&functions, Turn::Queue).await;
    let polling = stack.small_machine(&functions, Turn::Poll).await;
    let (mut woken, mut polled) = (Vec::new(), Vec::new());
    for round in 0..times {
        // Spread over the three seconds of a poll: when a run ends is chance.
        let held = Duration::from_millis(1000 + 3000 * round / times);
        woken.push(hand_over(stack, &queueing, Turn::Queue, held).await);
        polled.push(hand_over(stack, &polling, Turn::Poll, held).await);
    }
    println!("from release to the next run's work, {times} times, in ms:");
    for (name, mut all) in [
        ("woken from the queue", woken),
        ("polling every 3 s", polled),
    ] {
        all.sort_unstable();
        let (least, median, most) = (all[0], all[all.len() / 2], all[all.len() - 1]);
        println!("  {name:<21}  median {median:>5}  min {least:>5}  max {most:>5}");
    }
}

/// One holder, one waiter. Milliseconds from the end of the first to the work of the second.
async fn hand_over(stack: &Stack, machine: &str, turn: Turn, held: Duration) -> u64 {
    let (functions, lock) = (stack.functions(), unique("hand-over"));
    let ask = json!({ "lock": lock, "holder": "first" });
    let first = stack.invoke(&functions.acquire, &ask).await;
    let first = first.expect("a grant")["grant"].clone();
    let mut input = json!({ "lock": lock });
    if turn == Turn::Queue {
        input["overlap"] = "queue".into();
    }
    let next = stack.start_machine(machine, &input).await;
    if turn == Turn::Queue {
        stack.wait_waiting(&lock, 1, 20).await;
    }
    SystemClock.sleep(held).await;
    let release = json!({ "grant": first, "outcome": "succeeded" });
    let released = stack.invoke(&functions.release, &release).await;
    released.expect("a release");
    let ended = stack.wait(&next, 30).await;
    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    let token = first["token"].as_u64().expect("a token");
    let entry = stack.entry(&lock, token).await.expect("the first run");
    let released = entry.end.expect("an end").at.millis();
    stack.began_work(&next).await.saturating_sub(released)
}
