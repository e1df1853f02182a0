//! The figures of an audit, counted millisecond by millisecond from DescribeExecution.

use lockstep_tests::stack::Stack;
use serde_json::Value;

/// When a run started and stopped, in milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    start: u64,
    stop: u64,
}

/// Figures of one state machine; lengths in milliseconds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counted {
    runs: u64,
    pub(super) overlapping: u64,
    shared: u64,
    most: u64,
    pub(super) doubles: u64,
    skipped: u64,
    waited: u64,
    longest_wait: u64,
    stopped: u64,
    longest: u64,
}

impl Times {
    /// Returns the times of an execution from DescribeExecution.
    pub(super) async fn described(stack: &Stack, arn: &str) -> Self {
        let call = stack.sfn.describe_execution().execution_arn(arn);
        let described = call.send().await.expect("an execution");
        let millis =
            |time: &aws_smithy_types::DateTime| (time.as_secs_f64() * 1_000.0).round() as u64;
        let stop = described.stop_date().expect("a closed execution");
        Self {
            start: millis(described.start_date()),
            stop: millis(stop),
        }
    }

    fn runs_at(&self, at: u64) -> bool {
        (self.start..self.stop).contains(&at)
    }
}

impl Counted {
    /// Counts `times`, whose starts differ.
    pub(super) fn of(times: &[Times]) -> Self {
        let mut times = times.to_vec();
        times.sort_by_key(|of| of.start);
        let count = |at: u64| times.iter().filter(|of| of.runs_at(at)).count() as u64;
        let (first, last) = (
            times[0].start,
            times.iter().map(|of| of.stop).max().unwrap_or(0),
        );
        let with =
            |wanted: &dyn Fn(usize) -> bool| (0..times.len()).filter(|n| wanted(*n)).count() as u64;
        let (mut free_skip, mut free_queue, mut skipped, mut waits) = (0, 0, 0, Vec::new());
        for of in &times {
            if free_skip > of.start {
                skipped += 1;
            } else {
                free_skip = of.stop;
            }
            let begin = free_queue.max(of.start);
            waits.push(begin - of.start);
            free_queue = begin + of.stop - of.start;
        }
        Self {
            runs: times.len() as u64,
            overlapping: with(&|n| times[..n].iter().any(|of| of.runs_at(times[n].start))),
            shared: (first..last).filter(|at| count(*at) > 1).count() as u64,
            most: (first..last).map(count).max().unwrap_or(0),
            doubles: with(&|n| n > 0 && times[n].start - times[n - 1].start <= 1_000),
            skipped,
            waited: waits.iter().filter(|wait| **wait > 0).count() as u64,
            longest_wait: waits.iter().copied().max().unwrap_or(0),
            stopped: with(&|n| n + 1 < times.len() && times[n].runs_at(times[n + 1].start)),
            longest: times.iter().map(|of| of.stop - of.start).max().unwrap_or(0),
        }
    }

    /// Returns the same figures from the report of a state machine.
    pub(super) fn reported(machine: &Value) -> Self {
        let number = |value: &Value| {
            value
                .as_u64()
                .unwrap_or_else(|| panic!("{value}: {machine:#}"))
        };
        let millis = |value: &Value| {
            let seconds = value
                .as_f64()
                .unwrap_or_else(|| panic!("{value}: {machine:#}"));
            (seconds * 1_000.0).round() as u64
        };
        let (overlaps, replay) = (&machine["overlaps"], &machine["replay"]);
        Self {
            runs: number(&machine["runs"]),
            overlapping: number(&overlaps["runs"]),
            shared: millis(&overlaps["seconds"]),
            most: number(&overlaps["mostAtOnce"]),
            doubles: number(&machine["doubleStarts"]),
            skipped: number(&replay["skip"]["skipped"]),
            waited: number(&replay["queue"]["waited"]),
            longest_wait: millis(&replay["queue"]["longestWaitSeconds"]),
            stopped: number(&replay["replace"]["stopped"]),
            longest: millis(&machine["durations"]["longestSeconds"]),
        }
    }
}
