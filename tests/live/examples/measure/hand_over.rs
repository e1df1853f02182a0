//! How long a permit is free between two runs: the next one is woken from the queue, or polls.

use crate::{load, millis, progress};
use lockstep_live::results::Measurement;
use lockstep_live::stack::{Stack, Turn, now, pause, unique};
use serde_json::json;
use std::path::Path;

const NOTE: &str = "From the call of release-lock for one run to the first state after the acquire of the next one, by \
    the history of its execution, on the emulator of Step Functions and Lambda. One waiter is woken from the queue, \
    the other asks every 3 s. All functions are warm.";
const WOKEN: &str = "woken from the queue";
const POLLING: &str = "polling every 3 s";

/// Measures and writes `hand-over`.
pub(crate) async fn measure(stack: &Stack, rounds: usize, folder: &Path) {
    let functions = stack.functions();
    let queueing = stack.small_machine(&functions, Turn::Queue).await;
    let polling = stack.small_machine(&functions, Turn::Poll).await;
    let (before, mut woken, mut polled) = (load(), Vec::new(), Vec::new());
    // The first round starts the functions, and does not count.
    for round in 0..=rounds {
        progress("hand-over", round, rounds);
        // The releases are spread over the three seconds of a poll, because a run ends at any
        // moment of it.
        let held = 1000 + 3000 * round as u64 / rounds as u64;
        let samples = (
            hand_over(stack, &queueing, Turn::Queue, held).await,
            hand_over(stack, &polling, Turn::Poll, held).await,
        );
        if round > 0 {
            woken.push(samples.0);
            polled.push(samples.1);
        }
    }
    let note = format!(
        "{NOTE} The load average was {before} before and {} after.",
        load()
    );
    let mut measurement = Measurement::new("hand-over", "Hand-over to the next run", WOKEN, &note);
    measurement.add("release to work", WOKEN, "ms", woken);
    measurement.add("release to work", POLLING, "ms", polled);
    measurement.write(folder);
}

/// Hands a permit from one holder to one waiter. Returns the milliseconds from the release of the
/// first to the work of the second.
async fn hand_over(stack: &Stack, machine: &str, turn: Turn, held: u64) -> f64 {
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
    pause(held).await;
    let release = json!({ "grant": first, "outcome": "succeeded" });
    let called = now();
    let released = stack.invoke(&functions.release, &release).await;
    released.expect("a release");
    let ended = stack.wait(&next, 30).await;
    assert_eq!(ended.status, "SUCCEEDED", "{ended:?}");
    millis(called, stack.began_work(&next).await)
}
