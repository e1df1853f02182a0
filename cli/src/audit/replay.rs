//! Computes what a lock with one permit would have done with past runs.
//!
//! A replay uses the recorded starts and durations. It assumes that a run that waits takes as long when it
//! begins later, and that a run that is replaced stops at once.

use super::run::Span;

/// Least number of runs that show whether a queue grows.
const TREND_RUNS_MIN: usize = 12;

/// What each overlap policy would have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replay {
    /// Under `skip`: runs that would have been skipped.
    pub(super) skipped: usize,
    /// Under `queue`: the waits.
    pub(super) queue: Queue,
    /// Under `replace`: runs that would have been stopped for the next run.
    pub(super) stopped: usize,
}

/// What `queue` would have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Queue {
    /// Runs that would have waited.
    pub(super) waited: usize,
    /// The longest wait, in milliseconds.
    pub(super) longest_wait: u64,
    /// Largest number of runs that would have waited at the same time.
    pub(super) longest: usize,
    /// Whether the queue would have kept growing: the mean wait grew from each third of the runs to the next,
    /// and each run of the last third waited.
    pub(super) grows: bool,
}

/// Replays `spans`, which are sorted by their start.
pub(super) fn replay(spans: &[Span]) -> Replay {
    Replay {
        skipped: skipped(spans),
        queue: queue(spans),
        stopped: stopped(spans),
    }
}

fn skipped(spans: &[Span]) -> usize {
    let mut free_from = 0;
    let mut skipped = 0;
    for span in spans {
        if span.start < free_from {
            skipped += 1;
        } else {
            free_from = span.end;
        }
    }
    skipped
}

fn queue(spans: &[Span]) -> Queue {
    let mut free_from = 0;
    // The times at which the runs begin never decrease, so the runs that are still waiting are at the end of
    // the list.
    let mut begins: Vec<u64> = Vec::with_capacity(spans.len());
    let mut waits: Vec<u64> = Vec::with_capacity(spans.len());
    let mut longest = 0;
    for span in spans {
        let begin = free_from.max(span.start);
        free_from = begin + span.length();
        begins.push(begin);
        waits.push(begin - span.start);
        let begun = begins.partition_point(|begin| *begin <= span.start);
        longest = longest.max(begins.len() - begun);
    }
    Queue {
        waited: waits.iter().filter(|wait| **wait > 0).count(),
        longest_wait: waits.iter().copied().max().unwrap_or(0),
        longest,
        grows: grows(&waits),
    }
}

/// Returns whether each run of the last third waited, and the mean wait grew from each third of the runs to
/// the next.
fn grows(waits: &[u64]) -> bool {
    if waits.len() < TREND_RUNS_MIN {
        return false;
    }
    let third = waits.len() / 3;
    let (first, rest) = waits.split_at(third);
    let (second, last) = rest.split_at(third);
    let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len() as u64;
    last.iter().all(|wait| *wait > 0) && mean(first) < mean(second) && mean(second) < mean(last)
}

fn stopped(spans: &[Span]) -> usize {
    let runs_on = |pair: &&[Span]| pair[0].end > pair[1].start;
    spans.windows(2).filter(runs_on).count()
}

#[cfg(test)]
mod tests {
    use super::super::overlap::tests::{drawn, spans_of};
    use super::*;
    use std::collections::VecDeque;

    /// Simulates a lock with one permit, millisecond by millisecond. A run with a duration of 0 ms passes
    /// through a free lock.
    fn played(spans: &[Span]) -> (usize, usize, u64, usize) {
        let (mut skipped, mut skip_until) = (0, 0);
        let mut waiting = VecDeque::<usize>::new();
        let (mut waited, mut longest_wait, mut longest, mut busy_until) = (0, 0, 0, 0);
        let mut next = 0;
        let mut at = 0;
        while next < spans.len() || !waiting.is_empty() {
            // A permit that becomes free goes to a waiting run before it goes to a run that starts now.
            while let Some(&first) = waiting.front()
                && busy_until <= at
            {
                waiting.pop_front();
                longest_wait = longest_wait.max(at - spans[first].start);
                busy_until = at + spans[first].length();
            }
            while next < spans.len() && spans[next].start == at {
                if skip_until <= at {
                    skip_until = spans[next].end;
                } else {
                    skipped += 1;
                }
                if busy_until <= at && waiting.is_empty() {
                    busy_until = spans[next].end;
                } else {
                    waiting.push_back(next);
                    waited += 1;
                    longest = longest.max(waiting.len());
                }
                next += 1;
            }
            at += 1;
        }
        (skipped, waited, longest_wait, longest)
    }

    #[test]
    fn a_replay_equals_a_simulation_by_the_millisecond() {
        for seed in 0..2_000 {
            let spans = drawn(seed);

            let Replay { skipped, queue, .. } = replay(&spans);

            let found = (skipped, queue.waited, queue.longest_wait, queue.longest);
            assert_eq!(found, played(&spans), "seed {seed}: {spans:?}");
        }
    }

    #[test]
    fn replace_stops_each_run_that_still_runs_at_the_next_start() {
        let spans = spans_of(&[(0, 25), (10, 12), (20, 40), (30, 31), (31, 32)]);

        // The first and the third run are stopped. The second and the fourth have ended when the next run
        // starts.
        assert_eq!(replay(&spans).stopped, 2);
    }

    #[test]
    fn a_queue_grows_only_where_runs_outlast_their_interval() {
        let every = |interval: u64, length: u64| -> Vec<Span> {
            let pair = |n: u64| (n * interval, n * interval + length);
            spans_of(&(0..60).map(pair).collect::<Vec<_>>())
        };
        let mut burst = every(100, 40);
        burst.extend(spans_of(&[(6_000, 6_300); 12]));

        assert!(replay(&every(100, 130)).queue.grows);
        assert!(!replay(&every(100, 100)).queue.grows);
        assert!(!replay(&burst).queue.grows, "it is empty before the burst");
        assert!(!replay(&every(100, 130)[..5]).queue.grows, "too few");
    }
}
