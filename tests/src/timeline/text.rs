//! The timeline in a terminal of 100 columns.

use super::layout::{Kind, Row, Scale};
use super::{Millis, Scene, Timeline};
use std::fmt::Write as _;

/// Columns of a whole line.
const COLUMNS: usize = 100;
/// Columns of the names on the left.
const NAMES: usize = 7;
const CHART: usize = COLUMNS - NAMES;

const LEGEND: &str = "━ container works   ─ lock held   ┿ renewal   ● succeeded   ✗ failed   \
                      ▽ evicted   ▼ SIGTERM\n       ○ skipped   ◇ duplicate";

/// Colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    Plain,
    Dim,
    Work,
    Beat,
    Skip,
    Bad,
}

impl Paint {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Dim => "2",
            Self::Work => "32",
            Self::Beat => "36",
            Self::Skip => "33",
            Self::Bad => "31",
        }
    }

    const fn of(kind: Kind) -> (char, Self) {
        match kind {
            Kind::Succeeded => ('●', Self::Work),
            Kind::Failed => ('✗', Self::Bad),
            Kind::Skipped => ('○', Self::Skip),
            Kind::Duplicate => ('◇', Self::Skip),
        }
    }
}

/// One line of the chart.
struct Line {
    cells: [(char, Paint); CHART],
    scale: Scale,
}

impl Line {
    fn new(scale: Scale) -> Self {
        Self {
            cells: [(' ', Paint::Plain); CHART],
            scale,
        }
    }

    fn column(&self, moment: Millis) -> usize {
        (self.scale.at(moment) as usize).min(CHART - 1)
    }

    fn bar(&mut self, (from, to): (Millis, Millis), cell: (char, Paint)) {
        let columns = self.column(from)..=self.column(to);
        self.cells[columns].fill(cell);
    }

    fn mark(&mut self, moment: Millis, cell: (char, Paint)) {
        self.cells[self.column(moment)] = cell;
    }

    /// Writes `words` right of what is drawn, or left of it where there is no room.
    fn beside(&mut self, words: &str, paint: Paint) {
        let drawn = |(cell, _): &(char, Paint)| *cell != ' ';
        let first = self.cells.iter().position(drawn).unwrap_or(0);
        let last = self.cells.iter().rposition(drawn).unwrap_or(0);
        let right = CHART.saturating_sub(last + 2);
        let (at, room) = if words.chars().count() <= right || right >= first {
            (last + 2, right)
        } else {
            let room = first.saturating_sub(1);
            (room.saturating_sub(words.chars().count()), room)
        };
        for (cell, letter) in self.cells[at..].iter_mut().zip(words.chars().take(room)) {
            *cell = (letter, paint);
        }
    }

    fn render(&self, colour: bool) -> String {
        let mut text = String::new();
        let mut current = Paint::Plain;
        for (letter, paint) in self.cells {
            if colour && paint != current && letter != ' ' {
                let _ = write!(text, "\x1b[0;{}m", paint.code());
                current = paint;
            }
            text.push(letter);
        }
        let mut text = text.trim_end().to_owned();
        if current != Paint::Plain {
            text.push_str("\x1b[0m");
        }
        text
    }
}

/// Draws the timeline. Without `colour` there is no escape sequence in it.
#[must_use]
pub fn render(timeline: &Timeline, colour: bool) -> String {
    let scale = Scale::new(timeline, (CHART - 1) as f64);
    let mut text = String::new();
    let mut put = |name: &str, line: &str| {
        let joined = format!("  {name:<width$}{line}", width = NAMES - 2);
        text.push_str(joined.trim_end());
        text.push('\n');
    };
    put("", &axis(scale).render(colour));
    for scene in Scene::ALL {
        put(&format!("{}  {}", scene.letter(), scene.title()), "");
        for execution in timeline.of_scene(scene) {
            let line = row(&Row::of(timeline, execution), scale);
            put(&execution.name, &line.render(colour));
        }
    }
    put("what the containers themselves recorded", "");
    let mut lane = Line::new(scale);
    for container in &timeline.containers {
        let stopped = container.stopped().unwrap_or(timeline.end());
        lane.bar((container.started, stopped), ('━', Paint::Work));
    }
    put("", &lane.render(colour));
    put("", "");
    put("", LEGEND);
    text
}

fn axis(scale: Scale) -> Line {
    let mut line = Line::new(scale);
    for (second, place) in scale.marks() {
        let words = format!("{second} s");
        let at = place as usize;
        if at + words.len() <= CHART {
            for (cell, letter) in line.cells[at..].iter_mut().zip(words.chars()) {
                *cell = (letter, Paint::Dim);
            }
        }
    }
    line
}

fn row(row: &Row, scale: Scale) -> Line {
    let mut line = Line::new(scale);
    let (end, paint) = Paint::of(row.kind);
    if let Some(held) = row.held {
        line.bar(held, ('─', Paint::Dim));
    }
    if let Some(worked) = row.worked {
        line.bar(worked, ('━', paint));
    }
    for (at, _) in &row.renewals {
        line.mark(*at, ('┿', Paint::Beat));
    }
    if let Some(at) = row.evicted {
        line.mark(at, ('▽', Paint::Bad));
    }
    line.mark(row.ended, (end, paint));
    if let Some(at) = row.sigterm {
        // The execution ends right after the signal: both are to be seen.
        let column = line.column(at);
        let column = column.min(line.column(row.ended).saturating_sub(1));
        line.cells[column] = ('▼', Paint::Bad);
    }
    line.beside(
        &row.note,
        if row.held.is_some() {
            Paint::Plain
        } else {
            paint
        },
    );
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::sample::sample;

    fn line<'a>(text: &'a str, name: &str) -> &'a str {
        let start = format!("  {name} ");
        let mut lines = text.lines().filter(|line| line.starts_with(&start));
        lines.next().expect("a line of that name")
    }

    #[test]
    fn every_line_fits_and_each_execution_has_one_with_its_reason() {
        let timeline = sample();
        let text = render(&timeline, false);

        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS));
        for execution in &timeline.executions {
            let note = Row::of(&timeline, execution).note;
            assert!(line(&text, &execution.name).contains(&note), "{text}");
        }
    }

    #[test]
    fn a_run_shows_its_renewals_and_an_evicted_one_its_sigterm() {
        let text = render(&sample(), false);

        assert_eq!(line(&text, "a2").matches('┿').count(), 2);
        assert!(line(&text, "a2").contains('●'));
        assert!(line(&text, "f1").contains('▼'));
        assert!(line(&text, "f1").contains('✗'));
        assert!(!line(&text, "a1").contains('━'));
    }

    #[test]
    fn colour_only_paints() {
        let (plain, painted) = (render(&sample(), false), render(&sample(), true));

        assert!(!plain.contains('\x1b'));
        let codes = ["0;0", "0;2", "0;32", "0;36", "0;33", "0;31", "0"];
        let bare = codes.iter().fold(painted, |text, code| {
            text.replace(&format!("\x1b[{code}m"), "")
        });
        assert_eq!(bare, plain);
    }
}
