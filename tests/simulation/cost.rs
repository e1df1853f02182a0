//! What guarded runs cost: counts of executions of the deployed definition on virtual time,
//! compared with `benches/figures.toml`. `benches/cost` computes requests and dollars from them.

use crate::asl::Machine;
use crate::bill::{COUNTED, HISTORY, TRANSITIONS};
use crate::cloud::Batch;
use crate::scenario::guarded_task;
use crate::workflow::{Order, start};
use crate::world::{Tally, World};
use lockstep::domain::ExecutionArn;
use lockstep_tests::{figures, steps};
use serde_json::{Value, json};
use std::sync::Arc;

const MINUTES: u64 = 60;
const HOUR: u64 = 3600;

/// How a run is guarded.
#[derive(Clone, Copy)]
enum Way {
    ExclusiveRun,
    Woven,
}

/// The seed of every world, so that a count changes only with what is counted. Another seed starts
/// tasks at other milliseconds.
const SEED: u64 = 1;

#[test]
fn each_guarded_run_costs_what_figures_toml_says() {
    let (minutes, hour) = (5 * MINUTES, HOUR);
    let mut figures = Vec::new();
    let mut report = |name: &str, tally: &Tally| {
        for what in COUNTED.into_iter().chain(steps::ALL) {
            let count = tally.get(what).copied().unwrap_or_default();
            if count > 0 {
                figures.push((format!("{name}: {what}"), count));
            }
        }
    };
    for (way, name) in [(Way::ExclusiveRun, "exclusive-run"), (Way::Woven, "weave")] {
        for (seconds, length) in [(minutes, "5 min"), (hour, "1 h"), (24 * hour, "24 h")] {
            let tally = runs(&[(way, 0, seconds, "skip")]);
            report(&format!("{name}, {length}"), &tally);
        }
    }
    // The second run comes a second later. Its work takes five minutes.
    let holds = (Way::ExclusiveRun, 0, hour, "skip");
    for (overlap, name) in [
        ("skip", "1 h and a skip"),
        ("queue", "1 h and 5 min after its turn"),
    ] {
        let tally = runs(&[holds, (Way::ExclusiveRun, 1, minutes, overlap)]);
        report(&format!("exclusive-run, {name}"), &tally);
    }
    figures::check("runs", &figures);
}

#[test]
fn a_heartbeat_is_one_transition_and_six_events_and_a_retry_one_and_four() {
    let [hour, day] =
        [HOUR, 24 * HOUR].map(|seconds| runs(&[(Way::ExclusiveRun, 0, seconds, "skip")]));
    let more = |what: &str| day[what] - hour[what];
    assert_eq!(more(HISTORY), 6 * more(steps::RENEW));
    assert_eq!(more(TRANSITIONS), more(steps::RENEW));

    // A waiting state registers again by a retry.
    let waits = |seconds| {
        let second = (Way::ExclusiveRun, 1, 5 * MINUTES, "queue");
        runs(&[(Way::ExclusiveRun, 0, seconds, "skip"), second])
    };
    let [short, long] = [HOUR, 2 * HOUR].map(waits);
    let more = |what: &str| long[what] - short[what];
    assert_eq!(
        more(HISTORY),
        6 * more(steps::RENEW) + 4 * more(steps::QUEUE_AGAIN)
    );
    assert_eq!(
        more(TRANSITIONS),
        more(steps::RENEW) + more(steps::QUEUE_AGAIN)
    );
}

/// Returns what these runs cost together. Each has its way, the second in which it starts, the
/// seconds of its work, and its overlap policy. The lock was used before, nothing goes wrong, and
/// the sweep does not run.
fn runs(runs: &[(Way, u64, u64, &str)]) -> Tally {
    let mut world = World::of_seed(SEED, 0);
    world.as_deployed = true;
    let world = Arc::new(world);
    begin(&world, "earlier", (Way::ExclusiveRun, 0, MINUTES, "skip"));
    settle(&world, 2 * MINUTES);
    let before = world.tally();
    for (number, run) in runs.iter().enumerate() {
        begin(&world, &format!("run-{number}"), *run);
    }
    let work: u64 = runs.iter().map(|(_, at, seconds, _)| at + seconds).sum();
    settle(&world, work + 10 * MINUTES);
    let mut tally = world.tally();
    for (what, count) in before {
        *tally.entry(what).or_default() -= count;
    }
    world.end();
    tally
}

fn settle(world: &World, seconds: u64) {
    world.run(world.now() + seconds * 1000);
    assert_eq!(world.broken(), None, "{}", world.trace());
    let cloud = crate::engine::locked(&world.cloud);
    assert!(!cloud.is_busy(), "a run goes on: {}", world.trace());
}

fn begin(world: &Arc<World>, name: &str, (way, at, seconds, overlap): (Way, u64, u64, &str)) {
    let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
    let (machine, input) = match way {
        Way::ExclusiveRun => (Machine::exclusive_run(), task(seconds, overlap)),
        Way::Woven => (
            Machine::woven(),
            json!({ "lock": "nightly", "seconds": seconds }),
        ),
    };
    let order = Order {
        arn: ExecutionArn::new(arn).expect("a valid ARN"),
        machine,
        input,
        dies_releasing: false,
    };
    let later = Arc::clone(world);
    world.spawn(async move {
        later.sleep(at * 1000).await;
        start(&later, &order);
    });
}

/// Returns an input as in the README, with defaults for everything else.
fn task(seconds: u64, overlap: &str) -> Value {
    let batch = Batch {
        length: seconds * 1000,
        ..Batch::default()
    };
    let mut work = guarded_task(&batch);
    work["container"] = "job".into();
    json!({ "lock": "nightly", "overlap": overlap, "work": work })
}
