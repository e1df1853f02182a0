//! One line of the chart, in cells and colours.

use super::CHART;
use crate::timeline::Millis;
use crate::timeline::layout::{Kind, Scale};
use std::fmt::Write as _;

/// Colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
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

    pub(super) const fn of(kind: Kind) -> (char, Self) {
        match kind {
            Kind::Succeeded => ('●', Self::Work),
            Kind::Failed => ('✗', Self::Bad),
            Kind::Skipped => ('○', Self::Skip),
            Kind::Duplicate => ('◇', Self::Skip),
        }
    }
}

/// One line of the chart.
pub(super) struct Line {
    pub(super) cells: [(char, Paint); CHART],
    scale: Scale,
}

impl Line {
    pub(super) fn new(scale: Scale) -> Self {
        Self {
            cells: [(' ', Paint::Plain); CHART],
            scale,
        }
    }

    pub(super) fn column(&self, moment: Millis) -> usize {
        (self.scale.at(moment) as usize).min(CHART - 1)
    }

    pub(super) fn bar(&mut self, (from, to): (Millis, Millis), cell: (char, Paint)) {
        let columns = self.column(from)..=self.column(to);
        self.cells[columns].fill(cell);
    }

    pub(super) fn mark(&mut self, moment: Millis, cell: (char, Paint)) {
        self.cells[self.column(moment)] = cell;
    }

    /// Writes `words` right of what is drawn, or left of it where there is no room.
    pub(super) fn beside(&mut self, words: &str, paint: Paint) {
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

    pub(super) fn render(&self, colour: bool) -> String {
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
