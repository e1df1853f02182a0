//! Selects what the page shows of a state machine: the whole window as a strip, and its busiest moments run
//! by run.

use super::super::overlap::{Step, overlaps, steps};
use super::super::run::Span;
use std::cmp::Reverse;
use std::ops::Range;

/// Maximum number of moments of a state machine.
const MOMENTS: usize = 3;
/// Maximum number of runs in a moment.
pub(super) const RUNS: usize = 40;
/// Maximum number of rows of bars. Further runs are drawn in the last row.
const ROWS: usize = 12;

/// A time in which runs overlapped, with a margin on both sides.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The end of the runs that are drawn, without the margin.
    end: u64,
    /// The indexes of its runs.
    pub(super) runs: Range<usize>,
    /// Number of runs of the same busy time that are not shown.
    pub(super) left_out: usize,
}

/// Returns the busiest moments of `spans`, which are sorted by their start, in the order of time.
///
/// The margin of a moment does not reach before `since` or after `until`, unless the runs of the moment do.
pub(super) fn moments(spans: &[Span], since: u64, until: u64) -> Vec<Moment> {
    let mut busy: Vec<_> = clusters(spans)
        .into_iter()
        .map(|cluster| (overlaps(&spans[cluster.clone()]), cluster))
        .filter(|(found, _)| !found.pairs.is_empty())
        .collect();
    busy.sort_by_key(|(found, cluster)| {
        (Reverse((found.millis, found.pairs.len())), cluster.start)
    });
    busy.truncate(MOMENTS);
    busy.sort_by_key(|(_, cluster)| cluster.start);
    let moment = |(_, cluster)| {
        let moment = moment(spans, cluster);
        Moment {
            from: moment.from.max(since.min(spans[moment.runs.start].start)),
            to: moment.to.min(until.max(moment.end)),
            ..moment
        }
    };
    busy.into_iter().map(moment).collect()
}

/// Divides `spans` into groups with no gap inside a group: at each time between its first start and its last
/// end, at least one run is running.
fn clusters(spans: &[Span]) -> Vec<Range<usize>> {
    let (mut found, mut begin, mut end) = (Vec::new(), 0, 0);
    for (index, span) in spans.iter().enumerate() {
        if index > begin && span.start >= end {
            found.push(begin..index);
            begin = index;
        }
        end = end.max(span.end);
    }
    if begin < spans.len() {
        found.push(begin..spans.len());
    }
    found
}

/// Returns a moment with at most [`RUNS`] runs of `cluster`, around the time with the most runs at once.
fn moment(spans: &[Span], cluster: Range<usize>) -> Moment {
    let count = cluster.len();
    let mut runs = cluster.clone();
    if count > RUNS {
        let steps = steps(&spans[cluster.clone()]);
        let peak = steps
            .iter()
            .max_by_key(|step| (step.running, Reverse(step.at)));
        let at = peak.map_or(0, |step| step.at);
        let middle = spans.partition_point(|span| span.start <= at);
        let begin = middle
            .saturating_sub(RUNS / 2)
            .clamp(cluster.start, cluster.end - RUNS);
        runs = begin..begin + RUNS;
    }
    let from = spans[runs.start].start;
    let ends = spans[runs.clone()].iter().map(|span| span.end);
    let to = match spans.get(runs.end) {
        // The next run is not shown, so the moment ends where that run starts.
        Some(next) if runs.end < cluster.end => next.start,
        _ => ends.max().unwrap_or(from),
    };
    let to = to.max(from + 1);
    let margin = ((to - from) / 5).max(500);
    Moment {
        from: from.saturating_sub(margin),
        to: to + margin,
        end: to,
        left_out: count - runs.len(),
        runs,
    }
}

/// Returns the row of each of `spans`: the first row that is free at its start, so that the runs of a row do
/// not overlap. Runs that find no free row share the last one.
pub(super) fn rows(spans: &[Span]) -> Vec<usize> {
    let mut ends: Vec<u64> = Vec::new();
    let row = |span: &Span| {
        let free = ends.iter().position(|end| *end <= span.start);
        let row = free.unwrap_or(ends.len()).min(ROWS - 1);
        match ends.get_mut(row) {
            Some(end) => *end = span.end.max(*end),
            None => ends.push(span.end),
        }
        row
    };
    spans.iter().map(row).collect()
}

/// Returns the times from `from` to `to` in which two or more runs were running.
pub(super) fn shared(steps: &[Step], from: u64, to: u64) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for pair in steps.windows(2).filter(|pair| pair[0].running > 1) {
        let (begin, end) = (pair[0].at.max(from), pair[1].at.min(to));
        match found.last_mut() {
            _ if begin >= end => {}
            Some(last) if last.1 == begin => last.1 = end,
            _ => found.push((begin, end)),
        }
    }
    found
}

/// Divides the time from `from` to `to` into `count` equal parts, and returns for each part the percentage of
/// its time in which two or more runs were running, rounded up.
pub(super) fn shares(steps: &[Step], from: u64, to: u64, count: usize) -> Vec<u64> {
    let parts = count as u64;
    let whole = (to - from).max(parts);
    let edge = |part: u64| from + whole * part / parts;
    let mut taken = vec![0; count];
    for (begin, end) in shared(steps, from, to) {
        let first = (begin - from) * parts / whole;
        let parts = (first..parts).take_while(|part| edge(*part) < end);
        for (part, taken) in parts.zip(&mut taken[first as usize..]) {
            *taken += end
                .min(edge(part + 1))
                .saturating_sub(begin.max(edge(part)));
        }
    }
    let length = whole.div_ceil(parts);
    taken
        .iter()
        .map(|taken| (taken * 100).div_ceil(length))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::overlap::tests::{drawn, spans_of};
    use super::*;

    #[test]
    fn the_busiest_moments_are_shown_in_the_order_of_time() {
        // Five times with overlaps of 10, 40, 20, 5 and 30 ms, and one without.
        let mut pairs = vec![(900_000, 900_500)];
        for (n, length) in [10, 40, 20, 5, 30].into_iter().enumerate() {
            let at = n as u64 * 100_000;
            pairs.extend([(at, at + 1_000), (at + 1_000 - length, at + 2_000)]);
        }

        let moments = moments(&spans_of(&pairs), 0, 10_000_000);

        let runs: Vec<_> = moments.iter().map(|moment| moment.runs.clone()).collect();
        assert_eq!(runs, [2..4, 4..6, 8..10]);
        assert_eq!((moments[0].from, moments[0].to), (99_500, 102_500));
    }

    #[test]
    fn a_moment_keeps_to_the_window() {
        let spans = spans_of(&[(1_000, 90_000), (2_000, 95_000)]);

        let moments = moments(&spans, 900, 96_000);

        let [moment] = &moments[..] else {
            panic!("{moments:?}")
        };
        assert_eq!((moment.from, moment.to), (900, 96_000));
    }

    #[test]
    fn a_long_busy_time_is_cut_around_its_peak() {
        let mut pairs: Vec<(u64, u64)> = (0..1_000).map(|n| (n * 10, n * 10 + 15)).collect();
        pairs.extend([(7_001, 7_020); 3]);

        let moments = moments(&spans_of(&pairs), 0, 10_000_000);

        let [moment] = &moments[..] else {
            panic!("{moments:?}")
        };
        assert_eq!((moment.runs.len(), moment.left_out), (RUNS, 963));
        assert!((moment.from..moment.to).contains(&7_001), "{moment:?}");
    }

    #[test]
    fn no_two_runs_of_a_row_overlap() {
        for seed in 0..500 {
            let spans = drawn(seed);

            let rows = rows(&spans);

            for (one, row) in rows.iter().enumerate() {
                for other in (0..one).filter(|other| rows[*other] == *row) {
                    let free = spans[other].end <= spans[one].start;
                    assert!(free || *row == ROWS - 1, "seed {seed}: {spans:?}");
                }
            }
        }
    }

    #[test]
    fn shares_add_up_to_the_time_of_the_overlaps() {
        for seed in 0..500 {
            let spans = drawn(seed);

            let shares = shares(&steps(&spans), 0, 100, 100);

            // Each part is one millisecond, in which the runs overlap all the time or never.
            assert!(
                shares.iter().all(|share| [0, 100].contains(share)),
                "{shares:?}"
            );
            let millis = shares.iter().sum::<u64>() / 100;
            assert_eq!(millis, overlaps(&spans).millis, "seed {seed}: {spans:?}");
        }
        let long = steps(&spans_of(&[(0, 1_000), (250, 1_000)]));
        assert_eq!(shares(&long, 0, 1_000, 4), [0, 100, 100, 100]);
        assert_eq!(shares(&long, 0, 2_000, 2), [75, 0]);
    }
}
