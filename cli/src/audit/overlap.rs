//! Measures how the runs of one state machine overlapped.
//!
//! Two runs do not overlap if one ends in the millisecond in which the other begins.

use super::run::Span;

/// Starts at most this far apart count as a double delivery, in milliseconds.
pub(super) const DOUBLE_DELIVERY_MS: u64 = 1_000;

/// The overlaps of the runs of one state machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Overlaps {
    /// Runs that started while another run was running, each with the run that it met, by their indexes.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Time in which two or more runs were running, in milliseconds.
    pub(super) millis: u64,
    /// Largest number of runs at the same time.
    pub(super) most: usize,
}

/// A change in the number of runs: from `at` until the next step, `running` runs were running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) at: u64,
    pub(super) running: usize,
}

/// Measures the overlaps of `spans`, which are sorted by their start.
pub(super) fn overlaps(spans: &[Span]) -> Overlaps {
    let steps = steps(spans);
    let between = steps.windows(2);
    let shared = between.filter(|pair| pair[0].running > 1);
    Overlaps {
        pairs: pairs(spans),
        millis: shared.map(|pair| pair[1].at - pair[0].at).sum(),
        most: steps.iter().map(|step| step.running).max().unwrap_or(0),
    }
}

/// Returns each run that started while another run was running, with that other run. If a start meets any
/// earlier run, it meets the one of them that ends last, so only that one is compared.
fn pairs(spans: &[Span]) -> Vec<(usize, usize)> {
    let mut last: Option<usize> = None;
    let mut found = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        if let Some(last) = last
            && spans[last].end > span.start
        {
            found.push((index, last));
        }
        if last.is_none_or(|last| spans[last].end < span.end) {
            last = Some(index);
        }
    }
    found
}

/// Returns the number of runs that were running, as steps over time. In the last step no run is running.
pub(super) fn steps(spans: &[Span]) -> Vec<Step> {
    let lasting = spans.iter().filter(|span| span.length() > 0);
    let (mut starts, mut ends): (Vec<_>, Vec<_>) =
        lasting.map(|span| (span.start, span.end)).unzip();
    starts.sort_unstable();
    ends.sort_unstable();
    let mut steps: Vec<Step> = Vec::new();
    let (mut begun, mut ended) = (0, 0);
    while ended < ends.len() {
        let next = starts.get(begun).copied().unwrap_or(u64::MAX);
        let at = next.min(ends[ended]);
        begun += starts[begun..].partition_point(|start| *start <= at);
        ended += ends[ended..].partition_point(|end| *end <= at);
        steps.push(Step {
            at,
            running: begun - ended,
        });
    }
    steps
}

/// Counts the pairs of runs that overlapped and started within a second.
pub(super) fn doubled(overlaps: &Overlaps, spans: &[Span]) -> usize {
    let together =
        |(run, met): &&(usize, usize)| spans[*run].start - spans[*met].start <= DOUBLE_DELIVERY_MS;
    overlaps.pairs.iter().filter(together).count()
}

/// Counts the starts that followed the start before within a second.
pub(super) fn doubles(spans: &[Span]) -> usize {
    let together = |pair: &&[Span]| pair[1].start - pair[0].start <= DOUBLE_DELIVERY_MS;
    spans.windows(2).filter(together).count()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::audit) fn spans_of(pairs: &[(u64, u64)]) -> Vec<Span> {
        let mut pairs = pairs.to_vec();
        pairs.sort_unstable_by_key(|(start, _)| *start);
        let span = |(start, end)| Span { start, end };
        pairs.into_iter().map(span).collect()
    }

    /// Draws random runs from `seed`. Some of them last 0 ms, and some start together.
    pub(in crate::audit) fn drawn(seed: u64) -> Vec<Span> {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(0..12);
        let pair = |_| {
            let start = random.u64(0..60);
            (start, start + random.u64(0..20))
        };
        let pairs: Vec<_> = (0..count).map(pair).collect();
        spans_of(&pairs)
    }

    /// Computes the figures by counting, for each millisecond, the runs that are running.
    fn counted(spans: &[Span]) -> (usize, u64, usize) {
        let running = |at: u64| {
            let runs = spans.iter().filter(|s| (s.start..s.end).contains(&at));
            runs.count()
        };
        let meets = |(index, span): &(usize, &Span)| {
            let mut before = spans[..*index].iter();
            before.any(|other| (other.start..other.end).contains(&span.start))
        };
        let shared = (0..100).filter(|at| running(*at) > 1).count();
        let most = (0..100).map(running).max().unwrap_or(0);
        let met = spans.iter().enumerate().filter(meets).count();
        (met, shared as u64, most)
    }

    #[test]
    fn overlaps_are_those_of_a_count_by_the_millisecond() {
        for seed in 0..2_000 {
            let spans = drawn(seed);

            let found = overlaps(&spans);

            let figures = (found.pairs.len(), found.millis, found.most);
            assert_eq!(figures, counted(&spans), "seed {seed}: {spans:?}");
        }
    }

    #[test]
    fn a_start_is_paired_with_a_run_that_it_met() {
        for seed in 0..2_000 {
            let spans = drawn(seed);

            for (index, met) in overlaps(&spans).pairs {
                let span = spans[met];
                let meets = (span.start..span.end).contains(&spans[index].start);
                assert!(met < index && meets, "seed {seed}: {spans:?}");
            }
        }
    }

    #[test]
    fn a_run_that_begins_as_another_ends_does_not_overlap() {
        let spans = spans_of(&[(0, 10), (10, 20), (20, 20)]);

        let expected = Overlaps {
            pairs: Vec::new(),
            millis: 0,
            most: 1,
        };
        assert_eq!(overlaps(&spans), expected);
    }

    #[test]
    fn starts_within_a_second_are_a_double_delivery() {
        for (gap, expected) in [(0, 1), (1_000, 1), (1_001, 0)] {
            let spans = spans_of(&[(5, 6), (5 + gap, 6 + gap), (900_000, 900_001)]);

            assert_eq!(doubles(&spans), expected, "{gap} ms");
        }
    }
}
