//! The runs of a state machine, and their times.

use serde::{Deserialize, Serialize};

/// One execution of a Standard state machine. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) name: String,
    pub(super) start: u64,
    /// `None` while it runs.
    pub(super) stop: Option<u64>,
    pub(super) status: Status,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Status {
    Succeeded,
    Failed,
    TimedOut,
    Aborted,
    Running,
    /// A status that this version does not know.
    Other,
}

impl Status {
    /// Reads a status of Step Functions
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ExecutionListItem.html>).
    pub(super) fn of(text: &str) -> Self {
        match text {
            "SUCCEEDED" => Self::Succeeded,
            "FAILED" => Self::Failed,
            "TIMED_OUT" => Self::TimedOut,
            "ABORTED" => Self::Aborted,
            "RUNNING" => Self::Running,
            _ => Self::Other,
        }
    }
}

/// The time of a run: from `start` up to but not including `end`, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    pub(super) fn length(self) -> u64 {
        self.end - self.start
    }
}

/// Sorts `runs` by their start. Drops the runs that started outside the window, and repetitions of a run that
/// two pages contained.
pub(super) fn within(mut runs: Vec<Run>, since: u64, until: u64) -> Vec<Run> {
    runs.retain(|run| (since..=until).contains(&run.start));
    runs.sort_by(|one, other| (one.start, &one.name).cmp(&(other.start, &other.name)));
    runs.dedup_by(|one, other| one.name == other.name && one.start == other.start);
    runs
}

/// Returns whether one of `runs` ended before `since`. Then no run that is listed after them can have started
/// at `since` or later.
///
/// ListExecutions lists the latest runs first, but does not document whether by start, redrive or end
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html>). The start of a
/// run is no criterion, because a redriven run may be listed long after its start.
pub(super) fn reach_before_window(runs: &[Run], since: u64) -> bool {
    let mut ends = runs.iter().filter_map(|run| run.stop);
    ends.any(|end| end < since)
}

/// Returns the times of `runs`. A run that is still running lasts until `now`.
pub(super) fn spans(runs: &[Run], now: u64) -> Vec<Span> {
    let span = |run: &Run| Span {
        start: run.start,
        end: run.stop.unwrap_or(now).max(run.start),
    };
    runs.iter().map(span).collect()
}

/// Returns the percentile `percent` of `sorted` by the nearest-rank method, which is a value that occurs;
/// `None` if `sorted` is empty.
pub(super) fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, start: u64, stop: Option<u64>) -> Run {
        Run {
            name: name.into(),
            start,
            stop,
            status: Status::of(stop.map_or("RUNNING", |_| "SUCCEEDED")),
        }
    }

    #[test]
    fn runs_outside_of_the_window_and_repeated_ones_are_left_out() {
        let late = run("late", 31, Some(40));
        let runs = vec![
            run("b", 20, Some(25)),
            late,
            run("a", 10, Some(90)),
            run("b", 20, Some(25)),
            run("early", 9, Some(50)),
        ];

        let kept = within(runs, 10, 30);

        let names: Vec<_> = kept.iter().map(|run| run.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_list_ends_with_a_run_that_ended_before_the_window() {
        let (redriven, running) = (run("redriven", 5, Some(90)), run("running", 7, None));
        let before = run("before", 8, Some(9));

        assert!(!reach_before_window(&[redriven.clone(), running], 10));
        assert!(reach_before_window(&[redriven, before], 10));
    }

    #[test]
    fn a_run_that_still_runs_lasts_until_now() {
        let runs = [run("a", 10, None), run("b", 20, Some(15))];

        let spans = spans(&runs, 70);

        let [begun, backwards] = spans[..] else {
            panic!("{spans:?}")
        };
        assert_eq!((begun.length(), backwards.length()), (60, 0));
    }

    #[test]
    fn a_percentile_is_a_value_that_occurred() {
        let sorted: Vec<u64> = (1..=200).collect();

        for (percent, expected) in [(0, 1), (50, 100), (95, 190), (99, 198), (100, 200)] {
            assert_eq!(percentile(&sorted, percent), Some(expected), "{percent}");
        }
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile(&[], 50), None);
    }
}
