//! The bounds of names, numbers and times.

use super::at;
use crate::domain::{
    CLOCK_SKEW, DEAD_AFTER, FencingToken, RunKey, Seconds, TaskToken, Ticket, Timestamp,
    length_text,
};

#[test]
fn names_have_the_lengths_that_their_rules_say() {
    for (length, fits) in [(0, false), (1, true), (512, true), (513, false)] {
        assert_eq!(RunKey::new("k".repeat(length)).is_ok(), fits, "{length}");
    }
    for (length, fits) in [(0, false), (1, true), (2048, true), (2049, false)] {
        assert_eq!(TaskToken::new("t".repeat(length)).is_ok(), fits, "{length}");
    }
    assert!(RunKey::new("two words").is_err());
    assert!(TaskToken::new("two words").is_err());
    assert!(TaskToken::of_record("two words").is_err());
    for (length, fits) in [(0, false), (3072, true), (3073, false)] {
        let sealed = "t".repeat(length);
        assert_eq!(TaskToken::of_record(sealed).is_ok(), fits, "{length}");
    }
    assert_eq!(RunKey::new("tick").unwrap().as_str(), "tick");
}

#[test]
fn the_debug_output_of_a_task_token_hides_it() {
    let token = TaskToken::new("AQC-secret").unwrap();

    assert_eq!(token.reveal(), "AQC-secret");
    let shown = format!("{token:?}");
    assert!(!shown.is_empty() && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_point_in_time_is_at_most_the_last_one_that_can_be_written() {
    let last = 253_402_300_799_999;

    assert_eq!(Timestamp::MAX.millis(), last);
    assert_eq!(Timestamp::from_millis(last - 1).millis(), last - 1);
    assert_eq!(Timestamp::from_millis(last + 1), Timestamp::MAX);
    assert_eq!(Timestamp::MAX.plus(Seconds::of(1)), Timestamp::MAX);
}

#[test]
fn a_lease_is_dead_when_two_clocks_may_both_be_a_second_off() {
    assert_eq!(CLOCK_SKEW, Seconds::of(1));
    assert_eq!(DEAD_AFTER, Seconds::of(2));
}

#[test]
fn a_token_is_the_time_of_its_grant_or_one_more_than_the_last() {
    let at_time = FencingToken::next(FencingToken::NONE, at(5));
    let stepped_back = FencingToken::next(at_time, at(4));

    assert_eq!((at_time.number(), stepped_back.number()), (5000, 5001));
    assert_eq!(at_time.granted_at(), at(5));
    assert_eq!(FencingToken::MAX.number(), 9_007_199_254_740_991);
    assert_eq!(at_time.to_string(), "5000");
}

#[test]
fn tickets_count_in_both_directions() {
    let ticket = Ticket::from_number(5);

    assert_eq!([ticket.ahead().number(), ticket.behind().number()], [4, 6]);
    assert_eq!(Ticket::ZERO.number(), 0);
}

#[test]
fn a_length_is_shown_in_its_two_largest_units() {
    let (second, minute, hour, day) = (1000, 60_000, 3_600_000, 86_400_000);
    for (millis, text) in [
        (0, "0.0 s"),
        (minute - 1, "59.9 s"),
        (minute, "1 min 0 s"),
        (hour - second, "59 min 59 s"),
        (hour, "1 h 0 min"),
        (day - second, "23 h 59 min"),
        (day, "1 d 0 h"),
        (3 * day - minute, "2 d 23 h"),
    ] {
        assert_eq!(length_text(millis), text, "{millis}");
    }
}
