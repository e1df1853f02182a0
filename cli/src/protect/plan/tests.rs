//! The plan at chosen times, as scripts of steps.

use super::*;

const LEASE: Duration = Duration::from_secs(60);
/// A script of one piece of work that begins at 0 s and is protected at 0 s for a minute.
const PROTECTED: &str = "0 begin, 0 Protected 60 -> Protected, ";
const REASONS: [Reason; 11] = [
    Reason::TaskNotValid,
    Reason::DeploymentBlocked,
    Reason::Throttled,
    Reason::AccessDenied,
    Reason::Rejected,
    Reason::Gone,
    Reason::RequestCanceled,
    Reason::ServerError,
    Reason::Unreachable,
    Reason::NoAnswer,
    Reason::Unreadable,
];

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn refused(reason: Reason) -> Refused {
    Refused::new(reason, "why")
}

/// Returns the reason with this name.
fn reason(name: &str) -> Option<Reason> {
    REASONS
        .into_iter()
        .find(|reason| format!("{reason:?}") == name)
}

/// Returns the answer that these words denote.
fn answer(words: &[&str]) -> Option<PutResult> {
    match words {
        ["Protected"] => Some(PutResult::Protected(None)),
        ["Protected", left] => Some(PutResult::Protected(Some(at(left.parse().unwrap())))),
        ["Cleared"] => Some(PutResult::Cleared),
        [name] => reason(name).map(|reason| PutResult::Refused(refused(reason))),
        _ => None,
    }
}

/// Returns the next step of the plan, and its number if it is a call.
fn next(plan: &mut Plan, now: Duration) -> (String, Option<u64>) {
    match plan.next(now) {
        PlanStep::Put(Put { number, minutes }) => {
            let text = minutes.map_or("clear".into(), |minutes| format!("set {minutes}"));
            (text, Some(number))
        }
        other => (format!("{other:?}"), None),
    }
}

/// Plays the steps of `script` on a new plan.
fn play(script: &str) -> Plan {
    let mut plan = Plan::new(LEASE);
    play_on(&mut plan, script);
    plan
}

/// Plays the steps of `script`. Each has a time in seconds, and then one of:
/// - `begin`, `end` of the last work, `end one` of several, `close`;
/// - an answer to the latest call or to `#number`: `Protected` for a number of seconds, `Cleared` or a
///   reason, with its event behind `->`; without an open call, the one that is due is made;
/// - the expected next step: `set` with a number of minutes, `clear`, or the other variants of [`PlanStep`];
/// - `is` with the expected standing, `settled` or `unsettled`.
fn play_on(plan: &mut Plan, script: &str) {
    let mut call = None;
    for step in script.split(", ") {
        let (action, event) = match step.split_once(" -> ") {
            Some((action, event)) => (action, Some(event)),
            None => (step, None),
        };
        let words: Vec<_> = action.split_whitespace().collect();
        let now = at(words[0].parse().expect(step));
        match &words[1..] {
            ["begin"] => plan.began(now),
            ["close"] => plan.close(now),
            ["end"] => assert!(plan.ended(now), "{step}"),
            ["end", "one"] => assert!(!plan.ended(now), "{step}"),
            ["settled"] => assert!(plan.is_settled(now), "{step}"),
            ["unsettled"] => assert!(!plan.is_settled(now), "{step}"),
            ["is", name, reasons @ ..] => {
                let reason = reasons.first().and_then(|name| reason(name));
                let refusal = reason.map(|reason| format!("({:?})", refused(reason)));
                let standing = format!("{:?}", plan.standing(now));
                let expected = format!("{name}{}", refusal.unwrap_or_default());
                assert!(standing.starts_with(&expected), "{step}: {standing}");
            }
            words => {
                let (words, older) = match words {
                    [words @ .., last] if last.starts_with('#') => (words, last[1..].parse().ok()),
                    words => (words, None),
                };
                let Some(answer) = answer(words) else {
                    let (next, number) = next(plan, now);
                    assert_eq!(next, words.join(" "), "{step}");
                    call = number.or(call);
                    continue;
                };
                let due = || next(plan, now).1.expect(step);
                let number = older.or_else(|| call.take()).unwrap_or_else(due);
                let actual = format!("{:?}", plan.answered(number, answer.clone(), now));
                let expected = match (event, answer) {
                    (Some(name @ ("Refused" | "LeftToExpire")), PutResult::Refused(refused)) => {
                        format!("{name}({refused:?})")
                    }
                    (Some(name), _) => name.into(),
                    (None, _) => continue,
                };
                assert_eq!(actual, expected, "{step}");
            }
        }
    }
}

/// Plays [`PROTECTED`] and then `script` on a new plan.
fn play_protected(script: &str) -> Plan {
    play(&[PROTECTED, script].concat())
}

#[test]
fn no_call_is_made_before_work_begins() {
    play("0 Nothing");
}

#[test]
fn the_first_work_protects_the_second_does_not_the_last_one_clears() {
    play_protected(
        "1 begin, 1 Wait(48s), 2 end one, 2 Wait(48s), 3 end, 3 clear, 3.1 Cleared -> Cleared, \
         3.1 Nothing",
    );
}

#[test]
fn protection_lasts_for_the_lease_in_whole_minutes() {
    let leases = [10.0, 60.0, 60.001, 3_600.0, 172_801.0].map(at);
    for (lease, minutes) in leases.into_iter().zip([1, 1, 2, 60, 2_880]) {
        let mut plan = Plan::new(lease);
        play_on(&mut plan, &format!("0 begin, 0 set {minutes}"));
    }
}

#[test]
fn protection_is_renewed_at_four_fifths_of_its_time() {
    play("0 begin, 0 set 1, 4 Protected 50, 4 Wait(44s), 44 Protected 60 -> Renewed, 44 Wait(92s)");
}

#[test]
fn a_missing_past_or_late_date_counts_as_the_requested_one() {
    for left in ["", "0", "7200"] {
        play(&format!("0 begin, 0 Protected {left}, 0 Wait(48s)"));
    }
}

#[test]
fn a_date_that_is_nearly_past_keeps_renewals_a_second_apart() {
    play("0 begin, 0 Protected 0.001, 0.0005 Wait(1ms), 0.002 Lapsed, 0.002 Wait(1s)");
}

#[test]
fn protection_that_expires_under_work_is_logged_once_and_set_again() {
    let mut plan = play(PROTECTED.trim_end_matches(", "));
    for now in [48.0, 49.0, 51.0, 55.0] {
        play_on(&mut plan, &format!("{now} DeploymentBlocked"));
        plan.not_before = at(now + 1.0);
    }
    plan.not_before = at(65.0);

    play_on(
        &mut plan,
        "55 Wait(60s), 60 Lapsed, 60 Wait(65s), 60 is Retrying, 65 set 1",
    );
}

#[test]
fn protection_left_over_from_earlier_work_does_not_lapse_under_new_work() {
    play_protected("1 end, 1 TaskNotValid, 70 begin, 70 set 1");
}

#[test]
fn an_answer_to_an_older_call_is_ignored() {
    play_protected(
        "10 end, 10 clear, 24 NoAnswer, 24 begin, 24 set 1, 24.5 Cleared #2 -> Nothing, \
         24.5 Nothing, 25 Protected 60, 26 Cleared #2 -> Nothing, 26 is Protected",
    );
}

#[test]
fn work_that_begins_during_clearing_sets_protection_after_the_answer() {
    play_protected(
        "10 end, 10 clear, 10.1 begin, 10.1 Wait(60s), 10.1 is Asking, 10.2 Cleared #2, \
         10.2 set 1, 10.3 Protected 60 #3 -> Protected",
    );
}

#[test]
fn work_that_ends_during_the_request_clears_protection_after_it() {
    play("0 begin, 0 set 1, 0.1 end, 0.1 Nothing, 0.1 unsettled, 0.2 Protected 60, 0.2 clear");
}

#[test]
fn only_a_call_whose_outcome_is_unknown_is_cleared_with_its_work() {
    for reason in ["NoAnswer", "RequestCanceled", "ServerError", "Unreadable"] {
        play(&format!("0 begin, 0 {reason}, 0.5 end, 0.5 clear"));
    }
    for reason in ["Unreachable", "Throttled", "AccessDenied"] {
        play(&format!("0 begin, 0 {reason}, 0.5 end, 0.5 Nothing"));
    }
}

#[test]
fn clearing_is_tried_four_times_and_then_left_to_expire() {
    play_protected(
        "10 end, 10 unsettled, 10 Throttled -> Nothing, 11 unsettled, 11 Throttled -> Nothing, \
         13 unsettled, 13 Throttled -> Nothing, 17 unsettled, 17 Throttled -> LeftToExpire, \
         17 Nothing, 17 settled",
    );
}

#[test]
fn work_after_an_expired_clearing_is_protected_and_clears_it() {
    play_protected(
        "10 end, 10 AccessDenied, 20 begin, 20 is Protected, 20 Wait(48s), 30 end, 30 clear",
    );
}

#[test]
fn after_clearing_without_an_answer_new_work_sets_protection_again() {
    play_protected("10 end, 10 clear, 10.1 begin, 24 NoAnswer, 24 is Asking, 24 set 1");
}

#[test]
fn closing_clears_protection_and_sets_none_afterwards() {
    let plan = play_protected("5 close, 5 clear, 5.1 Cleared, 6 begin, 6 Nothing");

    let ProtectionState::Stopped(refusal) = plan.standing(at(6.0)) else {
        panic!("new work is not refused");
    };
    assert_eq!(refusal.reason, Reason::ShuttingDown);
}

#[test]
fn waits_after_temporary_refusals_double_up_to_a_quarter_of_the_lease() {
    let script = "0 begin, 0 $, 0 Wait(1s), 1 $, 1 Wait(3s), 3 $, 3 Wait(7s), 7 $, 7 Wait(15s), \
                  15 $, 15 Wait(30s), 30 $, 30 Wait(45s), 45 set 1";
    for reason in "Throttled RequestCanceled ServerError Unreachable NoAnswer Unreadable".split(' ')
    {
        play(&script.replace('$', reason));
    }
}

#[test]
fn a_long_lease_makes_no_wait_longer_than_a_minute() {
    let mut plan = Plan::new(Duration::from_secs(86_400));
    plan.began(at(0.0));

    for minute in 0..20 {
        play_on(&mut plan, &format!("{} Throttled", minute * 60));
    }

    play_on(&mut plan, "1140 Wait(1200s)");
}

#[test]
fn a_blocked_deployment_is_retried_after_5_then_10_seconds() {
    let script = "0 begin, 0 $, 0 Wait(5s), 5 $, 5 Wait(15s), 15 $, 15 Wait(25s)";
    play(&script.replace('$', "DeploymentBlocked"));
}

#[test]
fn a_task_of_no_service_is_never_retried_and_logged_once() {
    play(
        "0 begin, 0 TaskNotValid -> Refused, 1 end, 1 Nothing, 2 begin, 9999 Nothing, \
         2 is Stopped TaskNotValid",
    );
}

#[test]
fn a_lasting_refusal_is_retried_by_the_next_work_and_logged_once() {
    let script = "0 begin, 0 $ -> Refused, 600 Nothing, 600 is Stopped $, 600 begin, \
                  600 is Asking, 600 $ -> Nothing";
    for reason in ["AccessDenied", "Rejected", "Gone"] {
        play(&script.replace('$', reason));
    }
}

#[test]
fn a_refused_renewal_is_retried_until_the_work_ends_for_any_reason() {
    // The successful renewal is logged, because the refusal was.
    play_protected(
        "48 AccessDenied -> Refused, 48 is Protected, 48 Wait(49s), 49 Protected 60 -> Protected",
    );
}

#[test]
fn the_same_reason_is_logged_once_until_protection_is_set() {
    play(
        "0 begin, 0 Throttled -> Refused, 1 Throttled -> Nothing, 3 Throttled -> Nothing, \
         7 Protected 60, 55 Throttled -> Refused",
    );
}

#[test]
fn new_work_does_not_shorten_the_wait_after_a_refusal() {
    play("0 begin, 0 DeploymentBlocked, 1 end, 2 begin, 2 is Retrying, 2 Wait(5s)");
}
