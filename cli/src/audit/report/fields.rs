//! The fields of the report, as docs/audit.md documents them.

use crate::audit::advice::Suggestion;
use crate::audit::found::{Denied, NotSeen};
use crate::audit::run::{Run, Span};
use crate::audit::schedule::{Schedule, Source};
use serde::Serialize;

/// The whole report.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Report {
    pub(in crate::audit) region: String,
    /// The beginning of the window, in RFC 3339.
    pub(in crate::audit) since: String,
    /// The end of the window, in RFC 3339.
    pub(in crate::audit) until: String,
    /// The beginning and the end of the window, in milliseconds since 1970.
    #[serde(skip)]
    pub(in crate::audit) window: (u64, u64),
    /// Requests that this run of the command sent.
    pub(in crate::audit) requests: u64,
    /// The state machines, those with the most overlaps first.
    pub(in crate::audit) state_machines: Vec<Audited>,
    pub(in crate::audit) not_seen: Vec<NotSeen>,
    pub(in crate::audit) denied: Vec<Denied>,
    /// What the figures do not cover.
    pub(in crate::audit) cannot_see: [&'static str; 6],
}

/// The figures of one state machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Audited {
    pub(in crate::audit) name: String,
    pub(in crate::audit) arn: String,
    /// Whether this is exclusive-run of Lockstep by its name. Its executions overlap while they wait.
    pub(in crate::audit) is_exclusive_run: bool,
    pub(in crate::audit) runs: usize,
    pub(in crate::audit) endings: Endings,
    /// `None` if there was no run.
    pub(in crate::audit) durations: Option<Durations>,
    pub(in crate::audit) schedules: Vec<Scheduled>,
    pub(in crate::audit) ticks: Ticking,
    pub(in crate::audit) overlaps: Overlapping,
    /// Number of starts within a second of the start before.
    pub(in crate::audit) double_starts: usize,
    pub(in crate::audit) replay: Replayed,
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
    pub(in crate::audit) source: Source,
    /// `None` for a rule that matches events.
    pub(in crate::audit) expression: Option<String>,
    pub(in crate::audit) timezone: Option<String>,
    pub(in crate::audit) enabled: bool,
    /// Whether the schedule ticks: it is enabled, has begun and has not ended.
    pub(in crate::audit) ticks: bool,
    /// The shortest time between two ticks.
    pub(in crate::audit) interval_seconds: Option<f64>,
}

/// The ticks of the schedules, and those without a start.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Ticking {
    pub(in crate::audit) count: usize,
    /// Ticks whose start came after the next tick.
    pub(in crate::audit) late: usize,
    /// Ticks without a start.
    pub(in crate::audit) missed: usize,
    /// The latest times of ticks without a start, newest first.
    pub(in crate::audit) latest_missed: Vec<MissedTick>,
}

/// Ticks at one time, of which some had no start.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct MissedTick {
    /// RFC 3339.
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
    /// Number of runs that started while another run was running.
    pub(in crate::audit) runs: usize,
    /// Time in which two or more runs were running, in seconds.
    pub(in crate::audit) seconds: f64,
    /// Largest number of runs at once.
    pub(in crate::audit) most_at_once: usize,
    /// The first runs that started while another run was running.
    pub(in crate::audit) examples: Vec<Example>,
}

/// A run that started while another run was running.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Example {
    /// The name of its execution.
    pub(in crate::audit) run: String,
    pub(in crate::audit) started: String,
    /// The name of the execution that was running.
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
    pub(in crate::audit) skipped: usize,
}

/// What `queue` would have done.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Queued {
    pub(in crate::audit) waited: usize,
    pub(in crate::audit) longest_wait_seconds: f64,
    pub(in crate::audit) longest_queue: usize,
    /// Whether the queue would have kept growing.
    pub(in crate::audit) grows: bool,
}

/// What `replace` would have done.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::audit) struct Replace {
    pub(in crate::audit) stopped: usize,
}
