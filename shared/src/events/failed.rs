//! A failed run, as its event and its message describe it.

use super::cause::{ShortCause, one_line};
use crate::contract::WorkFailure;
use lockstep_core::domain::{ExecutionArn, Run, RunKey, RunOutcome, TaskArn};

/// A run that reported its own failure.
///
/// An event *Run Failed* without this value repeats what recovery has found and published as another event,
/// so no message is sent about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedRun {
    /// The name of the error.
    pub error: Option<String>,
    /// The short form of the cause.
    pub cause: Option<String>,
    /// The ECS task that failed.
    pub task: Option<TaskArn>,
    /// The execution that failed, if the work is a workflow.
    pub work: Option<ExecutionArn>,
    /// The run key.
    pub run_key: Option<RunKey>,
    /// The number of this attempt among the failed attempts of its caller. `None` for the first one.
    pub attempt: Option<usize>,
    /// How often the execution of the run had been redriven.
    pub redrives: u32,
    /// How long the run held its permit, in milliseconds.
    pub took_ms: Option<u64>,
    /// How long successful runs of the lock take, if the history has any.
    pub usual: Option<UsualLength>,
}

/// How long the successful runs of a lock take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualLength {
    /// The median of their lengths, in milliseconds. For an even number of runs, the mean of the two in the
    /// middle.
    pub median_ms: u64,
    /// The longest of their lengths, in milliseconds.
    pub longest_ms: u64,
    /// Number of successful runs, at least 1.
    pub successes: usize,
}

impl UsualLength {
    /// Returns the usual length of those `runs` that succeeded, or `None` if none did.
    #[must_use]
    pub fn of(runs: &[Run]) -> Option<Self> {
        let lengths = runs.iter().filter_map(|run| {
            let end = run.end.as_ref()?;
            let length = end.at.millis_since(run.token.granted_at());
            (end.outcome == RunOutcome::Succeeded).then_some(length)
        });
        Self::of_lengths(lengths.collect())
    }

    /// Returns the usual length from the lengths of successful runs, in milliseconds, or `None` if there are
    /// none.
    #[must_use]
    pub fn of_lengths(mut lengths: Vec<u64>) -> Option<Self> {
        lengths.sort_unstable();
        let successes = lengths.len();
        let lower = lengths.get(successes.checked_sub(1)? / 2)?;
        let upper = lengths.get(successes / 2)?;
        Some(Self {
            median_ms: lower.midpoint(*upper),
            longest_ms: *lengths.last()?,
            successes,
        })
    }
}

impl FailedRun {
    /// Creates the description of a run with `run_key` that failed as `failure` reports.
    #[must_use]
    pub fn of(failure: Option<&WorkFailure>, run_key: Option<RunKey>) -> Self {
        let cause = failure.and_then(|failure| failure.cause.as_deref());
        let short = cause.map(ShortCause::of).unwrap_or_default();
        let error = failure.and_then(|failure| failure.error.as_deref());
        Self {
            error: error.map(one_line).filter(|error| !error.is_empty()),
            cause: short.text,
            task: short.task,
            run_key,
            ..Self::default()
        }
    }

    /// Returns the error and the cause in one line.
    #[must_use]
    pub fn reason(&self) -> String {
        let texts = [self.error.as_deref(), self.cause.as_deref()];
        let texts: Vec<_> = texts.into_iter().flatten().collect();
        match texts.is_empty() {
            true => "the run reported that its work failed, without a reason".to_owned(),
            false => texts.join(": "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_core::domain::{FencingToken, HolderId, RunEnd, Timestamp};

    fn run(outcome: Option<RunOutcome>, length: u64) -> Run {
        let granted = 1_767_225_600_000;
        let holder = HolderId::new("a").unwrap();
        let at = Timestamp::from_millis(granted + length);
        Run {
            end: outcome.map(|outcome| RunEnd {
                outcome,
                at,
                retain_until: at,
                evidence: None,
            }),
            ..Run::started(holder, FencingToken::from_number(granted), None)
        }
    }

    #[test]
    fn the_usual_length_is_the_median_of_successes_alone() {
        let success = |length| run(Some(RunOutcome::Succeeded), length);
        let others = [
            run(Some(RunOutcome::Failed), 1),
            run(Some(RunOutcome::Recovered), 1),
            run(None, 1),
        ];
        for (successes, expected) in [
            (vec![], None),
            (vec![7], Some((7, 7, 1))),
            (vec![90, 10], Some((50, 90, 2))),
            (vec![90, 10, 20], Some((20, 90, 3))),
            (vec![90, 10, 40, 20], Some((30, 90, 4))),
        ] {
            let runs = successes.iter().map(|length| success(*length));
            let runs: Vec<_> = runs.chain(others.clone()).collect();

            let usual = UsualLength::of(&runs);

            let usual = usual.map(|usual| (usual.median_ms, usual.longest_ms, usual.successes));
            assert_eq!(usual, expected, "{successes:?}");
        }
    }
}
