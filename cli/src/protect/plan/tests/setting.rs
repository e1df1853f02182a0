//! Setting and renewing protection.

use super::*;

#[test]
fn no_call_is_made_before_work_begins() {
    let mut plan = Plan::new(LEASE);

    let next = plan.next(at(0.0));

    assert_eq!(next, Next::Nothing);
}

#[test]
fn the_first_work_protects_the_second_does_not_the_last_one_clears() {
    let mut plan = protected();

    plan.began(at(1.0));
    let second = plan.next(at(1.0));
    let first_ended = (plan.ended(at(2.0)), plan.next(at(2.0)));
    let last_ended = plan.ended(at(3.0));
    let clear = put(&mut plan, 3.0);
    let event = plan.answered(clear.number, Answer::Cleared, at(3.1));

    assert_eq!(second, Next::Wait(at(48.0)));
    assert_eq!(first_ended, (false, Next::Wait(at(48.0))));
    assert!(last_ended);
    assert_eq!(clear.minutes, None);
    assert_eq!((event, plan.next(at(3.1))), (Event::Cleared, Next::Nothing));
}

#[test]
fn protection_lasts_for_the_lease_in_whole_minutes_within_the_limits_of_ecs() {
    let leases = [
        (Duration::from_secs(10), 1),
        (Duration::from_secs(60), 1),
        (Duration::from_millis(60_001), 2),
        (Duration::from_secs(3_600), 60),
        (Duration::from_secs(2_880 * 60 + 1), 2_880),
    ];
    for (lease, minutes) in leases {
        let mut plan = Plan::new(lease);
        plan.began(at(0.0));

        let asked = put(&mut plan, 0.0).minutes;

        assert_eq!(asked, Some(minutes), "{lease:?}");
    }
}

#[test]
fn protection_is_renewed_at_four_fifths_of_the_time_from_the_answer_to_its_date() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    let first = put(&mut plan, 0.0);
    plan.answered(first.number, Answer::Protected(Some(at(50.0))), at(4.0));

    let wait = plan.next(at(4.0));
    let renewal = answer(&mut plan, 44.0, Answer::Protected(MINUTE));

    assert_eq!(wait, Next::Wait(at(44.0)));
    assert_eq!(renewal, Event::Renewed);
    assert_eq!(plan.next(at(44.0)), Next::Wait(at(92.0)));
}

#[test]
fn a_date_that_is_missing_past_or_later_than_requested_counts_as_the_requested_one() {
    for left in [None, Some(Duration::ZERO), Some(at(7_200.0))] {
        let mut plan = Plan::new(LEASE);
        plan.began(at(0.0));

        answer(&mut plan, 0.0, Answer::Protected(left));

        assert_eq!(plan.next(at(0.0)), Next::Wait(at(48.0)), "{left:?}");
    }
}

#[test]
fn a_date_that_is_nearly_past_keeps_renewals_a_second_apart() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));

    answer(&mut plan, 0.0, Answer::Protected(Some(at(0.001))));

    assert_eq!(plan.next(at(0.0005)), Next::Wait(at(0.001)));
    assert_eq!(plan.next(at(0.002)), Next::Lapsed);
    assert_eq!(plan.next(at(0.002)), Next::Wait(at(1.0)));
}

#[test]
fn protection_that_expires_under_work_is_logged_once_and_set_again() {
    let mut plan = protected();
    for now in [48.0, 49.0, 51.0, 55.0] {
        answer(&mut plan, now, refused(Reason::DeploymentBlocked));
        plan.not_before = at(now + 1.0);
    }
    plan.not_before = at(65.0);

    let before = plan.next(at(55.0));
    let lapsed = [plan.next(at(60.0)), plan.next(at(60.0))];
    let standing = plan.standing(at(60.0));
    let again = put(&mut plan, 65.0);

    assert_eq!(before, Next::Wait(at(60.0)));
    assert_eq!(lapsed, [Next::Lapsed, Next::Wait(at(65.0))]);
    assert!(matches!(standing, Standing::Retrying(_)), "{standing:?}");
    assert_eq!(again.minutes, Some(1));
}

#[test]
fn protection_left_over_from_earlier_work_does_not_lapse_under_new_work() {
    let mut plan = protected();
    plan.ended(at(1.0));
    answer(&mut plan, 1.0, refused(Reason::TaskNotValid));

    plan.began(at(70.0));

    assert!(matches!(
        plan.next(at(70.0)),
        Next::Put(Put {
            minutes: Some(1),
            ..
        })
    ));
}

#[test]
fn an_answer_to_an_older_call_is_ignored() {
    let mut plan = protected();
    plan.ended(at(10.0));
    let clear = put(&mut plan, 10.0);
    plan.answered(clear.number, refused(Reason::NoAnswer), at(24.0));
    plan.began(at(24.0));
    let set = put(&mut plan, 24.0);

    let late = plan.answered(clear.number, Answer::Cleared, at(24.5));
    let under_way = plan.next(at(24.5));
    plan.answered(set.number, Answer::Protected(MINUTE), at(25.0));
    let later = plan.answered(clear.number, Answer::Cleared, at(26.0));

    assert_eq!((late, under_way), (Event::Nothing, Next::Nothing));
    assert_eq!(later, Event::Nothing);
    assert_eq!(plan.standing(at(26.0)), Standing::Protected);
}
