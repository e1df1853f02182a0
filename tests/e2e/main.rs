//! The deployed stack, driven from outside: real functions, real table rules, real containers.
//!
//! Needs a stack of `lockstack up` and `lockstack deploy`; `LOCKSTEP_STATE` names its folder.
//! Every test has a lock of its own, so they run beside each other.

mod exclusion;
mod input;
mod lease;
mod outcome;
mod run_key;
mod schedule;
mod telemetry;
mod workflows;

use lockstep_tests::stack::{Ended, Stack, overlaps, runs};

async fn stack() -> Stack {
    match Stack::connect().await {
        Ok(stack) => stack,
        Err(problem) => panic!("{problem}"),
    }
}

/// The one execution that ran, and the others.
fn one_that_ran(all: Vec<Ended>) -> (Ended, Vec<Ended>) {
    let (mut ran, others): (Vec<_>, Vec<_>) = all.into_iter().partition(Ended::ran);
    assert_eq!(ran.len(), 1, "{ran:?} ran, not {others:?}");
    (ran.remove(0), others)
}

/// The containers of `lock` ran `count` times, never two at once.
async fn ran_alone(stack: &Stack, lock: &str, count: usize) {
    let records = stack.records(lock).await;
    let runs = runs(&records);
    assert_eq!(runs.len(), count, "container runs of {lock}: {runs:?}");
    assert_eq!(overlaps(&records, 1), 0, "overlaps of {lock}: {runs:?}");
}
