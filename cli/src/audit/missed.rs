//! Finds the ticks of schedules after which no run started.
//!
//! ```text
//!  ticks   |02:00          |03:00          |04:00          |05:00
//!  starts    x                               x x             x
//!            of 02:00                        of 04:00, and late of 03:00
//! ```
//!
//! A start belongs to the latest tick before it. A further start after the same tick belongs to an earlier
//! tick that had no start, because both services deliver again for up to a day
//! (<https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html>,
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-retry-policy.html>).

use super::overlap::DOUBLE_DELIVERY_MS;
use super::schedule::{Schedule, rate};
use std::collections::BTreeMap;

/// Maximum number of ticks of a schedule that are examined: one each minute for 90 days.
const MOST_TICKS: usize = 129_600;

/// Longest time for which a tick is delivered again, in milliseconds: a day.
const LATE: u64 = 86_400_000;

/// Longest time from a tick to its start, beside the flexible time window, in milliseconds. EventBridge
/// Scheduler is accurate to a minute.
const DELIVERY: u64 = 120_000;

/// Shortest interval of a rate for which missed ticks are reported, in milliseconds: a start may be up to a
/// minute off.
const RATE_MIN: u64 = 300_000;

/// The ticks of a state machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ticks {
    /// Number of ticks.
    pub(super) count: usize,
    /// Number of ticks whose start came only after the next tick.
    pub(super) late: usize,
    /// The ticks without a start, by their times, with the schedules that ticked at that time. If only some
    /// of several ticks at one time had a start, it is not known which of them.
    pub(super) missed: BTreeMap<u64, Missed>,
}

/// Ticks at one time, of which some or all had no start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    /// Number of these ticks that had no start.
    pub(super) count: usize,
    /// The schedules that ticked at that time.
    pub(super) schedules: Vec<String>,
}

/// A tick, with the time before which its start has to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tick {
    at: u64,
    end: u64,
    /// Whether its start may still come.
    is_pending: bool,
}

/// Finds the start of each tick of `schedules` from `since` to `until`. `starts` are sorted.
pub(super) fn ticks(schedules: &[Schedule], starts: &[u64], since: u64, until: u64) -> Ticks {
    let enabled: Vec<&Schedule> = schedules.iter().filter(|of| of.enabled).collect();
    let mut expected = Vec::new();
    let mut named: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for schedule in &enabled {
        let begin = known_since(schedule, starts, since);
        let pending = until.saturating_sub(schedule.flexible + DELIVERY);
        let times = match schedule.expression.as_deref().and_then(rate) {
            // The ticks of a rate are counted from the start before. Beside another schedule, that start may
            // belong to the other one, so the ticks are not known.
            Some(every) if enabled.len() == 1 && every >= RATE_MIN => {
                paced(starts, every, begin, until)
            }
            Some(_) => Vec::new(),
            None => schedule.ticks(begin, until, MOST_TICKS),
        };
        for (index, at) in times.iter().copied().enumerate() {
            expected.push(Tick {
                at,
                end: times.get(index + 1).copied().unwrap_or(until + 1),
                is_pending: at > pending,
            });
            named.entry(at).or_default().push(schedule.name.clone());
        }
    }
    expected.sort_by_key(|tick| tick.at);
    let count = expected.iter().filter(|tick| !tick.is_pending).count();
    let (mut missed, spare) = matched(&expected, starts);
    missed.retain(|tick| !tick.is_pending);
    let late = missed.len();
    remove_late_deliveries(&mut missed, spare);
    Ticks {
        count,
        late: late - missed.len(),
        missed: by_time(&missed, &named),
    }
}

/// Returns the time from which the ticks of a schedule are known: its last change, but not before `since`.
/// For a rule, EventBridge returns no time of its last change, so its ticks are known from the first start
/// on.
fn known_since(schedule: &Schedule, starts: &[u64], since: u64) -> u64 {
    match (schedule.changed, starts.first()) {
        (Some(changed), _) => changed.max(since),
        (None, Some(first)) => *first,
        (None, None) => u64::MAX,
    }
}

/// Returns the ticks of a rate: each start from `begin` on, and between two starts, and after the last one,
/// as many ticks as fit.
fn paced(starts: &[u64], every: u64, begin: u64, end: u64) -> Vec<u64> {
    let mut ticks: Vec<u64> = Vec::new();
    for start in starts.iter().copied().filter(|start| *start >= begin) {
        while let Some(next) = ticks.last().map(|last| last + every)
            && start > next + every / 2
        {
            ticks.push(next);
        }
        // A start less than half an interval after the last tick is not a tick.
        if ticks.last().is_none_or(|last| start > last + every / 2) {
            ticks.push(start);
        }
    }
    while let Some(next) = ticks.last().map(|last| last + every)
        && next <= end
    {
        ticks.push(next);
    }
    ticks
}

/// Assigns each start to the latest tick that is still open. Returns the ticks without a start, and the
/// starts without a tick.
///
/// A start without a tick that came within a second of the start before counts as a second delivery of the
/// same tick. It is not returned, because it must not make up for a missed tick.
fn matched(ticks: &[Tick], starts: &[u64]) -> (Vec<Tick>, Vec<u64>) {
    let (mut missed, mut spare, mut open) = (Vec::new(), Vec::new(), Vec::<Tick>::new());
    let mut coming = ticks.iter().copied().peekable();
    let mut before = None;
    for start in starts.iter().copied() {
        while let Some(tick) = coming.next_if(|tick| tick.at <= start) {
            open.push(tick);
        }
        missed.extend(open.extract_if(.., |tick| tick.end <= start));
        let is_double = before
            .replace(start)
            .is_some_and(|before| start - before <= DOUBLE_DELIVERY_MS);
        if open.pop().is_none() && !is_double {
            spare.push(start);
        }
    }
    missed.extend(open);
    missed.extend(coming);
    missed.sort_by_key(|tick| tick.at);
    (missed, spare)
}

/// Removes from `missed` a tick for each start in `spare` that may be its late delivery: one that came up to
/// [`LATE`] after the tick.
fn remove_late_deliveries(missed: &mut Vec<Tick>, spare: Vec<u64>) {
    for start in spare {
        let fits = |tick: &Tick| tick.at < start && start <= tick.at + LATE;
        if let Some(index) = missed.iter().position(fits) {
            missed.remove(index);
        }
    }
}

fn by_time(missed: &[Tick], named: &BTreeMap<u64, Vec<String>>) -> BTreeMap<u64, Missed> {
    let mut times: BTreeMap<u64, Missed> = BTreeMap::new();
    for tick in missed {
        let entry = times.entry(tick.at).or_default();
        entry.count += 1;
        entry.schedules = named.get(&tick.at).cloned().unwrap_or_default();
    }
    times
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Source;
    use super::*;

    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;

    /// Returns a schedule whose last change was before all ticks.
    fn schedule(name: &str, expression: &str) -> Schedule {
        Schedule {
            name: name.into(),
            source: Source::Scheduler,
            machine: String::new(),
            expression: Some(expression.into()),
            timezone: None,
            enabled: true,
            from: None,
            to: None,
            changed: Some(0),
            flexible: 0,
        }
    }

    /// Returns the hours of the ticks that were missed in the first `days` days, and the number of late
    /// ticks.
    fn missed(schedules: &[Schedule], starts: &[u64], days: u64) -> (Vec<u64>, usize) {
        let found = ticks(schedules, starts, 0, days * DAY);
        (
            found.missed.keys().map(|at| at / HOUR).collect(),
            found.late,
        )
    }

    #[test]
    fn a_tick_without_a_start_before_the_next_one_is_missed() {
        let hourly = [schedule("hourly", "cron(0 * * * ? *)")];
        let seconds = |hour: u64| hour * HOUR + 2_000;
        let all: Vec<u64> = (0..24).map(seconds).collect();
        let without = |left_out: &[u64]| -> Vec<u64> {
            let kept = (0..24).filter(|hour| !left_out.contains(hour));
            kept.map(seconds).collect()
        };

        assert_eq!(missed(&hourly, &all, 1), (vec![], 0));
        assert_eq!(
            missed(&hourly, &without(&[3, 4, 23]), 1),
            (vec![3, 4, 23], 0)
        );
        assert_eq!(missed(&hourly, &[], 1).0.len(), 24);
    }

    #[test]
    fn an_extra_start_counts_as_the_late_start_of_a_missed_tick() {
        let hourly = [schedule("hourly", "cron(0 * * * ? *)")];
        // The ticks of 3:00 and 4:00 are delivered after that of 5:00. The tick of 6:00 is lost, and that of 8:00 delivered twice.
        let on_time = (0..24).filter(|hour| ![3, 4, 6].contains(hour));
        let mut starts: Vec<u64> = on_time.map(|hour| hour * HOUR + 100).collect();
        starts.extend([5 * HOUR + 5_000, 5 * HOUR + 9_000, 8 * HOUR + 600]);
        starts.sort_unstable();

        assert_eq!(missed(&hourly, &starts, 1), (vec![6], 2));
        let nightly = [schedule("nightly", "cron(0 2 * * ? *)")];
        let by_hand = [2 * HOUR, DAY + 9 * HOUR];
        assert_eq!(missed(&nightly, &by_hand, 2), (vec![], 0));
    }

    #[test]
    fn ticks_of_one_time_are_named_together() {
        let two = [
            schedule("a", "cron(0 2 * * ? *)"),
            schedule("b", "cron(0 2 * * ? *)"),
        ];

        let found = ticks(&two, &[2 * HOUR + 5], 0, DAY);

        let expected = Missed {
            count: 1,
            schedules: vec!["a".into(), "b".into()],
        };
        assert_eq!(found.count, 2);
        assert_eq!(found.missed, [(2 * HOUR, expected)].into());
    }

    /// Each start is nearer to a tick of its own schedule than to a tick of the other.
    #[test]
    fn a_missed_tick_is_named_by_its_own_time_beside_another_schedule() {
        let two = [
            schedule("half", "cron(33 * * * ? *)"),
            schedule("full", "cron(3 * * * ? *)"),
        ];
        let all = (0..24).flat_map(|hour| [hour * HOUR + 3 * MINUTE, hour * HOUR + 33 * MINUTE]);
        let lost = [5 * HOUR + 33 * MINUTE, 9 * HOUR + 3 * MINUTE];
        let starts: Vec<u64> = all
            .filter(|at| !lost.contains(at))
            .map(|at| at + 900)
            .collect();

        let found = ticks(&two, &starts, 0, DAY);

        let times: Vec<u64> = found.missed.keys().copied().collect();
        assert_eq!(times, lost);
        assert_eq!(found.missed[&lost[0]].schedules, ["half"]);
    }

    #[test]
    fn the_start_of_the_newest_tick_is_of_no_earlier_one() {
        let hourly = [schedule("hourly", "cron(0 * * * ? *)")];
        let starts = [0, 1, 3].map(|hour| hour * HOUR + 100);

        let found = ticks(&hourly, &starts, 0, 3 * HOUR + MINUTE);

        assert_eq!((found.count, found.late), (3, 0));
        assert_eq!(found.missed.keys().copied().collect::<Vec<_>>(), [2 * HOUR]);
    }

    #[test]
    fn a_rate_ticks_from_the_start_before() {
        let rate = [schedule("rate", "rate(1 hour)")];
        let starts = [7, 67, 68, 247, 307].map(|minute| minute * MINUTE);

        let found = ticks(&rate, &starts, 0, 400 * MINUTE);

        let minutes: Vec<u64> = found.missed.keys().map(|at| at / MINUTE).collect();
        assert_eq!(minutes, [127, 187, 367]);
        let beside = [rate[0].clone(), schedule("b", "cron(0 0 1 1 ? 2099)")];
        assert_eq!(ticks(&beside, &starts, 0, 400 * MINUTE).count, 0);
        let short = [schedule("short", "rate(1 minute)")];
        assert_eq!(ticks(&short, &starts, 0, 400 * MINUTE).count, 0);
    }

    #[test]
    fn a_tick_outside_the_known_time_of_a_schedule_is_not_missed() {
        let nightly = schedule("nightly", "cron(0 2 * * ? *)");
        let changed = Schedule {
            changed: Some(2 * DAY),
            ..nightly.clone()
        };
        let rule = Schedule {
            changed: None,
            ..nightly.clone()
        };
        let disabled = Schedule {
            enabled: false,
            ..nightly.clone()
        };
        let ended = Schedule {
            to: Some(2 * DAY),
            ..nightly.clone()
        };
        let flexible = Schedule {
            flexible: 23 * HOUR,
            ..nightly
        };

        assert_eq!(missed(&[changed], &[], 4).0, [50, 74]);
        assert_eq!(missed(std::slice::from_ref(&rule), &[], 4).0, [0; 0]);
        assert_eq!(missed(&[rule], &[2 * DAY], 4).0, [50, 74]);
        assert_eq!(missed(&[disabled], &[], 4).0, [0; 0]);
        assert_eq!(missed(&[ended], &[], 4).0, [2, 26]);
        assert_eq!(missed(&[flexible], &[], 4).0, [2, 26, 50]);
    }
}
