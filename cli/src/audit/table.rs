//! The report for people, in at most 120 columns.

use super::report::{Audited, Report, Scheduled};
use super::text::{counted, fitted, short};
use crate::operate::screen::{Screen, whole_seconds as whole_second};
use crate::operate::table::{plain, table};

/// Columns of a name in the table, and of a line of text.
const NAME: usize = 36;
const LINE: usize = 118;
/// Column at which the text of a line begins, after its label.
const INDENT: usize = 14;

pub(super) const HEADS: [&str; 10] = [
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
];

/// The report as text.
pub(super) fn text(report: &Report) -> String {
    let mut text = format!("{}\n\n", heading(report).join("\n"));
    let rows: Vec<_> = report.state_machines.iter().map(row).collect();
    text.push_str(&table(
        &Screen::new(false),
        HEADS,
        &plain(rows),
        "no Standard state machine whose executions could be listed",
    ));
    for machine in report.overlapping() {
        text.push_str(&detail(machine));
    }
    let not_seen = report.not_seen.iter();
    let not_seen = not_seen.map(|of| format!("{}: {}", of.name, of.reason));
    section(&mut text, "Not seen", not_seen);
    let denied = report.denied.iter();
    let denied = denied.map(|of| {
        format!(
            "{} is denied, so the report lacks {}: {}",
            of.action, of.lacks, of.error
        )
    });
    section(&mut text, "Denied", denied);
    section(
        &mut text,
        "No audit sees",
        report.cannot_see.iter().map(|&line| line.to_owned()),
    );
    text
}

/// How many state machines and runs the report has.
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

pub(super) fn row(machine: &Audited) -> [String; 10] {
    let lengths = machine.durations;
    let length = |of: fn(&super::report::Durations) -> f64| {
        lengths
            .as_ref()
            .map_or("-".into(), |lengths| short(of(lengths)))
    };
    let endings = machine.endings;
    let unsuccessful = endings.failed + endings.timed_out + endings.aborted;
    let enabled = machine.schedules.iter().filter(|of| of.enabled);
    let intervals = enabled.filter_map(|of| of.interval_seconds);
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
    ]
}

/// A name as a cell: cut, and without control characters, which a terminal would obey.
fn shown(name: &str) -> String {
    fitted(name, NAME).replace(char::is_control, "\u{FFFD}")
}

fn detail(machine: &Audited) -> String {
    let mut text = format!(
        "\n{}\n",
        fitted(&machine.name, LINE).replace(char::is_control, "\u{FFFD}")
    );
    for (label, line) in lines(machine) {
        push(&mut text, label, &line);
    }
    text
}

/// What is said of a state machine with overlaps, each with its label.
pub(super) fn lines(machine: &Audited) -> Vec<(&'static str, String)> {
    let overlaps = &machine.overlaps;
    let replay = machine.replay;
    let queue = replay.queue;
    let mut lines = vec![(
        "overlaps",
        format!(
            "{} of {} started while another ran, {} in all, {} at once; {} within a second of another",
            overlaps.runs,
            counted(machine.runs, "run"),
            short(overlaps.seconds),
            overlaps.most_at_once,
            counted(machine.double_starts, "start"),
        ),
    )];
    lines.extend(
        machine
            .schedules
            .iter()
            .map(|of| ("schedule", schedule(of))),
    );
    let growth = if queue.grows {
        "; it would have kept growing"
    } else {
        ""
    };
    lines.extend([
        (
            "with skip",
            format!("{} skipped", counted(replay.skip.skipped, "run")),
        ),
        (
            "with queue",
            format!(
                "{} waiting, the longest {}, at most {} in the queue{growth}",
                counted(queue.waited, "run"),
                short(queue.longest_wait_seconds),
                queue.longest_queue,
            ),
        ),
        (
            "with replace",
            format!("{} stopped", counted(replay.replace.stopped, "run")),
        ),
    ]);
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

/// A schedule with its expression and interval.
pub(super) fn schedule(of: &Scheduled) -> String {
    let expression = of.expression.as_deref().unwrap_or("an event pattern");
    let zone = of.timezone.as_deref().filter(|zone| *zone != "UTC");
    let zone = zone.map_or(String::new(), |zone| format!(" {zone}"));
    let interval = of
        .interval_seconds
        .map(|every| format!(", every {}", short(every)));
    let disabled = if of.enabled { "" } else { ", disabled" };
    format!(
        "{}: {expression}{zone}{}{disabled}",
        of.name,
        interval.unwrap_or_default()
    )
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        text.push_str(&format!("\n{title}\n"));
    }
    for line in lines {
        push(text, "-", &line);
    }
}

/// Appends a line with its label, wrapped at words. A word that is longer than a line is cut.
fn push(text: &mut String, label: &str, line: &str) {
    let indent = if label == "-" { 4 } else { INDENT + 2 };
    let mut out = format!("  {label}");
    out.push_str(&" ".repeat(indent - out.len()));
    let mut column = indent;
    for word in line.split_whitespace() {
        let word = fitted(word, LINE - indent).replace(char::is_control, "\u{FFFD}");
        let width = word
            .chars()
            .map(|c| if c.is_ascii() { 1 } else { 2 })
            .sum::<usize>();
        if column > indent && column + 1 + width > LINE {
            out.push_str(&format!("\n{}", " ".repeat(indent)));
            column = indent;
        }
        if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += width;
    }
    text.push_str(&out);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::account;
    use super::*;

    #[test]
    fn no_line_is_wider_than_120_columns() {
        let (wide, long) = ("夜".repeat(80), "nightly-".repeat(10));
        let report = account(&[(&wide, 90_000, 900_000), (&long, 3, 500)]);

        let text = text(&report);

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
    fn a_name_moves_no_cursor() {
        let report = account(&[("etl\u{1b}[2J", 20, 1_500)]);

        assert!(!text(&report).contains('\u{1b}'));
    }

    #[test]
    fn a_state_machine_with_overlaps_is_described() {
        let text = text(&account(&[("etl", 30, 1_500), ("calm", 3, 10)]));

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
