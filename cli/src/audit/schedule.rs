//! The schedules that start a state machine, and the intervals between their ticks.
//!
//! Rules tick in UTC, and schedules of EventBridge Scheduler in any time zone
//! (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html>).

mod check;
mod expression;
mod field;

pub(crate) use check::{check_expression, check_to_come, check_zone};
pub(super) use expression::rate;

use expression::{cron, once, ticks_of};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// Maximum number of ticks of a schedule that are examined: one each minute for a week.
const MOST_TICKS: usize = 10_080;
/// Time after the window in which ticks are examined too, in milliseconds: two years, which contain every gap
/// of up to a year.
const AHEAD: u64 = 2 * 366 * 86_400_000;

/// What starts a state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Schedule {
    /// The name of the rule, or the group and the name of the schedule.
    pub(super) name: String,
    pub(super) source: Source,
    /// ARN of the state machine, without version or alias.
    pub(super) machine: String,
    /// `rate(…)`, `cron(…)` or `at(…)`; `None` for a rule that only matches events.
    pub(super) expression: Option<String>,
    /// IANA name; `None` is UTC.
    pub(super) timezone: Option<String>,
    pub(super) enabled: bool,
    /// Time before which it does not tick, in milliseconds since 1970.
    pub(super) from: Option<u64>,
    /// Time after which it does not tick, in milliseconds since 1970.
    pub(super) to: Option<u64>,
    /// Time of its last change, in milliseconds since 1970; `None` for a rule, for which EventBridge does not
    /// return it.
    pub(super) changed: Option<u64>,
    /// The flexible time window: the state machine starts within this time after a tick, in milliseconds.
    pub(super) flexible: u64,
}

/// The service that a schedule belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Source {
    /// A rule of EventBridge on the default bus.
    Rule,
    /// A schedule of EventBridge Scheduler.
    Scheduler,
}

/// The shortest and the longest interval between two ticks, in milliseconds. The longest includes the
/// flexible time window of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) shortest: u64,
    pub(super) longest: u64,
}

impl Schedule {
    /// Returns whether the schedule ticks at the time `now`: it is enabled, has begun and has not ended.
    pub(super) fn is_live(&self, now: u64) -> bool {
        let has_begun = self.from.is_none_or(|from| from <= now);
        let has_ended = self.to.is_some_and(|to| to < now);
        self.enabled && has_begun && !has_ended
    }

    /// Returns the intervals between the ticks from `since` to two years after `until`; `None` for an
    /// expression that cannot be read, and for one with fewer than two ticks in that time.
    pub(super) fn interval(&self, since: u64, until: u64) -> Option<Interval> {
        let expression = self.expression.as_deref()?;
        if let Some(every) = rate(expression) {
            return Some(Interval {
                shortest: every,
                longest: every + self.flexible,
            });
        }
        // A schedule that ticks only in some months may have no tick in the window, or none for most of a
        // year.
        let ticks = self.ticks(since, until + AHEAD, MOST_TICKS);
        let gaps = || ticks.windows(2).map(|pair| pair[1] - pair[0]);
        Some(Interval {
            shortest: gaps().min()?,
            longest: gaps().max()? + self.flexible,
        })
    }

    /// Returns the first ticks of a cron expression, or the tick of a one-time schedule, from `since` to
    /// `until`, in milliseconds since 1970; at most `most`. The ticks of a rate are not known, because they
    /// are counted from a time that no call returns.
    pub(super) fn ticks(&self, since: u64, until: u64, most: usize) -> Vec<u64> {
        let expression = self.expression.as_deref().unwrap_or_default();
        let zone = match self.timezone.as_deref() {
            Some(name) => TimeZone::get(name).ok(),
            None => Some(TimeZone::UTC),
        };
        let Some(zone) = zone else {
            return Vec::new();
        };
        let first = since.max(self.from.unwrap_or(0));
        let last = until.min(self.to.unwrap_or(u64::MAX));
        let Some(cron) = cron(expression) else {
            let once = once(expression, &zone).into_iter();
            return once.filter(|at| (first..=last).contains(at)).collect();
        };
        ticks_of(&cron, zone, first, last).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    pub(super) fn at(time: &str) -> u64 {
        let time: Timestamp = time.parse().unwrap();
        time.as_millisecond().try_into().unwrap()
    }

    fn schedule(expression: &str, timezone: Option<&str>) -> Schedule {
        Schedule {
            name: "nightly".into(),
            source: Source::Scheduler,
            machine: String::new(),
            expression: Some(expression.into()),
            timezone: timezone.map(str::to_owned),
            enabled: true,
            from: None,
            to: None,
            changed: None,
            flexible: 0,
        }
    }

    fn ticks(schedule: &Schedule, since: &str, until: &str) -> Vec<String> {
        let ticks = schedule.ticks(at(since), at(until), 100);
        let text = |millis: u64| Timestamp::from_millisecond(millis.try_into().unwrap()).unwrap();
        ticks
            .into_iter()
            .map(|tick| text(tick).to_string())
            .collect()
    }

    #[test]
    fn an_expression_ticks_when_aws_documents_that_it_does() {
        // Examples of both user guides, in UTC, in March 2026: the first is a Sunday.
        for (expression, expected) in [
            ("cron(0 10 * * ? *)", "03-01T10:00 03-02T10:00"),
            ("cron(15 12 ? * MON *)", "03-02T12:15 03-09T12:15"),
            ("cron(0 18 ? * MON-FRI *)", "03-02T18:00 03-03T18:00"),
            ("cron(0 8 1 * ? *)", "03-01T08:00"),
            ("cron(0/15 9 ? * SAT *)", "03-07T09:00 03-07T09:15"),
            ("cron(5/20 0 2 3 ? 2026)", "03-02T00:05 03-02T00:25"),
            ("cron(0 9 ? * 2#1 *)", "03-02T09:00"),
            ("cron(15 10 ? * 6L 2022-2027)", "03-27T10:15"),
            ("cron(0 0 L * ? *)", "03-31T00:00"),
            ("cron(0 6 15W * ? *)", "03-16T06:00"),
            ("cron(0 6 LW * ? *)", "03-31T06:00"),
            ("cron(0 6 ? * L *)", "03-07T06:00 03-14T06:00"),
            ("cron(0 6 ? * 1 *)", "03-01T06:00 03-08T06:00"),
            ("cron(0 6 ? JAN *)", ""),
            ("cron(0 6 ? * 2 2025)", ""),
            ("cron(every day)", ""),
            ("rate(5 minutes)", ""),
        ] {
            let found = ticks(
                &schedule(expression, None),
                "2026-03-01T00:00:00Z",
                "2026-03-31T23:59:00Z",
            );

            let expected: Vec<_> = expected.split_whitespace().collect();
            let first = found.iter().take(expected.len().max(1));
            let first: Vec<_> = first.map(|tick| &tick[5..16]).collect();
            assert_eq!(first, expected, "{expression}");
        }
    }

    #[test]
    fn a_tick_keeps_to_its_time_zone_over_a_change_of_clocks() {
        let zone = Some("Europe/Berlin");
        let window = ("2026-03-28T00:00:00Z", "2026-03-30T23:00:00Z");

        let daily = ticks(&schedule("cron(0 6 * * ? *)", zone), window.0, window.1);
        let left_out = ticks(&schedule("cron(30 2 * * ? *)", zone), window.0, window.1);

        let times = [
            "2026-03-28T05:00:00Z",
            "2026-03-29T04:00:00Z",
            "2026-03-30T04:00:00Z",
        ];
        assert_eq!(daily, times);
        assert_eq!(left_out, ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]);
        let back = schedule("cron(0/30 * * * ? *)", zone);
        let back = back.ticks(at("2026-10-24T23:30:00Z"), at("2026-10-25T02:00:00Z"), 100);
        let minutes: Vec<_> = back
            .windows(2)
            .map(|two| (two[1] - two[0]) / 60_000)
            .collect();
        assert_eq!(minutes, [30, 30, 90], "2:00 and 2:30 come twice");
        let unknown = schedule("cron(0 6 * * ? *)", Some("Mars/Olympus"));
        assert!(ticks(&unknown, window.0, window.1).is_empty());
    }

    #[test]
    fn intervals_are_the_shortest_and_the_longest_between_two_ticks() {
        const MINUTE: u64 = 60_000;
        let (since, until) = (at("2026-06-01T00:00:00Z"), at("2026-06-30T00:00:00Z"));
        for (expression, expected) in [
            ("rate(5 minutes)", Some((5, 5))),
            ("rate(1 hour)", Some((60, 60))),
            ("rate(7 days)", Some((7 * 1_440, 7 * 1_440))),
            ("cron(0 6 ? * MON-FRI *)", Some((1_440, 3 * 1_440))),
            ("cron(0 6,8 * * ? *)", Some((120, 22 * 60))),
            ("cron(0 0 1 1 ? 2027)", None),
            ("cron(0 0 1 SEP-OCT ? *)", Some((30 * 1_440, 335 * 1_440))),
            ("at(2026-06-02T06:00:00)", None),
            ("rate(0 minutes)", None),
            ("rate(five minutes)", None),
            ("rate(5 fortnights)", None),
        ] {
            let found = schedule(expression, None).interval(since, until);

            let minutes = found.map(|found| (found.shortest / MINUTE, found.longest / MINUTE));
            assert_eq!(minutes, expected, "{expression}");
        }
    }

    #[test]
    fn a_one_time_schedule_ticks_at_its_local_time() {
        let once = schedule("at(2026-06-02T06:00:00)", Some("Europe/Berlin"));

        let found = ticks(&once, "2026-06-01T00:00:00Z", "2026-06-09T00:00:00Z");

        assert_eq!(found, ["2026-06-02T04:00:00Z"]);
        assert!(ticks(&once, "2026-06-03T00:00:00Z", "2026-06-09T00:00:00Z").is_empty());
    }

    #[test]
    fn a_schedule_ticks_between_its_start_and_its_end() {
        let bounded = Schedule {
            from: Some(at("2026-06-02T06:00:00Z")),
            to: Some(at("2026-06-03T06:00:00Z")),
            ..schedule("cron(0 6 * * ? *)", None)
        };

        let found = ticks(&bounded, "2026-06-01T00:00:00Z", "2026-06-09T00:00:00Z");

        assert_eq!(found, ["2026-06-02T06:00:00Z", "2026-06-03T06:00:00Z"]);
    }
}
