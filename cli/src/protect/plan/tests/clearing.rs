//! Clearing protection, and work that begins or ends meanwhile.

use super::*;

#[test]
fn work_that_begins_while_protection_is_being_cleared_protects_again_after_the_answer() {
    let mut plan = protected();
    plan.ended(at(10.0));
    let clear = put(&mut plan, 10.0);

    plan.began(at(10.1));
    let meanwhile = (plan.next(at(10.1)), plan.standing(at(10.1)));
    plan.answered(clear.number, Answer::Cleared, at(10.2));
    let again = put(&mut plan, 10.2);

    assert_eq!(meanwhile, (Next::Wait(at(60.0)), Standing::Asking));
    assert_eq!(again.minutes, Some(1));
    assert!(again.number > clear.number);
}

#[test]
fn work_that_ends_while_protection_is_being_set_clears_it_after_the_answer() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    let set = put(&mut plan, 0.0);

    plan.ended(at(0.1));
    let meanwhile = (plan.next(at(0.1)), plan.is_settled(at(0.1)));
    plan.answered(set.number, Answer::Protected(MINUTE), at(0.2));
    let clear = put(&mut plan, 0.2);

    assert_eq!(meanwhile, (Next::Nothing, false));
    assert_eq!(clear.minutes, None);
}

#[test]
fn a_call_whose_outcome_is_open_is_cleared_when_the_work_ends_a_refused_one_is_not() {
    let cases = [
        (Reason::NoAnswer, true),
        (Reason::RequestCanceled, true),
        (Reason::ServerError, true),
        (Reason::Unreadable, true),
        (Reason::Unreachable, false),
        (Reason::Throttled, false),
        (Reason::AccessDenied, false),
    ];
    for (reason, cleared) in cases {
        let mut plan = Plan::new(LEASE);
        plan.began(at(0.0));
        answer(&mut plan, 0.0, refused(reason));

        plan.ended(at(0.5));

        let next = plan.next(at(0.5));
        assert_eq!(
            matches!(next, Next::Put(Put { minutes: None, .. })),
            cleared,
            "{reason}"
        );
    }
}

#[test]
fn clearing_that_fails_is_tried_four_times_then_left_to_expire_and_logged() {
    let mut plan = protected();
    plan.ended(at(10.0));

    let mut events = vec![];
    for now in [10.0, 11.0, 13.0, 17.0] {
        assert!(!plan.is_settled(at(now)));
        events.push(answer(&mut plan, now, refused(Reason::Throttled)));
    }

    let left = Event::LeftToExpire(Refused::new(Reason::Throttled, "why"));
    assert_eq!(
        events,
        [Event::Nothing, Event::Nothing, Event::Nothing, left]
    );
    assert_eq!(plan.next(at(17.0)), Next::Nothing);
    assert!(plan.is_settled(at(17.0)));
}

#[test]
fn work_that_begins_after_protection_was_left_to_expire_is_protected_and_clears_it() {
    let mut plan = protected();
    plan.ended(at(10.0));
    answer(&mut plan, 10.0, refused(Reason::AccessDenied));

    plan.began(at(20.0));
    let standing = plan.standing(at(20.0));
    let renewal = plan.next(at(20.0));
    plan.ended(at(30.0));

    assert_eq!(
        (standing, renewal),
        (Standing::Protected, Next::Wait(at(48.0)))
    );
    assert_eq!(put(&mut plan, 30.0).minutes, None);
}

#[test]
fn clearing_whose_outcome_is_open_leaves_new_work_unprotected_until_it_is_set_again() {
    let mut plan = protected();
    plan.ended(at(10.0));
    let clear = put(&mut plan, 10.0);
    plan.began(at(10.1));

    plan.answered(clear.number, refused(Reason::NoAnswer), at(24.0));

    assert_eq!(plan.standing(at(24.0)), Standing::Asking);
    assert_eq!(put(&mut plan, 24.0).minutes, Some(1));
}

#[test]
fn closing_clears_while_work_is_in_flight_and_sets_no_protection_afterwards() {
    let mut plan = protected();

    plan.close(at(5.0));
    let clear = put(&mut plan, 5.0);
    plan.answered(clear.number, Answer::Cleared, at(5.1));
    plan.began(at(6.0));

    assert_eq!(clear.minutes, None);
    assert_eq!(plan.next(at(6.0)), Next::Nothing);
    let Standing::Stopped(refusal) = plan.standing(at(6.0)) else {
        panic!("new work is not refused");
    };
    assert_eq!(refusal.reason, Reason::ShuttingDown);
}
