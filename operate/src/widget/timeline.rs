//! The timeline of a lock. Each run is a bar, each act is a vertical line, and the right edge is the present.
//!
//! The drawing uses only `rect` and `path`, in units that `preserveAspectRatio="none"` stretches to the width
//! of the widget.

use super::html::Html;
use super::text::time;
use crate::contract::{HistoryEntry, HolderView};
use lockstep::contract::parse_time;
use lockstep_core::domain::{Timestamp, rfc3339};

/// Width of the drawing, in its own units.
const WIDTH: u64 = 1000;

/// Height of a bar.
const BAR: u64 = 16;
/// Distance between two bars.
const GAP: u64 = 4;

/// Least width of a bar, so that a short run is visible.
const LEAST: u64 = 3;

/// Maximum number of rows. If more runs than this overlap, the others share the last row.
const ROWS_MAX: usize = 8;

/// A run: its time, and its class in the style.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    from: Timestamp,
    to: Timestamp,
    class: &'static str,
}

/// A run in the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bar {
    x: u64,
    width: u64,
    row: usize,
    class: &'static str,
}

pub(super) fn show(html: &mut Html, last: &[HistoryEntry], holders: &[HolderView], now: Timestamp) {
    let (runs, acts) = times(last, holders, now);
    let times = runs.iter().map(|run| run.from).chain(acts.iter().copied());
    let Some(begin) = times.min() else { return };
    let bars = layout(&runs, begin, now);
    let rows = bars.iter().map(|bar| bar.row as u64 + 1).max().unwrap_or(1);
    let height = rows * (BAR + GAP) + GAP;
    let (view, tall) = (format!("0 0 {WIDTH} {height}"), height.to_string());
    html.line("h3", &[], "Timeline");
    let attributes = [
        ("viewBox", view.as_str()),
        ("height", &tall),
        ("preserveAspectRatio", "none"),
    ];
    html.element("svg", &attributes, |html| {
        rectangle(html, "ground", [0, 0, WIDTH, height]);
        for bar in &bars {
            let y = GAP + bar.row as u64 * (BAR + GAP);
            rectangle(html, bar.class, [bar.x, y, bar.width, BAR]);
        }
        for act in &acts {
            let line = format!("M{} 0V{height}", place(*act, begin, now));
            html.element("path", &[("class", "paused"), ("d", &line)], |_| ());
        }
    });
    html.element("table", &[("class", "axis")], |html| {
        html.element("tr", &[], |html| {
            html.line("td", &[], &time(&rfc3339(begin)));
            html.line("td", &[], &format!("{} UTC, now", time(&rfc3339(now))));
        });
    });
    legend(html, &bars, !acts.is_empty());
}

/// Explains the colours that the drawing contains.
fn legend(html: &mut Html, bars: &[Bar], acts: bool) {
    let mut classes: Vec<_> = bars.iter().map(|bar| bar.class).collect();
    classes.sort_unstable();
    classes.dedup();
    html.element("p", &[("class", "legend")], |html| {
        for class in classes {
            html.line("span", &[("class", class)], &format!("\u{25a0} {class}"));
        }
        if acts {
            html.line("span", &[("class", "paused")], "| act");
        }
    });
}

fn rectangle(html: &mut Html, class: &str, sides: [u64; 4]) {
    let [x, y, width, height] = sides.map(|side| side.to_string());
    let attributes = [
        ("class", class),
        ("x", &x),
        ("y", &y),
        ("width", &width),
        ("height", &height),
    ];
    html.element("rect", &attributes, |_| ());
}

/// Returns the runs that have ended and the runs that hold the lock, and the times of the acts.
fn times(
    last: &[HistoryEntry],
    holders: &[HolderView],
    now: Timestamp,
) -> (Vec<Run>, Vec<Timestamp>) {
    let read = |text: &str| parse_time("time", text).ok();
    let (mut runs, mut acts) = (Vec::new(), Vec::new());
    for entry in last {
        match entry {
            HistoryEntry::Run {
                since, at, outcome, ..
            } => {
                if let (Some(from), Some(to)) = (read(since), read(at)) {
                    let class = outcome;
                    runs.push(Run { from, to, class });
                }
            }
            HistoryEntry::Act { at, .. } => acts.extend(read(at)),
            // A start without a permit took no time.
            HistoryEntry::NotStarted { .. } => {}
        }
    }
    for holder in holders {
        if let Some(from) = read(&holder.since) {
            let (to, class) = (now, "held");
            runs.push(Run { from, to, class });
        }
    }
    (runs, acts)
}

/// Places each run into the first row that is free at its start, so that the runs of a row do not overlap.
/// Runs that find no free row share the last one.
fn layout(runs: &[Run], begin: Timestamp, now: Timestamp) -> Vec<Bar> {
    let mut runs: Vec<_> = runs.iter().collect();
    runs.sort_by_key(|run| run.from);
    let mut ends: Vec<Timestamp> = Vec::new();
    let mut bars = Vec::new();
    for run in runs {
        let free = ends.iter().position(|end| *end <= run.from);
        let row = free.unwrap_or(ends.len()).min(ROWS_MAX - 1);
        match ends.get_mut(row) {
            Some(end) => *end = run.to.max(*end),
            None => ends.push(run.to),
        }
        let width = place(run.to, begin, now).saturating_sub(place(run.from, begin, now));
        let width = width.max(LEAST);
        bars.push(Bar {
            x: place(run.from, begin, now).min(WIDTH - width),
            width,
            row,
            class: run.class,
        });
    }
    bars
}

/// Returns the horizontal position of a time in the drawing.
fn place(time: Timestamp, begin: Timestamp, now: Timestamp) -> u64 {
    let whole = now.millis_since(begin).max(1);
    let millis = u128::from(time.millis_since(begin).min(whole)) * u128::from(WIDTH);
    u64::try_from(millis / u128::from(whole)).unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(from: u64, to: u64) -> Run {
        Run {
            from: Timestamp::from_millis(from),
            to: Timestamp::from_millis(to),
            class: "succeeded",
        }
    }

    #[test]
    fn runs_that_overlap_are_in_rows_and_short_ones_show() {
        let times = [(500, 1500), (0, 1000), (1000, 1000), (2000, 2000)];
        let runs = times.map(|(from, to)| run(from, to));
        let [begin, now] = [0, 2000].map(Timestamp::from_millis);

        let bars = layout(&runs, begin, now);

        let places: Vec<_> = bars.iter().map(|bar| (bar.x, bar.width, bar.row)).collect();
        let expected = [(0, 500, 0), (250, 500, 1), (500, 3, 0), (997, 3, 0)];
        assert_eq!(places, expected);
    }

    #[test]
    fn many_runs_at_once_share_the_last_row() {
        let runs: Vec<_> = (0..20).map(|_| run(0, 10)).collect();

        let bars = layout(&runs, Timestamp::default(), Timestamp::from_millis(10));

        assert_eq!(bars.iter().map(|bar| bar.row).max(), Some(ROWS_MAX - 1));
    }

    #[test]
    fn bars_stay_inside_the_drawing_if_the_clock_is_behind() {
        let late = Timestamp::from_millis(50);

        let bars = layout(&[run(60, 90)], Timestamp::from_millis(60), late);

        let fits = bars.iter().all(|bar| bar.x + bar.width <= WIDTH);
        assert!(fits, "{bars:?}");
    }
}
