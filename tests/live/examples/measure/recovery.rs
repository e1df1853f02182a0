//! How long a lock is free after each kind of death.

use crate::{load, progress};
use futures_util::future::join_all;
use lockstep_live::results::Measurement;
use lockstep_live::stack::{
    AtWork, BatchInput, Failure, Stack, at_work_of, in_queue, pause, unique,
};
use std::path::Path;

const NOTE: &str = "One run works, the next one waits in the queue. The time starts at the end of the container or of \
    the execution, whichever the death is of; it ends when the next execution enters the state Run Exclusively, and \
    when its container begins to work. Leases last a minute, so that none expires meanwhile. Only the holder whose \
    events are lost has the shortest lease, 3 s: it is found by the sweep, which runs once a minute and looks at \
    leases that are over, so a lease of a minute adds up to a minute. All functions are warm.";
const GRANT: &str = "to the grant of the next run";
const CONTAINER: &str = "to the start of its container";
/// Longer than a start of a container and of a waiter takes.
const TIMEOUT_SECONDS: u32 = 12;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    Success,
    Aborted,
    TimedOut,
    Killed,
    Stopped,
    Failed,
    ReleaseFails,
    Silent,
}

impl Death {
    /// The deaths that are played one after the other.
    const IN_TURN: [Self; 7] = [
        Self::Success,
        Self::Aborted,
        Self::TimedOut,
        Self::Killed,
        Self::Stopped,
        Self::Failed,
        Self::ReleaseFails,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Success => "none: the run succeeds",
            Self::Aborted => "StopExecution of its execution",
            Self::TimedOut => "its execution times out",
            Self::Killed => "SIGKILL of its container",
            Self::Stopped => "StopTask of its task",
            Self::Failed => "its container exits with 1",
            Self::ReleaseFails => "its release-lock fails",
            Self::Silent => "StopExecution, events lost",
        }
    }

    /// Returns the batch that comes to this end.
    fn batch(self, input: BatchInput) -> BatchInput {
        // Long enough for the next run to enter the queue.
        const SHORT: f64 = 5.0;
        match self {
            Self::Success | Self::ReleaseFails => input.seconds(SHORT),
            Self::Failed => input.seconds(SHORT).exit(1),
            Self::Silent => input.seconds(300.0).short_lease(),
            Self::Aborted | Self::TimedOut | Self::Killed | Self::Stopped => input.seconds(60.0),
        }
    }
}

/// Seconds from a death to the grant, and to the container.
#[derive(Clone, Copy, Debug)]
struct Sample {
    grant: f64,
    container: f64,
}

/// Measures and writes `recovery`.
pub(crate) async fn measure(stack: &Stack, rounds: usize, folder: &Path) {
    let before = load();
    let machine = stack.output("ExclusiveRunStateMachineArn");
    let limit =
        |definition: &mut serde_json::Value| definition["TimeoutSeconds"] = TIMEOUT_SECONDS.into();
    let limited = stack.changed_machine(limit).await;
    let mut samples = Death::IN_TURN.map(|death| (death, Vec::new())).to_vec();
    // These rounds start the functions, and do not count.
    for death in [Death::Success, Death::Aborted] {
        recover(stack, death, machine, 0).await;
    }
    for round in 1..=rounds {
        progress("recovery", round, rounds);
        for (death, samples) in &mut samples {
            let machine = if *death == Death::TimedOut {
                &limited
            } else {
                machine
            };
            samples.push(recover(stack, *death, machine, 0).await);
        }
    }
    eprintln!("recovery by the sweep: {rounds} at a time, which takes some three minutes");
    let spread = (0..rounds).map(|round| 60_000 * round as u64 / rounds as u64);
    let silent = spread.map(|delay| recover(stack, Death::Silent, machine, delay));
    samples.push((Death::Silent, join_all(silent).await));

    let note = format!(
        "{NOTE} The load average was {before} before and {} after.",
        load()
    );
    let against = Death::Success.name();
    let mut measurement = Measurement::new("recovery", "Recovery from a death", against, &note);
    for (figure, of) in [
        (GRANT, (|sample| sample.grant) as fn(&Sample) -> f64),
        (CONTAINER, |sample| sample.container),
    ] {
        for (death, samples) in &samples {
            let seconds = samples.iter().map(of).collect();
            measurement.add(figure, death.name(), "s", seconds);
        }
    }
    measurement.write(folder);
}

/// Lets a run die after `delay`, and the next one run. Returns the times.
async fn recover(stack: &Stack, death: Death, machine: &str, delay: u64) -> Sample {
    let lock = unique("recovery");
    let input = stack.batch_input(&lock).seconds(0.3);
    if death == Death::Silent {
        stack.drop_events(&lock).await;
    }
    if death == Death::ReleaseFails {
        // The error is one that no state retries. It stands for an error that outlasts all retries.
        let release = stack.output("ReleaseLockFunctionArn");
        let denied = Failure::Named("Lockstep.Denied");
        stack.fail_next(release, 1, denied, &lock).await;
    }
    let first = at_work_of(stack, machine, &death.batch(input.clone())).await;
    let next = in_queue(stack, &input, 1).await;
    stack.wait_task(&first.task, "RUNNING", 15).await;
    pause(delay).await;
    let died = strike(stack, death, &first).await;
    let ended = stack.wait(&next, 150).await;
    assert!(ended.ran(), "{death:?}: {ended:?}");
    if death == Death::Silent {
        stack.deliver_events(&lock).await;
    }
    let granted = stack.entered(&next, "Run Exclusively").await;
    let started = stack.container_start(&lock, &next).await;
    let seconds = |end: u64| end.saturating_sub(died) as f64 / 1000.0;
    Sample {
        grant: seconds(granted),
        container: seconds(started),
    }
}

/// Causes the death. Returns when it was, in epoch milliseconds.
async fn strike(stack: &Stack, death: Death, run: &AtWork) -> u64 {
    match death {
        Death::Aborted | Death::Silent => stack.abort(&run.arn).await,
        Death::Killed => stack.kill_container(&run.task).await,
        Death::Stopped => stack.stop_task(&run.task).await,
        Death::Success | Death::TimedOut | Death::Failed | Death::ReleaseFails => {}
    }
    match death {
        Death::Aborted | Death::Silent | Death::TimedOut => {
            let ended = stack.wait(&run.arn, 40).await;
            let expected = match death {
                Death::TimedOut => "TIMED_OUT",
                _ => "ABORTED",
            };
            assert_eq!(ended.status, expected, "{ended:?}");
            ended.stopped
        }
        _ => {
            stack.wait_task(&run.task, "STOPPED", 40).await;
            let stopped = stack.stopped_at(&run.task).await;
            stopped.expect("the end of a container")
        }
    }
}
