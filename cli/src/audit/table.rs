//! Formats the report for people, as wide as the terminal.

use super::report::{Audited, Replayed, Report, Scheduled, Ticking};
use super::text::{counted, fitted, short};
use crate::operate::screen::{Screen, whole_seconds as whole_second};
use crate::operate::table::{plain, table};
use lockstep::contract::is_hidden;

/// Width of a name in the table, in columns.
const NAME: usize = 36;
/// Width of a label, in columns.
const INDENT: usize = 14;
/// Maximum number of missed ticks that are named.
const NAMED: usize = 3;

pub(super) const HEADS: [&str; 11] = [
    "STATE MACHINE",
    "RUNS",
    "FAILED",
    "MEDIAN",
    "P95",
    "LONGEST",
    "EVERY",
    "OVERLAPS",
    "AT ONCE",
    "DOUBLE",
    "MISSED",
];

/// Returns the report as text.
pub(super) fn text(report: &Report, screen: &Screen) -> String {
    let mut text = format!("{}\n\n", heading(report).join("\n"));
    let rows: Vec<_> = report.state_machines.iter().map(row).collect();
    text.push_str(&table(
        screen,
        HEADS,
        &plain(rows),
        "no Standard state machine whose executions could be listed",
    ));
    for machine in report.notable() {
        text.push_str(&detail(screen, machine));
    }
    let not_seen = report.not_seen.iter();
    let not_seen = not_seen.map(|of| format!("{}: {}", of.name, of.reason));
    section(&mut text, screen, "Not seen", not_seen);
    let denied = report.denied.iter();
    let denied = denied.map(|of| {
        format!(
            "{} is denied, so the report lacks {}: {}",
            of.action, of.lacks, of.error
        )
    });
    section(&mut text, screen, "Denied", denied);
    section(
        &mut text,
        screen,
        "What no audit sees",
        report.cannot_see.iter().map(|&line| line.to_owned()),
    );
    text
}

/// Returns two lines with the number of state machines and of runs in the report.
pub(super) fn heading(report: &Report) -> [String; 2] {
    let runs = report.state_machines.iter().map(|of| of.runs).sum();
    let machines = counted(report.state_machines.len(), "state machine");
    let overlapping = report.overlapping().count();
    let (since, until) = (whole_second(&report.since), whole_second(&report.until));
    [
        format!(
            "{machines} of {}: {overlapping} with overlaps",
            report.region
        ),
        format!("{} from {since} to {until}", counted(runs, "run")),
    ]
}

pub(super) fn row(machine: &Audited) -> [String; 11] {
    let lengths = machine.durations;
    let length = |of: fn(&super::report::Durations) -> f64| {
        lengths
            .as_ref()
            .map_or("-".into(), |lengths| short(of(lengths)))
    };
    let endings = machine.endings;
    let unsuccessful = endings.failed + endings.timed_out + endings.aborted;
    let ticking = machine.schedules.iter().filter(|of| of.ticks);
    let intervals = ticking.filter_map(|of| of.interval_seconds);
    let every = intervals.min_by(f64::total_cmp);
    let overlaps = &machine.overlaps;
    [
        shown(&machine.name),
        machine.runs.to_string(),
        unsuccessful.to_string(),
        length(|of| of.median_seconds),
        length(|of| of.p95_seconds),
        length(|of| of.longest_seconds),
        every.map_or("-".into(), short),
        overlaps.runs.to_string(),
        overlaps.most_at_once.to_string(),
        machine.double_starts.to_string(),
        match machine.ticks.count {
            0 => "-".into(),
            _ => machine.ticks.missed.to_string(),
        },
    ]
}

/// Returns a name as the text of a cell, cut to [`NAME`] columns.
fn shown(name: &str) -> String {
    fitted(name, NAME).replace(is_hidden, "\u{FFFD}")
}

fn detail(screen: &Screen, machine: &Audited) -> String {
    let mut text = String::from("\n");
    push(&mut text, screen, "", &machine.name);
    for (label, line) in lines(machine) {
        push(&mut text, screen, &format!("  {label:<INDENT$}"), &line);
    }
    text
}

/// Returns the lines that describe a state machine, each with its label.
pub(super) fn lines(machine: &Audited) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if machine.has_overlaps() {
        lines.push(("overlaps", overlaps(machine)));
    }
    if machine.ticks.missed > 0 {
        lines.push(("missed", missed_ticks(&machine.ticks)));
    }
    lines.extend(
        machine
            .schedules
            .iter()
            .map(|of| ("schedule", schedule(of))),
    );
    if machine.has_overlaps() {
        lines.extend(replayed(machine.replay));
    }
    let suggestions = machine.suggestions.iter();
    lines.extend(suggestions.map(|of| {
        let value = of
            .value
            .as_str()
            .map_or(of.value.to_string(), str::to_owned);
        ("suggested", format!("{} {value}: {}", of.option, of.reason))
    }));
    lines
}

fn overlaps(machine: &Audited) -> String {
    let overlaps = &machine.overlaps;
    format!(
        "{} of {} started while another ran, {} in all, {} at once; {} within a second of another",
        overlaps.runs,
        counted(machine.runs, "run"),
        short(overlaps.seconds),
        overlaps.most_at_once,
        counted(machine.double_starts, "start"),
    )
}

/// Describes how many ticks had no start, and names the latest of them.
pub(super) fn missed_ticks(ticks: &Ticking) -> String {
    let latest = ticks.latest_missed.iter().take(NAMED).map(|tick| {
        let schedules = tick.schedules.join(" or ");
        format!("{} of {schedules}", whole_second(&tick.at))
    });
    let latest: Vec<_> = latest.collect();
    let late = match ticks.late {
        0 => String::new(),
        late => format!(", {late} had a late one"),
    };
    let more = match ticks.latest_missed.len() > NAMED {
        true => ", …",
        false => "",
    };
    format!(
        "{} of {} had no start{late}: {}{more}",
        ticks.missed,
        counted(ticks.count, "tick"),
        latest.join(", ")
    )
}

/// Describes what each overlap policy would have done.
fn replayed(replay: Replayed) -> [(&'static str, String); 3] {
    let Replayed {
        skip,
        queue,
        replace,
    } = replay;
    let growth = if queue.grows {
        "; it would have kept growing"
    } else {
        ""
    };
    let waited = format!(
        "{} waiting, the longest {}, at most {} in the queue{growth}",
        counted(queue.waited, "run"),
        short(queue.longest_wait_seconds),
        queue.longest_queue,
    );
    let run = |count| counted(count, "run");
    [
        ("with skip", format!("{} skipped", run(skip.skipped))),
        ("with queue", waited),
        ("with replace", format!("{} stopped", run(replace.stopped))),
    ]
}

/// Describes a schedule: its name, expression, time zone and interval, and whether it is disabled or does not
/// tick.
pub(super) fn schedule(of: &Scheduled) -> String {
    let expression = of.expression.as_deref().unwrap_or("an event pattern");
    let zone = of.timezone.as_deref().filter(|zone| *zone != "UTC");
    let zone = zone.map_or(String::new(), |zone| format!(" {zone}"));
    let interval = of
        .interval_seconds
        .map(|every| format!(", every {}", short(every)));
    let disabled = match (of.enabled, of.ticks) {
        (false, _) => ", disabled",
        (true, false) => ", has not begun or has ended",
        (true, true) => "",
    };
    format!(
        "{}: {expression}{zone}{}{disabled}",
        of.name,
        interval.unwrap_or_default()
    )
}

fn section(text: &mut String, screen: &Screen, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        text.push_str(&format!("\n{title}\n"));
    }
    for line in lines {
        push(text, screen, "  - ", &line);
    }
}

/// Appends a line after its `label`, wrapped.
fn push(text: &mut String, screen: &Screen, label: &str, line: &str) {
    let line = line.replace(is_hidden, "\u{FFFD}");
    text.push_str(&screen.labelled(label, &line));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::account;
    use super::*;

    fn screen() -> Screen {
        Screen::plain(Some(120), "2026-03-01T06:00:00Z")
    }

    #[test]
    fn no_line_is_wider_than_120_columns() {
        let (wide, long) = ("夜".repeat(80), "nightly-".repeat(10));
        let report = account(&[(&wide, 90_000, 900_000), (&long, 3, 500)]);

        let text = text(&report, &screen());

        let columns = |line: &str| {
            line.chars()
                .map(|c| if c.is_ascii() { 1 } else { 2 })
                .sum::<usize>()
        };
        for line in text.lines() {
            assert!(columns(line) <= 120, "{} columns: {line}", columns(line));
        }
    }

    #[test]
    fn a_name_in_the_report_has_no_control_character() {
        let report = account(&[("etl\u{1b}[2J\u{202e}", 20, 1_500)]);

        let text = text(&report, &screen());
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }

    #[test]
    fn a_state_machine_with_overlaps_is_described() {
        let text = text(&account(&[("etl", 30, 1_500), ("calm", 3, 10)]), &screen());

        for line in [
            "2 state machines of eu-west-1: 1 with overlaps",
            "33 runs from 1970-01-01T00:00:00Z to 1970-01-01T02:46:40Z",
            "  overlaps      29 of 30 runs started while another ran, 11s in all, 2 at once; 0 starts within a second of another",
            "  with skip     15 runs skipped",
            "  with queue    29 runs waiting, the longest 11s, at most 8 in the queue; it would have kept growing",
            "  with replace  29 runs stopped",
            "  - quick: Express",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(
            !text.contains("\ncalm\n"),
            "nothing is said of a calm one: {text}"
        );
    }
}
