//! Reads the expression of a schedule, and finds its ticks.
//!
//! The cron expressions of EventBridge are those of Quartz, with a field for the year and without one for
//! seconds (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html>,
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html>).

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use regex_lite::Regex;

/// Returns the text in the brackets of an expression of this `kind`.
pub(super) fn inner<'a>(expression: &'a str, kind: &str) -> Option<&'a str> {
    let rest = expression.strip_prefix(kind)?.strip_prefix('(')?;
    rest.strip_suffix(')')
}

/// Returns the interval of `rate(value unit)` in milliseconds; `None` for any other expression.
pub(in super::super) fn rate(expression: &str) -> Option<u64> {
    let inner = inner(expression, "rate")?;
    let (value, unit) = inner.trim().split_once(' ')?;
    let minutes = match unit.trim() {
        "minute" | "minutes" => 1,
        "hour" | "hours" => 60,
        "day" | "days" => 24 * 60,
        _ => return None,
    };
    let value: u64 = value.parse().ok().filter(|value| *value > 0)?;
    value.checked_mul(minutes * 60_000)
}

/// Returns the time of `at(yyyy-mm-ddThh:mm:ss)`; `None` for any other expression.
pub(super) fn once(expression: &str, zone: &TimeZone) -> Option<u64> {
    let inner = inner(expression, "at")?;
    let time: DateTime = inner.trim().parse().ok()?;
    let time = time.to_zoned(zone.clone()).ok()?;
    u64::try_from(time.timestamp().as_millisecond()).ok()
}

/// Parses `cron(minutes hours day-of-month month day-of-week year)`; `None` for any other expression.
pub(super) fn cron(expression: &str) -> Option<Cron> {
    let inner = inner(expression, "cron")?;
    let parser = CronParser::builder()
        .seconds(Seconds::Required)
        .year(Year::Required)
        .alternative_weekdays(true)
        .sloppy_ranges(true)
        .build();
    let mut fields: Vec<&str> = inner.split_whitespace().collect();
    // `L` alone is the last day of the week, Saturday. The library accepts `L` only after a day.
    if let Some(day @ &mut "L") = fields.get_mut(4) {
        *day = "SAT";
    }
    parser.parse(&format!("0 {}", fields.join(" "))).ok()
}

/// Returns the ticks of `cron` from `first` to `last`.
///
/// A local time that a change of clocks skips has no tick, and a local time that occurs twice has one tick,
/// as in EventBridge Scheduler
/// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#daylist-savings-time>). The
/// library would move the first to a time after the change, and would return both times of the second.
pub(super) fn ticks_of(
    cron: &Cron,
    zone: TimeZone,
    first: u64,
    last: u64,
) -> impl Iterator<Item = u64> {
    let begin = i64::try_from(first).ok();
    let begin = begin.and_then(|millis| Timestamp::from_millisecond(millis).ok());
    let mut from = begin.map(|begin| begin.to_zoned(zone));
    let mut inclusive = true;
    let mut latest = None;
    let all = std::iter::from_fn(move || {
        let found: Zoned = cron.find_next_occurrence(from.as_ref()?, inclusive).ok()?;
        inclusive = false;
        from = Some(found.clone());
        let local = found.datetime();
        let is_new = latest.is_none_or(|latest| local > latest);
        latest = latest.max(Some(local));
        let exists = is_new && cron.is_time_matching(&found).unwrap_or(false);
        let millis = u64::try_from(found.timestamp().as_millisecond()).ok()?;
        Some((millis, exists))
    });
    let in_time = all.take_while(move |(millis, _)| *millis <= last);
    in_time.filter_map(|(millis, exists)| exists.then_some(millis))
}

/// Returns whether all of `text` matches `pattern`.
pub(super) fn matches_text(text: &str, pattern: &str) -> bool {
    let pattern = Regex::new(&format!("^(?:{pattern})$"));
    pattern.is_ok_and(|pattern| pattern.is_match(text))
}
