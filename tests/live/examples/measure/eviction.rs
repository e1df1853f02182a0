//! How fast an eviction reaches the container.

use crate::{load, millis, progress};
use lockstep_live::results::Measurement;
use lockstep_live::stack::{Event, Stack, at_work, now, runs, unique};
use serde_json::json;
use std::path::Path;

const NOTE: &str = "From the call of operate that evicts a working run to what the trap of its container's process \
    writes at SIGTERM. The process notices a signal within 10 ms. All functions are warm. Both clocks are the machine's.";
const SUBJECT: &str = "Lockstep";

/// Measures and writes `eviction`.
pub(crate) async fn measure(stack: &Stack, rounds: usize, folder: &Path) {
    let (before, mut signals, mut answers) = (load(), Vec::new(), Vec::new());
    // The first round starts the functions, and does not count.
    for round in 0..=rounds {
        progress("eviction", round, rounds);
        let (signal, answer) = evict(stack).await;
        if round > 0 {
            signals.push(signal);
            answers.push(answer);
        }
    }
    let note = format!(
        "{NOTE} The load average was {before} before and {} after.",
        load()
    );
    let mut measurement = Measurement::new("eviction", "Eviction to SIGTERM", "", &note);
    measurement.add("call of operate to SIGTERM", SUBJECT, "ms", signals);
    measurement.add("call of operate to its answer", SUBJECT, "ms", answers);
    measurement.write(folder);
}

/// Evicts a working run. Returns the milliseconds from the call to SIGTERM, and to the answer.
async fn evict(stack: &Stack) -> (f64, f64) {
    let lock = unique("eviction");
    let input = stack
        .batch_input(&lock)
        .seconds(60.0)
        .env("BATCH_STEP", "0.01");
    let run = at_work(stack, &input).await;
    stack.wait_task(&run.task, "RUNNING", 15).await;
    let evict = json!({
        "act": "evict", "lock": lock, "holder": run.arn, "force": true,
        "note": "measured", "actor": "benches/stack",
    });
    let operate = stack.output("OperateFunctionArn");
    let called = now();
    let evicted = stack.invoke(operate, &evict).await;
    let answered = now();
    assert_eq!(evicted.expect("an answer")["status"], "evicted");
    let records = stack.wait_for(&lock, Event::Sigterm, 1, 30).await;
    let signal = runs(&records)[0].sigterm.expect("a SIGTERM");
    stack.wait_task(&run.task, "STOPPED", 30).await;
    (millis(called, signal), millis(called, answered))
}
