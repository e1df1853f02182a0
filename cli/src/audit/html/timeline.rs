//! Draws runs as bars. Horizontal positions are percentages, so that a drawing fits any screen while bars
//! keep their height.

use super::super::overlap::steps;
use super::super::report::{Audited, Drawn, time};
use super::super::run::{Run, Status};
use super::super::text::{counted, short};
use super::view::{Moment, moments, rows, shared, shares};
use crate::operate::screen::whole_seconds as whole_second;
use lockstep_operate::widget::html::Html;

/// Number of parts into which the strip divides the window.
const PARTS: usize = 120;
/// Height of the strip, in pixels.
const STRIP: usize = 18;
/// Height of a bar, in pixels.
const BAR: usize = 11;
/// Distance from a bar to the bar below it, in pixels.
const ROW: usize = 16;
/// Maximum number of ticks that are drawn in a moment.
const TICKS: usize = 200;

/// Draws the strip of a state machine, and its busiest moments.
pub(super) fn show(html: &mut Html, machine: &Audited, since: u64, until: u64) {
    let drawn = &machine.drawn;
    html.line("h3", &[], "When two or more were running");
    strip(html, drawn, since, until);
    let moments = moments(&drawn.spans, since, until);
    let shown = moments.len();
    for (index, moment) in moments.iter().enumerate() {
        let title = match shown {
            1 => "The busiest time".to_owned(),
            _ => format!("Busy time {} of {shown} shown", index + 1),
        };
        html.line("h3", &[], &title);
        runs(html, drawn, moment);
        if moment.left_out > 0 {
            let more = counted(moment.left_out, "more run");
            html.line(
                "p",
                &[("class", "dim")],
                &format!("{more} of this busy time not drawn."),
            );
        }
    }
}

fn strip(html: &mut Html, drawn: &Drawn, since: u64, until: u64) {
    let steps = steps(&drawn.spans);
    let height = STRIP.to_string();
    svg(html, "strip", &height, |html| {
        for (part, share) in shares(&steps, since, until, PARTS).into_iter().enumerate() {
            if share > 0 {
                let x = percent(part as u64, PARTS as u64);
                let width = percent(1, PARTS as u64);
                // The least opacity keeps a part with a short overlap visible.
                let opacity = format!("{:.2}", (share.min(100) as f64 / 100.0).max(0.3));
                let attributes = [
                    ("class", "shared"),
                    ("x", x.as_str()),
                    ("width", &width),
                    ("height", &height),
                    ("fill-opacity", &opacity),
                ];
                html.element("rect", &attributes, |_| ());
            }
        }
    });
    axis(html, since, until);
}

fn runs(html: &mut Html, drawn: &Drawn, moment: &Moment) {
    let spans = &drawn.spans[moment.runs.clone()];
    let rows = rows(spans);
    let height = (rows.iter().max().unwrap_or(&0) + 1) * ROW + ROW - BAR;
    let height = height.to_string();
    let (from, whole) = (moment.from, moment.to - moment.from);
    let place = |time: u64| percent(time.clamp(from, moment.to) - from, whole);
    svg(html, "moment", &height, |html| {
        for (begin, end) in shared(&steps(spans), from, moment.to) {
            let (x, width) = (place(begin), percent(end - begin, whole));
            let attributes = [
                ("class", "shared"),
                ("x", x.as_str()),
                ("width", &width),
                ("height", &height),
            ];
            html.element("rect", &attributes, |_| ());
        }
        for tick in ticks(drawn, moment) {
            let x = place(tick);
            let attributes = [
                ("class", "tick"),
                ("x1", x.as_str()),
                ("x2", &x),
                ("y1", "0"),
                ("y2", &height),
            ];
            html.element("line", &attributes, |_| ());
        }
        for ((span, run), row) in spans
            .iter()
            .zip(&drawn.runs[moment.runs.clone()])
            .zip(&rows)
        {
            let x = place(span.start);
            let shown = span.end.min(moment.to) - span.start.clamp(from, moment.to);
            let (width, y) = (percent(shown, whole), (ROW - BAR + row * ROW).to_string());
            let (class, tall) = (format!("bar {}", class(run.status)), BAR.to_string());
            let attributes = [
                ("class", class.as_str()),
                ("x", &x),
                ("width", &width),
                ("y", &y),
                ("height", &tall),
            ];
            html.element("rect", &attributes, |html| {
                html.line("title", &[], &title(run))
            });
        }
    });
    axis(html, moment.from, moment.to);
}

fn svg(html: &mut Html, class: &str, height: &str, content: impl FnOnce(&mut Html)) {
    let attributes = [("class", class), ("height", height), ("role", "img")];
    html.element("svg", &attributes, content);
}

/// Shows the times at both ends of a drawing, and the length of time between them.
fn axis(html: &mut Html, from: u64, to: u64) {
    let end = |millis| whole_second(&time(millis));
    html.element("div", &[("class", "axis")], |html| {
        html.line("span", &[], &end(from));
        html.line("span", &[], &length(to - from));
        html.line("span", &[], &end(to));
    });
}

fn length(millis: u64) -> String {
    short(super::super::report::seconds(millis))
}

/// Returns the ticks of the enabled schedules in a moment, at most [`TICKS`].
fn ticks(drawn: &Drawn, moment: &Moment) -> Vec<u64> {
    let enabled = drawn.schedules.iter().filter(|schedule| schedule.enabled);
    let ticks = enabled.flat_map(|of| of.ticks(moment.from, moment.to, TICKS));
    ticks.take(TICKS).collect()
}

/// Returns the class of a bar in the style.
fn class(status: Status) -> &'static str {
    match status {
        Status::Succeeded => "succeeded",
        Status::Failed | Status::TimedOut | Status::Aborted => "failed",
        Status::Running | Status::Other => "running",
    }
}

fn title(run: &Run) -> String {
    let end = run.stop.map_or("now".into(), time);
    let status = class(run.status);
    format!("{}: {} to {end}, {status}", run.name, time(run.start))
}

fn percent(part: u64, whole: u64) -> String {
    let (part, whole) = (part as f64, whole.max(1) as f64);
    format!("{:.3}%", 100.0 * part / whole)
}
