//! The timeline in a terminal of 100 columns.

use super::{Millis, Scene, Timeline};
use crate::timeline::layout::{Kind, Row, Scale};
use std::fmt::Write as _;

/// The columns of a whole line.
const COLUMNS: usize = 100;
/// The columns of the names on the left.
const NAMES: usize = 7;
const CHART: usize = COLUMNS - NAMES;

const LEGEND: &str = "━ container works   ─ lock held   ░ waits in the queue   ┿ renewal   \
                      ● succeeded   ✗ failed\n       ○ skipped   ◇ duplicate   ▽ evicted   \
                      † killed   ▼ SIGTERM   ▲ recovered";

/// Draws the timeline. Without `colour` the text has no escape sequences.
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
        let stopped = container.end.unwrap_or(timeline.end());
        lane.bar((container.start, stopped), ('━', Paint::Work));
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
    if let Some(waited) = row.waited {
        line.bar(waited, ('░', Paint::Skip));
    }
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
    let ended = line.column(row.ended);
    line.mark(row.ended, (end, paint));
    // What happens right before or after the end has to be visible beside it.
    let before = |at: Millis| line.column(at).min(ended.saturating_sub(1));
    let after = |at: Millis, least: usize| line.column(at).max(ended + least).min(CHART - 1);
    // The container of an execution that is killed from outside gets its signal after the end.
    let sigterm = row.sigterm.map(|at| match row.killed {
        Some(_) => after(at, 1),
        None => before(at),
    });
    let marks = [
        (row.killed.map(before), '†'),
        (sigterm, '▼'),
        (row.recovered.map(|at| after(at, 2)), '▲'),
    ];
    for (column, mark) in marks {
        if let Some(column) = column {
            line.cells[column] = (mark, Paint::Bad);
        }
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

/// The colours of a terminal.
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

    /// Writes `words` right of what is drawn, or left of it if there is no space.
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
    fn a_killed_run_shows_its_recovery_and_the_next_ones_their_waiting() {
        let text = render(&sample(), false);

        for mark in ['†', '✗', '▼', '▲'] {
            assert_eq!(line(&text, "g1").matches(mark).count(), 1, "{mark}: {text}");
        }
        for waiter in ["g2", "g3"] {
            assert!(line(&text, waiter).contains('░'), "{text}");
        }
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
