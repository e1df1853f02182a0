//! From time to places.

use super::seconds;
use crate::timeline::{Millis, Timeline};

/// From time to places.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    start: Millis,
    length: Millis,
    width: f64,
}

impl Scale {
    /// Places from 0 to `width` for all of a timeline.
    pub fn new(timeline: &Timeline, width: f64) -> Self {
        let start = timeline.start();
        Self {
            start,
            length: timeline.end() - start,
            width,
        }
    }

    /// The place of a moment.
    pub fn at(&self, moment: Millis) -> f64 {
        let since = moment.saturating_sub(self.start).min(self.length);
        since as f64 / self.length as f64 * self.width
    }

    /// How long after the start a moment is.
    pub fn since(&self, moment: Millis) -> String {
        seconds(moment.saturating_sub(self.start))
    }

    /// Round seconds since the start, at most ten of them.
    pub fn marks(&self) -> impl Iterator<Item = (Millis, f64)> + '_ {
        let steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600];
        let fits = |step: &Millis| self.length / (step * 1000) < 10;
        let step = steps.into_iter().find(fits).unwrap_or(3600);
        let marks = (0..).map(move |index| index * step);
        marks
            .take_while(|second| second * 1000 <= self.length)
            .map(|second| (second, self.at(self.start + second * 1000)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::sample::{self, sample};

    #[test]
    fn marks_are_round_seconds_within_the_picture() {
        let timeline = sample();
        let scale = Scale::new(&timeline, 100.0);
        let marks: Vec<_> = scale.marks().collect();

        assert_eq!(marks[0], (0, 0.0));
        assert!(marks.len() > 3 && marks.len() <= 10);
        assert!(marks.iter().all(|(_, place)| *place <= 100.0));
    }

    #[test]
    fn moments_outside_the_picture_stay_at_its_border() {
        let timeline = sample();
        let scale = Scale::new(&timeline, 100.0);

        assert_eq!(scale.at(0), 0.0);
        assert_eq!(scale.at(sample::END + 999_999), 100.0);
    }
}
