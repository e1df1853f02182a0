//! The report as one HTML page, which has no script and loads nothing.
//!
//! All text goes through [`Html`], which escapes it. The size of the page is bounded: the table has at most
//! [`ROWS`] rows, and at most [`MACHINES`] state machines have timelines, each with its busiest moments and
//! at most 40 runs per moment.

mod style;
mod timeline;
mod view;

use super::report::{Audited, Report};
use super::table::{HEADS, heading, lines, missed_ticks, row};
use lockstep_operate::widget::html::Html;

/// Maximum number of state machines in the table.
const ROWS: usize = 1_000;
/// Maximum number of state machines with timelines.
const MACHINES: usize = 25;

/// Returns the page.
pub(super) fn page(report: &Report) -> String {
    let mut html = Html::default();
    html.style(style::PAGE);
    html.line("h1", &[], "Which state machines ran twice at once");
    html.line("p", &[], &heading(report).join("; "));
    overview(&mut html, report);
    let overlapping = report.overlapping().count();
    if overlapping > 0 {
        legend(&mut html);
    }
    let missed = report.notable().filter(|machine| machine.ticks.missed > 0);
    let missed =
        missed.map(|machine| format!("{}: {}", machine.name, missed_ticks(&machine.ticks)));
    list(&mut html, "Ticks without a start", missed.take(ROWS));
    for (index, machine) in report.overlapping().take(MACHINES).enumerate() {
        detail(&mut html, report, machine, &anchor(index));
    }
    if overlapping > MACHINES {
        let text = format!(
            "Timelines are shown for the {MACHINES} state machines with the most overlaps; {} more are only in the table.",
            overlapping - MACHINES
        );
        html.line("p", &[("class", "dim")], &text);
    }
    let not_seen = report.not_seen.iter();
    let not_seen = not_seen.map(|of| format!("{}: {}", of.name, of.reason));
    list(&mut html, "Not seen", not_seen.take(ROWS));
    let denied = report.denied.iter();
    let denied =
        denied.map(|of| format!("{} is denied, so the report lacks {}.", of.action, of.lacks));
    list(&mut html, "Denied", denied);
    list(
        &mut html,
        "What no audit sees",
        report.cannot_see.iter().map(|&line| line.to_owned()),
    );
    let head = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
        <title>lockstep audit</title></head><body>";
    format!("{head}{}</body></html>\n", html.finish())
}

fn anchor(index: usize) -> String {
    format!("machine-{index}")
}

fn overview(html: &mut Html, report: &Report) {
    html.element("div", &[("class", "scroll")], |html| {
        html.element("table", &[], |html| {
            lockstep_operate::widget::html::headings(html, &HEADS);
            for (index, machine) in report.state_machines.iter().take(ROWS).enumerate() {
                html.element("tr", &[], |html| table_row(html, machine, index));
            }
        });
    });
    if report.state_machines.len() > ROWS {
        let text = format!(
            "{} more are not listed.",
            report.state_machines.len() - ROWS
        );
        html.line("p", &[("class", "dim")], &text);
    }
}

/// Shows a state machine as a row, whose name links to its timelines if it has any. The state machines with
/// overlaps come first, in the order of their timelines.
fn table_row(html: &mut Html, machine: &Audited, index: usize) {
    let has_timeline = machine.overlaps.runs > 0 && !machine.is_exclusive_run && index < MACHINES;
    let [_, cells @ ..] = row(machine);
    html.element("td", &[], |html| {
        if has_timeline {
            let link = format!("#{}", anchor(index));
            html.line("a", &[("href", &link)], &machine.name);
        } else {
            html.text(&machine.name);
        }
    });
    for (head, cell) in HEADS[1..].iter().zip(&cells) {
        let is_hot = has_timeline && *head == "OVERLAPS";
        let class = if is_hot { "hot" } else { "cell" };
        html.line("td", &[("class", class)], cell);
    }
}

fn detail(html: &mut Html, report: &Report, machine: &Audited, anchor: &str) {
    html.line("h2", &[("id", anchor)], &machine.name);
    html.element("dl", &[], |html| {
        for (label, line) in lines(machine) {
            html.line("dt", &[], label);
            html.line("dd", &[], &line);
        }
    });
    timeline::show(html, machine, report.window.0, report.window.1);
}

/// Explains the colours.
fn legend(html: &mut Html) {
    html.element("p", &[("class", "legend")], |html| {
        for (class, text) in [
            ("succeeded", "succeeded"),
            ("failed", "failed, timed out or aborted"),
            ("running", "still running"),
            ("shared", "two or more running"),
        ] {
            html.element("span", &[], |html| {
                let size = [("class", class), ("width", "14"), ("height", "14")];
                html.element("svg", &[("aria-hidden", "true")], |html| {
                    html.element("rect", &size, |_| ());
                });
                html.text(text);
            });
        }
        html.line("span", &[], "┊ tick of a cron schedule");
    });
}

fn list(html: &mut Html, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    html.line("h2", &[], title);
    html.element("ul", &[], |html| {
        for line in lines {
            html.line("li", &[], &line);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::account;
    use super::*;

    #[test]
    fn a_page_has_no_markup_of_others_and_loads_nothing() {
        let hostile = r#"<script>alert(1)</script>" onload=x <img src=http://x>"#;
        let page = page(&account(&[(hostile, 20, 1_500)]));

        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=x"));
        for absent in ["<script", "<img", "<link", "<iframe", "@import", "url("] {
            assert!(!page.contains(absent), "{absent}");
        }
    }

    #[test]
    fn a_page_stays_small_and_says_what_it_leaves_out() {
        let names: Vec<_> = (0..30).map(|n| format!("machine-{n}")).collect();
        let machines: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), 3_000, 1_500))
            .collect();

        let page = page(&account(&machines));

        assert!(page.len() < 3_000_000, "{} bytes", page.len());
        assert_eq!(page.matches("<h2 id=").count(), MACHINES);
        assert!(page.contains("5 more are only in the table"));
        assert!(page.contains("2960 more runs of this busy time not drawn"));
    }

    #[test]
    fn a_page_without_overlaps_has_no_timeline() {
        let page = page(&account(&[("calm", 20, 900)]));

        assert!(
            page.contains("1 state machine of eu-west-1: 0 with overlaps")
                && !page.contains("<svg"),
            "{page}"
        );
    }
}
