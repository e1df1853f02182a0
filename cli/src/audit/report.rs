//! The report: the figures of each state machine, as `--output json` prints them.

mod fields;

pub(super) use fields::{Audited, Drawn, Durations, Replayed, Report, Scheduled, Ticking};

use super::advice::{Figures, suggest};
use super::found::{Found, Machine};
use super::missed::{Ticks, ticks};
use super::overlap::{Overlaps, doubled, doubles, overlaps};
use super::replay::{Replay, replay};
use super::run::{Run, Span, Status, percentile, spans, within};
use super::schedule::{Interval, Schedule};
use fields::{Endings, Example, MissedTick, Overlapping, Queued, Replace, Skip};
use lockstep::domain::{Timestamp, rfc3339};

/// Maximum number of overlapping runs that the report names for each state machine.
const EXAMPLES: usize = 5;

/// Maximum number of times of missed ticks that the report names for each state machine.
const MISSED: usize = 100;

/// Part of the name that CloudFormation gives exclusive-run: the logical ID in the template of Lockstep.
const EXCLUSIVE_RUN: &str = "ExclusiveRunStateMachine";

/// What no audit of executions can see, as sentences.
pub(super) const NOT_COVERED: [&str; 6] = [
    "Work that no workflow starts: tasks that a schedule or a service runs directly, and cron inside a container.",
    "Executions of Express state machines, and executions that closed more than 90 days ago.",
    "Runs that started before the window, even if they were still running in it.",
    "What started a run: ListExecutions returns no input. So a start by hand or by a caller looks like the start of a tick, and counts as one.",
    "Locks of your own: executions that wait for such a lock overlap here, although the work that it guards does not.",
    "Other Regions and other accounts.",
];

impl Report {
    /// Computes the figures from all that was read.
    pub(super) fn of(found: Found) -> Self {
        let window = found.window;
        let mut machines: Vec<Audited> = found
            .machines
            .into_iter()
            .map(|(machine, runs)| {
                let mine = found.schedules.iter().filter(|s| s.machine == machine.arn);
                let schedules = mine.cloned().collect();
                audited(machine, runs, schedules, window.since, window.until)
            })
            .collect();
        machines.sort_by(|one, other| {
            let rank = |of: &Audited| (of.is_exclusive_run, std::cmp::Reverse(of.overlaps.runs));
            let by_overlaps = rank(one).cmp(&rank(other));
            by_overlaps.then_with(|| one.name.cmp(&other.name))
        });
        Self {
            region: window.region,
            since: time(window.since),
            until: time(window.until),
            window: (window.since, window.until),
            requests: found.requests,
            state_machines: machines,
            not_seen: found.not_seen,
            denied: found.denied,
            cannot_see: NOT_COVERED,
        }
    }

    /// Returns the state machines that the report describes: those whose runs overlapped, or whose ticks had
    /// no start.
    pub(super) fn notable(&self) -> impl Iterator<Item = &Audited> {
        let all = self.state_machines.iter();
        all.filter(|machine| machine.has_overlaps() || machine.ticks.missed > 0)
    }

    /// Returns the state machines whose runs overlapped, without exclusive-run.
    pub(super) fn overlapping(&self) -> impl Iterator<Item = &Audited> {
        let all = self.state_machines.iter();
        all.filter(|machine| machine.has_overlaps())
    }
}

impl Audited {
    /// Returns whether its runs overlapped. exclusive-run does not count, because its runs overlap while they
    /// wait.
    pub(super) fn has_overlaps(&self) -> bool {
        self.overlaps.runs > 0 && !self.is_exclusive_run
    }
}

fn audited(
    machine: Machine,
    runs: Vec<Run>,
    schedules: Vec<Schedule>,
    since: u64,
    until: u64,
) -> Audited {
    let runs = within(runs, since, until);
    let spans = spans(&runs, until);
    let overlaps = overlaps(&spans);
    let replay = replay(&spans);
    let intervals: Vec<_> = schedules.iter().map(|s| s.interval(since, until)).collect();
    let is_exclusive_run = machine.name.contains(EXCLUSIVE_RUN);
    let live = schedules.iter().zip(&intervals);
    let live = live.filter(|(schedule, _)| schedule.is_live(until));
    let ticking: Vec<Interval> = live.filter_map(|(_, interval)| *interval).collect();
    let starts: Vec<u64> = spans.iter().map(|span| span.start).collect();
    let ticks = ticks(&schedules, &starts, since, until);
    let succeeded = lengths_of(&runs, &spans, |run| run.status == Status::Succeeded);
    let suggestions = suggest(&Figures {
        overlaps: &overlaps,
        doubled: doubled(&overlaps, &spans),
        queue: replay.queue,
        succeeded: &succeeded,
        intervals: &ticking,
    });
    Audited {
        name: machine.name,
        arn: machine.arn,
        is_exclusive_run,
        runs: runs.len(),
        endings: endings(&runs),
        durations: durations(&lengths_of(&runs, &spans, |_| true)),
        schedules: schedules
            .iter()
            .zip(&intervals)
            .map(|(schedule, interval)| scheduled(schedule, *interval, until))
            .collect(),
        ticks: ticking_of(&ticks),
        overlaps: overlapping(&runs, &overlaps),
        double_starts: doubles(&spans),
        replay: replayed(replay),
        suggestions: if is_exclusive_run {
            Vec::new()
        } else {
            suggestions
        },
        drawn: Drawn {
            runs,
            spans,
            schedules,
        },
    }
}

fn endings(runs: &[Run]) -> Endings {
    let mut endings = Endings::default();
    for run in runs {
        let count = match run.status {
            Status::Succeeded => &mut endings.succeeded,
            Status::Failed => &mut endings.failed,
            Status::TimedOut => &mut endings.timed_out,
            Status::Aborted => &mut endings.aborted,
            Status::Running => &mut endings.running,
            Status::Other => &mut endings.other,
        };
        *count += 1;
    }
    endings
}

/// Returns the durations of the runs for which `wanted` returns true, sorted.
fn lengths_of(runs: &[Run], spans: &[Span], wanted: impl Fn(&Run) -> bool) -> Vec<u64> {
    let wanted = runs.iter().zip(spans).filter(|(run, _)| wanted(run));
    let mut lengths: Vec<u64> = wanted.map(|(_, span)| span.length()).collect();
    lengths.sort_unstable();
    lengths
}

fn durations(lengths: &[u64]) -> Option<Durations> {
    let at = |percent| percentile(lengths, percent).map(seconds);
    Some(Durations {
        median_seconds: at(50)?,
        p95_seconds: at(95)?,
        p99_seconds: at(99)?,
        longest_seconds: at(100)?,
    })
}

fn scheduled(schedule: &Schedule, interval: Option<Interval>, until: u64) -> Scheduled {
    Scheduled {
        name: schedule.name.clone(),
        source: schedule.source,
        expression: schedule.expression.clone(),
        timezone: schedule.timezone.clone(),
        enabled: schedule.enabled,
        ticks: schedule.is_live(until),
        interval_seconds: interval.map(|interval| seconds(interval.shortest)),
    }
}

fn ticking_of(ticks: &Ticks) -> Ticking {
    let latest = ticks.missed.iter().rev().take(MISSED);
    let missed = latest.map(|(at, of)| MissedTick {
        at: time(*at),
        count: of.count,
        schedules: of.schedules.clone(),
    });
    Ticking {
        count: ticks.count,
        late: ticks.late,
        missed: ticks.missed.values().map(|of| of.count).sum(),
        latest_missed: missed.collect(),
    }
}

fn overlapping(runs: &[Run], overlaps: &Overlaps) -> Overlapping {
    let example = |&(run, met): &(usize, usize)| Example {
        run: runs[run].name.clone(),
        started: time(runs[run].start),
        ran: runs[met].name.clone(),
    };
    Overlapping {
        runs: overlaps.pairs.len(),
        seconds: seconds(overlaps.millis),
        most_at_once: overlaps.most,
        examples: overlaps.pairs.iter().take(EXAMPLES).map(example).collect(),
    }
}

fn replayed(replay: Replay) -> Replayed {
    Replayed {
        skip: Skip {
            skipped: replay.skipped,
        },
        queue: Queued {
            waited: replay.queue.waited,
            longest_wait_seconds: seconds(replay.queue.longest_wait),
            longest_queue: replay.queue.longest,
            grows: replay.queue.grows,
        },
        replace: Replace {
            stopped: replay.stopped,
        },
    }
}

/// Converts milliseconds to seconds. The result is exact for 285,000 years.
pub(super) fn seconds(millis: u64) -> f64 {
    millis as f64 / 1_000.0
}

/// Formats a time as RFC 3339 in UTC.
pub(super) fn time(millis: u64) -> String {
    rfc3339(Timestamp::from_millis(millis))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::found::{Denied, NotSeen, Window};
    use super::*;

    /// Returns the report of state machines that are given by their name, the number of their runs, which
    /// start 1.1 s apart, and the length of each run in milliseconds.
    pub(in crate::audit) fn account(machines: &[(&str, u64, u64)]) -> Report {
        let machine = |&(name, count, length): &(&str, u64, u64)| {
            let run = |n: u64| Run {
                name: format!("run-{n}"),
                start: n * 1_100,
                stop: Some(n * 1_100 + length),
                status: Status::Succeeded,
            };
            let machine = Machine {
                arn: format!("arn:{name}"),
                name: name.into(),
                is_express: false,
            };
            (machine, (0..count).map(run).collect())
        };
        let (denied, name) = (Vec::<Denied>::new(), "quick".to_owned());
        Report::of(Found {
            window: Window {
                region: "eu-west-1".into(),
                since: 0,
                until: 10_000_000,
            },
            machines: machines.iter().map(machine).collect(),
            not_seen: vec![NotSeen {
                arn: format!("arn:{name}"),
                name,
                reason: "Express".into(),
            }],
            schedules: Vec::new(),
            denied,
            requests: 7,
        })
    }

    #[test]
    fn state_machines_with_the_most_overlaps_come_first() {
        let report = account(&[
            ("calm", 30, 100),
            ("busy", 30, 1_500),
            ("stack-ExclusiveRunStateMachine-x", 40, 1_500),
            ("busier", 40, 1_500),
        ]);

        let names = report.state_machines.iter().map(|of| of.name.as_str());
        let names: Vec<_> = names.collect();
        assert_eq!(
            names,
            ["busier", "busy", "calm", "stack-ExclusiveRunStateMachine-x"]
        );
        assert_eq!(report.overlapping().count(), 2);
        assert!(report.state_machines[3].suggestions.is_empty());
    }

    #[test]
    fn the_json_has_the_fields_of_the_page() {
        let report = account(&[("busy", 30, 1_500)]);

        let json = serde_json::to_value(&report).unwrap();

        let page = include_str!("../../../docs/audit.md");
        let (_, fields) = page.split_once("## Fields").unwrap();
        let documented = |name: &str| {
            let forms = [
                format!("`{name}`"),
                format!(".{name}`"),
                format!("`{name}."),
            ];
            forms.iter().any(|form| fields.contains(form))
        };
        let mut missing = fields_of(&json);
        missing.retain(|(name, _)| !documented(name));
        assert!(missing.is_empty(), "not on the page: {missing:?}");
        let machine = &json["stateMachines"][0];
        assert_eq!(machine["overlaps"]["runs"], 29);
        assert_eq!(machine["overlaps"]["examples"][0]["ran"], "run-0");
        assert_eq!(machine["durations"]["medianSeconds"], 1.5);
    }

    /// Returns the names of all fields, at any depth, with their values.
    fn fields_of(json: &serde_json::Value) -> Vec<(String, &serde_json::Value)> {
        match json {
            serde_json::Value::Object(fields) => fields
                .iter()
                .flat_map(|(name, value)| {
                    let mut found = fields_of(value);
                    found.push((name.clone(), value));
                    found
                })
                .collect(),
            serde_json::Value::Array(items) => items.iter().flat_map(fields_of).collect(),
            _ => Vec::new(),
        }
    }
}
