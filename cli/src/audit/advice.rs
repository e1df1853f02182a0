//! Suggests options of a lock from the runs of a state machine.

use super::overlap::Overlaps;
use super::replay::Queue;
use super::schedule::Interval;
use lockstep::contract::{LockOptions, Range};
use serde::Serialize;
use serde_json::{Value, json};

/// Least number of succeeded runs for the suggestion of a time. With fewer, the longest run says little about
/// the next.
const SUCCEEDED_RUNS_MIN: usize = 20;

/// A value for an option of a lock, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Suggestion {
    /// The name of the option.
    pub(super) option: &'static str,
    pub(super) value: Value,
    pub(super) reason: String,
}

/// The figures that the suggestions follow from. Lengths are in milliseconds.
#[derive(Debug)]
pub(super) struct Figures<'a> {
    pub(super) overlaps: &'a Overlaps,
    /// Number of overlaps between runs that started within a second of each other.
    pub(super) doubled: usize,
    pub(super) queue: Queue,
    /// The durations of the runs that succeeded, sorted.
    pub(super) succeeded: &'a [u64],
    /// The intervals of the schedules that tick at present.
    pub(super) intervals: &'a [Interval],
}

/// Suggests options. An option is left out if there are too few runs, or if the runs show no need for it.
pub(super) fn suggest(figures: &Figures<'_>) -> Vec<Suggestion> {
    let mut found = policy(figures);
    found.extend(time_limit(figures.succeeded));
    found.extend(expectation(figures));
    found
}

fn policy(figures: &Figures<'_>) -> Vec<Suggestion> {
    let Figures {
        overlaps, queue, ..
    } = figures;
    let met = overlaps.pairs.len();
    if met == 0 {
        return Vec::new();
    }
    let overlap = |word: &str, reason: String| Suggestion {
        option: "overlap",
        value: json!(word),
        reason,
    };
    let skip = |reason: String| vec![overlap("skip", reason)];
    if figures.doubled >= met {
        return skip(format!(
            "{met} starts met another run that had started within a second: deliveries of one tick"
        ));
    }
    if queue.grows {
        return skip(
            "runs take longer than the time between their starts, so a queue would grow".into(),
        );
    }
    if !figures.intervals.is_empty() {
        return skip(format!(
            "{met} starts met another run, and the schedule starts the next one anyway"
        ));
    }
    // Twice the longest queue that was needed, which leaves room for a worse day.
    let bound = (2 * queue.longest).min(LockOptions::MAX_QUEUE.most as usize);
    vec![
        overlap(
            "queue",
            "no schedule starts it, so each start may be work of its own, and a queue would have emptied".into(),
        ),
        Suggestion {
            option: "maxQueue",
            value: json!(bound.max(1)),
            reason: format!("twice the longest queue of the replay, {}", queue.longest),
        },
    ]
}

/// Suggests `maxRunSeconds`: twice the 99th percentile of the runs that succeeded, and at least 1.25 times
/// the longest.
fn time_limit(succeeded: &[u64]) -> Option<Suggestion> {
    if succeeded.len() < SUCCEEDED_RUNS_MIN {
        return None;
    }
    let p99 = super::run::percentile(succeeded, 99)?;
    let longest = *succeeded.last()?;
    let millis = (2 * p99).max(longest + longest / 4);
    Some(Suggestion {
        option: "maxRunSeconds",
        value: json!(rounded(millis, LockOptions::MAX_RUN)),
        reason:
            "above twice the 99th percentile and 1.25 times the longest of the runs that succeeded"
                .into(),
    })
}

/// Suggests `expectEverySeconds`: the longest time between two ticks plus the longest run that succeeded.
/// This is the longest time from one success to the next if each tick has a success.
fn expectation(figures: &Figures<'_>) -> Option<Suggestion> {
    let longest = *figures.succeeded.last()?;
    if figures.succeeded.len() < SUCCEEDED_RUNS_MIN {
        return None;
    }
    let gap = figures.intervals.iter().map(|of| of.longest).min()?;
    Some(Suggestion {
        option: "expectEverySeconds",
        value: json!(rounded(gap + longest, LockOptions::EXPECT_EVERY)),
        reason: "above the longest time between two ticks of the schedule and the longest run that succeeded".into(),
    })
}

/// Rounds milliseconds up, and returns seconds: whole seconds below a minute, whole minutes below 30 minutes,
/// multiples of five minutes below a day, and whole hours from a day on. The result is in the range of the
/// option.
fn rounded(millis: u64, range: Range) -> u64 {
    let seconds = millis.div_ceil(1_000);
    let unit = match seconds {
        0..=59 => 1,
        60..=1_799 => 60,
        1_800..=86_399 => 300,
        _ => 3_600,
    };
    let rounded = seconds.div_ceil(unit) * unit;
    rounded.clamp(range.least.into(), range.most.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    /// Returns the suggestions for 30 runs of a minute, of which four met another run, after `change` of
    /// their figures.
    fn suggested(change: impl FnOnce(&mut Figures<'_>)) -> Vec<(&'static str, Value)> {
        let overlaps = Overlaps {
            pairs: vec![(1, 0), (2, 1), (3, 1), (9, 8)],
            millis: 9,
            most: 2,
        };
        let mut figures = Figures {
            overlaps: &overlaps,
            doubled: 1,
            queue: Queue {
                waited: 5,
                longest_wait: MINUTE,
                longest: 3,
                grows: false,
            },
            succeeded: &[MINUTE; 30],
            intervals: &[],
        };
        change(&mut figures);
        let found = suggest(&figures).into_iter();
        found.map(|found| (found.option, found.value)).collect()
    }

    #[test]
    fn the_policy_follows_from_what_starts_the_runs() {
        static HOURLY: [Interval; 1] = [Interval {
            shortest: 60 * MINUTE,
            longest: 60 * MINUTE,
        }];
        static NONE: Overlaps = Overlaps {
            pairs: Vec::new(),
            millis: 0,
            most: 1,
        };
        let limit = ("maxRunSeconds", json!(120));

        let called = suggested(|_| {});
        let growing = suggested(|figures| figures.queue.grows = true);
        let doubled = suggested(|figures| figures.doubled = 4);
        let scheduled = suggested(|figures| figures.intervals = &HOURLY);
        let alone = suggested(|figures| figures.overlaps = &NONE);

        let queue = ("overlap", json!("queue"));
        assert_eq!(called, [queue, ("maxQueue", json!(6)), limit.clone()]);
        let skip = ("overlap", json!("skip"));
        assert_eq!(growing, [skip.clone(), limit.clone()]);
        assert_eq!(doubled, [skip.clone(), limit.clone()]);
        let expected = ("expectEverySeconds", json!(3_900));
        assert_eq!(scheduled, [skip, limit.clone(), expected]);
        assert_eq!(alone, [limit]);
    }

    #[test]
    fn nothing_is_suggested_from_a_few_runs() {
        let found = suggested(|figures| figures.succeeded = &[MINUTE; 19]);

        assert!(found.iter().all(|(option, _)| *option != "maxRunSeconds"));
    }

    #[test]
    fn a_limit_leaves_room_above_the_longest_run() {
        let one_long = [vec![10_000; 199], vec![40_000]].concat();
        let many_long = [vec![10_000; 150], vec![29_000; 50]].concat();

        for (lengths, expected) in [(one_long, 50), (many_long, 58)] {
            let found = suggested(|figures| figures.succeeded = lengths.leak());

            let limit = ("maxRunSeconds", json!(expected));
            assert!(found.contains(&limit), "{found:?}");
        }
    }

    #[test]
    fn values_are_in_the_range_of_their_option() {
        let year = 365 * 86_400_000;
        for (millis, expected) in [
            (0, 60),
            (61_000, 120),
            (90_000_000, 90_000),
            (2 * year, 31_536_000),
        ] {
            assert_eq!(rounded(millis, LockOptions::EXPECT_EVERY), expected);
        }
        let found = suggested(|figures| figures.queue.longest = 400);
        assert!(found.contains(&("maxQueue", json!(500))), "{found:?}");
    }
}
