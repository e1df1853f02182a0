//! Tells whether EventBridge Scheduler takes an expression and a time zone, before they are deployed.
//!
//! This is the only place that does, and it is stricter than the readers of [`super::expression`]: they take more,
//! because the audit reads what AWS has accepted.

use super::expression::{cron, inner, matches_text, once, rate, ticks_of};
use super::field::FIELDS;
use jiff::tz::TimeZone;

/// Maximum length of an expression, in characters
/// (<https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html>).
const LONGEST: usize = 256;
/// The forms of an expression.
const FORMS: &str = "must be rate(VALUE UNIT), cron(MINUTES HOURS DAY-OF-MONTH MONTH DAY-OF-WEEK YEAR) with ? for one of \
                     the days, or at(yyyy-mm-ddThh:mm:ss)";

/// Checks that an expression is one that EventBridge Scheduler documents
/// (<https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html>).
///
/// # Errors
/// The rule that the text breaks. For a field of a cron expression, it names the field and its text.
pub(crate) fn check_expression(expression: &str) -> Result<(), String> {
    if expression.chars().count() > LONGEST {
        return Err(format!("must be at most {LONGEST} characters long"));
    }
    let is_rate = rate(expression).is_some()
        && matches_text(expression, r"rate\([1-9][0-9]* (minutes?|hours?|days?)\)");
    let is_once = once(expression, &TimeZone::UTC).is_some()
        && matches_text(expression, r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)");
    match inner(expression, "cron") {
        Some(fields) => check_fields(fields)?,
        None if is_rate || is_once => return Ok(()),
        None => return Err(FORMS.into()),
    }
    match cron(expression) {
        Some(_) => Ok(()),
        None => Err(FORMS.into()),
    }
}

/// Checks the fields of a cron expression.
fn check_fields(text: &str) -> Result<(), String> {
    const DAYS: [usize; 2] = [2, 4];
    let texts: Vec<_> = text.split(' ').collect();
    // One of the two days is left open, because the other one says on which days the schedule ticks.
    let is_open = |at: usize| DAYS.contains(&at) && texts.get(at) == Some(&"?");
    if texts.len() != FIELDS.len() || DAYS.into_iter().filter(|at| is_open(*at)).count() != 1 {
        return Err(FORMS.into());
    }
    let fields = FIELDS.iter().zip(&texts).enumerate();
    let mut closed = fields.filter(|(at, _)| !is_open(*at));
    closed.try_for_each(|(_, (field, text))| field.check(text))
}

/// Checks that `zone` is a time zone, as the database of IANA writes it.
///
/// # Errors
/// The rule that the text breaks.
pub(crate) fn check_zone(zone: &str) -> Result<(), String> {
    let known = TimeZone::get(zone).ok();
    let is_known = known.as_ref().and_then(TimeZone::iana_name) == Some(zone);
    // `Factory` is the database's entry for a machine without a configured time zone.
    match is_known && zone != "Factory" {
        true => Ok(()),
        false => Err("must be a name of the IANA time zone database, such as Europe/Berlin".into()),
    }
}

/// Checks that an expression that is right ticks after `now` in the time zone `zone`.
///
/// # Errors
/// The rule that the text breaks.
pub(crate) fn check_to_come(expression: &str, zone: &str, now: u64) -> Result<(), String> {
    let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
    let comes = match cron(expression) {
        Some(cron) => ticks_of(&cron, zone, now, u64::MAX).next().is_some(),
        None => once(expression, &zone).is_none_or(|at| at > now),
    };
    match comes {
        true => Ok(()),
        false => Err("must have a time that is still to come".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::at;
    use super::*;

    #[test]
    fn an_expression_that_eventbridge_refuses_is_refused() {
        for good in [
            "rate(1 hour)",
            "cron(0 6 * * ? *)",
            "cron(0 6 ? * MON-FRI *)",
            "cron(0/15 9 L * ? 2026-2030)",
            "at(2026-03-01T06:00:00)",
        ] {
            assert_eq!(check_expression(good), Ok(()), "{good}");
        }
        for bad in [
            "rate(0 hours)",
            "rate(1 fortnight)",
            "rate(+5 minutes)",
            "rate(5  minutes)",
            "rate( 5 minutes )",
            "cron(0 6 * * * *)",
            "cron(0 6 ? * ? *)",
            "cron(0 6 * * ?)",
            "cron(0 25 * * ? *)",
            "cron(0 6 * * MON ?)",
            "cron(0  6 * * ? *)",
            "cron( 0 6 * * ? *)",
            "cron(0\t6\t*\t*\t?\t*)",
            "cron(0,,5 3 * * ? *)",
            "cron(0 5-3 * * ? *)",
            "cron(0/0 6 * * ? *)",
            "cron(*/60 6 * * ? *)",
            "cron(? 6 * * ? *)",
            "cron(0 6 1 1 ? 1969)",
            "cron(0 6 1 1 ? 2030-2200)",
            "at(tomorrow)",
            "at(2026-11-28T06:00:00+01:00)",
            "at(2026-11-28T06:00:00[Europe/Berlin])",
            "at(2026-11-28T06:00:00Z)",
            "at(20261128T060000)",
            "at(2026-11-28 06:00:00)",
            "at(2026-11-28T06:00)",
            "at(2026-11-28T06:00:00.5)",
            "at(2026-02-30T06:00:00)",
            "0 6 * * *",
            "",
        ] {
            assert!(check_expression(bad).is_err(), "{bad}");
        }
        let long = format!("cron({} 6 * * ? *)", vec!["10"; 100].join(","));
        assert!(check_expression(&long).unwrap_err().contains("256"));
    }

    #[test]
    fn a_field_of_a_cron_expression_that_is_refused_is_named() {
        for (expression, named) in [
            ("cron(0,,5 3 * * ? *)", "MINUTES than \"0,,5\""),
            ("cron(0 25 * * ? *)", "HOURS than \"25\""),
            ("cron(0 6 ? * FRI-MON *)", "DAY-OF-WEEK than \"FRI-MON\""),
            ("cron(0 6 1 1 ? 2030-2200)", "YEAR than \"2030-2200\""),
            ("cron(0 6 * * * *)", "with ? for one of the days"),
        ] {
            let refused = check_expression(expression).unwrap_err();
            assert!(refused.contains(named), "{refused}");
        }
    }

    #[test]
    fn whatever_is_documented_can_be_read() {
        for days in [
            "* * ?",
            "L * ?",
            "LW * ?",
            "15W 1-12/3 ?",
            "1-31/30 JAN,MAR ?",
            "1/7 * ?",
        ] {
            let expression = format!("cron(0-15/1,45 8-8 {days} 2026-2030/2)");
            assert_eq!(check_expression(&expression), Ok(()), "{expression}");
        }
        for days in [
            "L", "6L", "FRIL", "3#2", "MON#5", "2-6", "MON-6", "SUN,SAT", "*",
        ] {
            let expression = format!("cron(00 06 ? * {days} *)");
            assert_eq!(check_expression(&expression), Ok(()), "{expression}");
        }
    }

    #[test]
    fn a_time_zone_has_the_spelling_of_the_database() {
        for good in [
            "UTC",
            "Etc/UTC",
            "Europe/Berlin",
            "America/Argentina/Ushuaia",
        ] {
            assert_eq!(check_zone(good), Ok(()), "{good}");
        }
        for bad in [
            "Mars/Olympus",
            "europe/BERLIN",
            "Factory",
            "Etc/Unknown",
            "+01:00",
            "",
        ] {
            assert!(check_zone(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_schedule_without_a_time_to_come_is_refused() {
        let now = at("2026-06-02T04:30:00Z");
        for (expression, zone, comes) in [
            ("rate(1 hour)", "UTC", true),
            ("cron(0 6 * * ? *)", "UTC", true),
            ("cron(0 6 1 1 ? 2026)", "UTC", false),
            ("cron(0 6 3 6 ? 2026)", "UTC", true),
            ("cron(0 6 31 2 ? *)", "UTC", false),
            ("at(2026-06-02T06:00:00)", "UTC", true),
            ("at(2026-06-02T06:00:00)", "Europe/Berlin", false),
            ("at(2026-06-02T04:00:00)", "America/New_York", true),
        ] {
            let checked = check_to_come(expression, zone, now);
            assert_eq!(checked.is_ok(), comes, "{expression} {zone}");
        }
    }
}
