//! The fields of the report. docs/audit.md has their doc comments.

use crate::audit::advice::Suggestion;
use crate::audit::found::{Denied, NotSeen};
use crate::audit::run::{Run, Span};
use crate::audit::schedule::{Schedule, Source};
use serde::Serialize;

/// The whole report.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Report {
    /// The Region.
    pub(in crate::audit) region: String,
    /// The beginning of the window.
    pub(in crate::audit) since: String,
    /// The end of the window: the time at which the audit began.
    pub(in crate::audit) until: String,
    /// The beginning and the end of the window, in milliseconds since 1970.
    #[serde(skip)]
    pub(in crate::audit) window: (u64, u64),
    /// Requests that this command sent.
    pub(in crate::audit) requests: u64,
    /// The state machines, those with the most overlaps first.
    pub(in crate::audit) state_machines: Vec<Audited>,
    /// State machines whose executions were not listed.
    pub(in crate::audit) not_seen: Vec<NotSeen>,
    /// Calls that were denied.
    pub(in crate::audit) denied: Vec<Denied>,
    /// What the figures do not cover.
    pub(in crate::audit) cannot_see: [&'static str; 6],
}

/// The figures of one state machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Audited {
    /// Its name.
    pub(in crate::audit) name: String,
    /// Its ARN.
    pub(in crate::audit) arn: String,
    /// Whether it is exclusive-run of Lockstep, by its name. Its executions overlap while they wait.
    pub(in crate::audit) is_exclusive_run: bool,
    /// `RUNS`: executions that started in the window.
    pub(in crate::audit) runs: usize,
    /// How the runs ended. `FAILED` counts those that failed, timed out or were aborted.
    pub(in crate::audit) endings: Endings,
    /// `MEDIAN`, `P95`, `LONGEST`: durations of all runs; null without a run. A run that still runs lasts until
    /// now, a redriven run from its first start to its last end.
    pub(in crate::audit) durations: Option<Durations>,
    /// The rules and schedules that start it.
    pub(in crate::audit) schedules: Vec<Scheduled>,
    /// The ticks of the schedules.
    pub(in crate::audit) ticks: Ticking,
    /// How the runs overlapped.
    pub(in crate::audit) overlaps: Overlapping,
    /// `DOUBLE`: starts within a second of the start before, most often one tick that was delivered twice.
    pub(in crate::audit) double_starts: usize,
    /// What a lock with one permit would have done, by overlap policy.
    pub(in crate::audit) replay: Replayed,
    /// Options of a lock that the figures suggest.
    pub(in crate::audit) suggestions: Vec<Suggestion>,
    /// What the page draws.
    #[serde(skip)]
    pub(in crate::audit) drawn: Drawn,
}

/// What the page draws of a state machine.
#[derive(Debug)]
pub(in crate::audit) struct Drawn {
    pub(in crate::audit) runs: Vec<Run>,
    pub(in crate::audit) spans: Vec<Span>,
    pub(in crate::audit) schedules: Vec<Schedule>,
}

/// How the runs ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Endings {
    pub(in crate::audit) succeeded: usize,
    pub(in crate::audit) failed: usize,
    pub(in crate::audit) timed_out: usize,
    pub(in crate::audit) aborted: usize,
    pub(in crate::audit) running: usize,
    /// Runs with a status that this version does not know.
    pub(in crate::audit) other: usize,
}

/// Durations of all runs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Durations {
    pub(in crate::audit) median_seconds: f64,
    pub(in crate::audit) p95_seconds: f64,
    pub(in crate::audit) p99_seconds: f64,
    pub(in crate::audit) longest_seconds: f64,
}

/// A schedule of a state machine, and its interval.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Scheduled {
    pub(in crate::audit) name: String,
    /// `rule` or `scheduler`.
    pub(in crate::audit) source: Source,
    /// Null for a rule that matches events.
    pub(in crate::audit) expression: Option<String>,
    pub(in crate::audit) timezone: Option<String>,
    pub(in crate::audit) enabled: bool,
    /// Whether it ticks: it is enabled, has begun and has not ended.
    pub(in crate::audit) ticks: bool,
    /// The shortest time between two ticks; null if it is unknown. `EVERY` is the shortest of all schedules.
    pub(in crate::audit) interval_seconds: Option<f64>,
}

/// The ticks of the schedules, and those without a start.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Ticking {
    pub(in crate::audit) count: usize,
    /// Ticks whose start came after the next tick.
    pub(in crate::audit) late: usize,
    /// `MISSED`: ticks without a start; `-` where no tick is known.
    pub(in crate::audit) missed: usize,
    /// Times of ticks without a start: the latest 100, the newest first.
    pub(in crate::audit) latest_missed: Vec<MissedTick>,
}

/// Ticks at one time, of which some had no start.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct MissedTick {
    pub(in crate::audit) at: String,
    /// Number of these ticks that had no start.
    pub(in crate::audit) count: usize,
    /// The schedules that ticked at this time.
    pub(in crate::audit) schedules: Vec<String>,
}

/// How runs overlapped.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Overlapping {
    /// `OVERLAPS`: runs that started while another run of the same state machine ran.
    pub(in crate::audit) runs: usize,
    /// Time in which two or more runs ran.
    pub(in crate::audit) seconds: f64,
    /// `AT ONCE`: most runs at the same time.
    pub(in crate::audit) most_at_once: usize,
    /// The first five runs that started while another run ran.
    pub(in crate::audit) examples: Vec<Example>,
}

/// A run that started while another run was running.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Example {
    /// The name of the execution.
    pub(in crate::audit) run: String,
    pub(in crate::audit) started: String,
    /// The name of the execution that ran.
    pub(in crate::audit) ran: String,
}

/// What each overlap policy would have done.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Replayed {
    pub(in crate::audit) skip: Skip,
    pub(in crate::audit) queue: Queued,
    pub(in crate::audit) replace: Replace,
}

/// What `skip` would have done.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Skip {
    /// `with skip`: runs that would have been skipped.
    pub(in crate::audit) skipped: usize,
}

/// What `queue` would have done.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Queued {
    /// `with queue`: runs that would have waited.
    pub(in crate::audit) waited: usize,
    /// The longest wait.
    pub(in crate::audit) longest_wait_seconds: f64,
    /// The most runs in the queue.
    pub(in crate::audit) longest_queue: usize,
    /// Whether the queue would have kept growing.
    pub(in crate::audit) grows: bool,
}

/// What `replace` would have done.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Replace {
    /// `with replace`: runs that the next start would have stopped.
    pub(in crate::audit) stopped: usize,
}
