//! Parsers for the values of flags. clap adds the name of the flag to their errors.

use crate::lease::timing::LeaseTiming;
use lockstep::contract::{LockOptions, Range};
use lockstep::domain::{LockKey, RunKey};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::time::Duration;

/// Parses a duration in whole seconds, such as 90s, 15m, 2h or 1h30m.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let rule = "must be a duration in whole seconds, such as 90s, 15m or 1h30m";
    let mut whole = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        let unit = match tail.bytes().next() {
            Some(b's') => 1,
            Some(b'm') => 60,
            Some(b'h') => 3_600,
            Some(b'd') => 86_400,
            _ => return Err(rule.into()),
        };
        let number: u64 = number.parse().map_err(|_| rule.to_owned())?;
        let part = number.checked_mul(unit);
        whole = part.and_then(|part| whole.checked_add(part)).ok_or(rule)?;
        rest = &tail[1..];
    }
    if text.is_empty() {
        return Err(rule.into());
    }
    Ok(Duration::from_secs(whole))
}

/// Parses a duration in the range of `maxRunSeconds`, 1 second to 365 days.
pub(crate) fn limit(text: &str) -> Result<Duration, String> {
    option(LockOptions::MAX_RUN)(text)
}

/// Returns a parser for a duration in the range of an option.
pub(crate) fn option(range: Range) -> impl Fn(&str) -> Result<Duration, String> + Clone {
    let [least, most] = [range.least, range.most].map(|end| Duration::from_secs(end.into()));
    move |text| within(text, least, most)
}

/// Parses the length of a lease, 5 seconds to 24 hours.
pub(crate) fn lease(text: &str) -> Result<Duration, String> {
    within(text, LeaseTiming::SHORTEST, LeaseTiming::LONGEST)
}

fn within(text: &str, least: Duration, most: Duration) -> Result<Duration, String> {
    let length = duration(text)?;
    if (least..=most).contains(&length) {
        Ok(length)
    } else {
        Err(format!("must be from {} to {}", short(least), short(most)))
    }
}

/// Formats a duration in its largest whole unit, such as 90s, 2h or 31d. One day is 24h.
fn short(length: Duration) -> String {
    let seconds = length.as_secs();
    let whole = |unit: u64| seconds.is_multiple_of(unit).then_some(seconds / unit);
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    let mut numbers = units
        .into_iter()
        .filter_map(|(unit, name)| Some((whole(unit)?, name)));
    let largest = numbers.find(|(number, name)| *name != 'd' || *number > 1);
    largest.map_or(format!("{seconds}s"), |(number, name)| {
        format!("{number}{name}")
    })
}

/// Parses the name of a lock.
pub(crate) fn lock(text: &str) -> Result<String, String> {
    LockKey::new(text).map_err(|_| LockKey::RULE.to_owned())?;
    Ok(text.to_owned())
}

/// Parses a run key.
pub(crate) fn run_key(text: &str) -> Result<String, String> {
    RunKey::new(text).map_err(|_| RunKey::RULE.to_owned())?;
    Ok(text.to_owned())
}

/// Parses a word of the JSON contract, such as `skip` for an overlap policy.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(json!(text)).map_err(|error| error.to_string())
}

/// Parses a name and its value, written as NAME=VALUE.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses a variable of the environment that switches something on or off.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "1" | "yes" | "true" | "on" => Ok(true),
        "" | "0" | "no" | "false" | "off" => Ok(false),
        _ => Err("must be yes, true, on or 1, or no, false, off or 0".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_sum_of_numbers_with_units() {
        let seconds = |text| duration(text).map(|length| length.as_secs());

        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("1h30m"), Ok(5_400));
        assert_eq!(seconds("2d"), Ok(172_800));
        let bad = "|60|s|1.5h|-1s|10 s|1w|99999999999999999999s|9999999999999999999d";
        for bad in bad.split('|') {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_error_names_the_range_in_its_largest_units() {
        let error = |range| option(range)("0s").unwrap_err();

        for (range, expected) in [
            (LockOptions::MAX_RUN, "1s to 365d"),
            (LockOptions::MIN_INTERVAL, "1s to 31d"),
            (LockOptions::EXPECT_EVERY, "1m to 365d"),
            (Range::new(90, 7_200), "90s to 2h"),
        ] {
            assert_eq!(error(range), format!("must be from {expected}"));
        }
        assert_eq!(lease("25h"), Err("must be from 5s to 24h".into()));
    }

    #[test]
    fn a_lease_is_long_enough_for_renewals() {
        assert!(lease("4s").is_err() && lease("25h").is_err());
        assert_eq!(lease("5s"), Ok(Duration::from_secs(5)));
    }
}
