use super::*;

const LEASE: Duration = Duration::from_secs(60);
const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// The call that the plan makes at this time; anything else fails the test.
fn put(plan: &mut Plan, seconds: f64) -> Put {
    match plan.next(at(seconds)) {
        Next::Put(put) => put,
        other => panic!("no call at {seconds} s but {other:?}"),
    }
}

/// Makes the call that is due and answers it at the same time.
fn answer(plan: &mut Plan, seconds: f64, answer: Answer) -> Event {
    let put = put(plan, seconds);
    plan.answered(put.number, answer, at(seconds))
}

fn refused(reason: Reason) -> Answer {
    Answer::Refused(Refused::new(reason, "why"))
}

/// One piece of work since 0 s, protected at 0 s for a minute.
fn protected() -> Plan {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    assert_eq!(
        answer(&mut plan, 0.0, Answer::Protected(MINUTE)),
        Event::Protected
    );
    plan
}

#[test]
fn nothing_is_asked_before_work_begins() {
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
fn protection_is_asked_for_the_lease_in_whole_minutes_within_what_ecs_takes() {
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
fn a_date_that_is_missing_past_or_later_than_asked_counts_as_what_was_asked() {
    for left in [None, Some(Duration::ZERO), Some(at(7_200.0))] {
        let mut plan = Plan::new(LEASE);
        plan.began(at(0.0));

        answer(&mut plan, 0.0, Answer::Protected(left));

        assert_eq!(plan.next(at(0.0)), Next::Wait(at(48.0)), "{left:?}");
    }
}

#[test]
fn a_date_that_is_nearly_past_does_not_make_renewals_a_storm() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));

    answer(&mut plan, 0.0, Answer::Protected(Some(at(0.001))));

    assert_eq!(plan.next(at(0.0005)), Next::Wait(at(0.001)));
    assert_eq!(plan.next(at(0.002)), Next::Lapsed);
    assert_eq!(plan.next(at(0.002)), Next::Wait(at(1.0)));
}

#[test]
fn refusals_of_the_moment_are_tried_again_after_doubling_waits_up_to_a_quarter_of_the_lease() {
    let passing = [
        Reason::Throttled,
        Reason::RequestCanceled,
        Reason::ServerError,
        Reason::Unreachable,
        Reason::NoAnswer,
        Reason::Unreadable,
    ];
    for reason in passing {
        let mut plan = Plan::new(LEASE);
        plan.began(at(0.0));
        let mut times = vec![0.0];

        for wait in [1.0, 2.0, 4.0, 8.0, 15.0, 15.0] {
            let now = times[times.len() - 1];
            answer(&mut plan, now, refused(reason));
            assert_eq!(plan.next(at(now)), Next::Wait(at(now + wait)), "{reason}");
            times.push(now + wait);
        }

        assert_eq!(put(&mut plan, times[6]).minutes, Some(1), "{reason}");
    }
}

#[test]
fn a_long_lease_makes_no_wait_longer_than_a_minute() {
    let mut plan = Plan::new(Duration::from_secs(86_400));
    plan.began(at(0.0));
    let mut now = 0.0;

    for _ in 0..20 {
        answer(&mut plan, now, refused(Reason::Throttled));
        now += 60.0;
    }

    assert_eq!(plan.next(at(now - 60.0)), Next::Wait(at(now)));
}

#[test]
fn a_blocked_deployment_is_asked_again_after_5_then_10_seconds() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));

    let mut waits = vec![];
    for now in [0.0, 5.0, 15.0] {
        answer(&mut plan, now, refused(Reason::DeploymentBlocked));
        waits.push(plan.next(at(now)));
    }

    assert_eq!(waits, [5.0, 15.0, 25.0].map(|until| Next::Wait(at(until))));
}

#[test]
fn a_task_of_no_service_is_never_asked_for_again_and_it_is_said_once() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    let said = answer(&mut plan, 0.0, refused(Reason::TaskNotValid));

    plan.ended(at(1.0));
    let idle = plan.next(at(1.0));
    plan.began(at(2.0));

    let refusal = Refused::new(Reason::TaskNotValid, "why");
    assert_eq!(said, Event::Refused(refusal.clone()));
    assert_eq!(idle, Next::Nothing);
    assert_eq!(plan.next(at(9_999.0)), Next::Nothing);
    assert_eq!(plan.standing(at(2.0)), Standing::Stopped(refusal));
}

#[test]
fn what_only_an_owner_can_change_is_asked_again_by_the_next_work_and_said_once() {
    for reason in [Reason::AccessDenied, Reason::Rejected, Reason::Gone] {
        let mut plan = Plan::new(LEASE);
        plan.began(at(0.0));
        let first = answer(&mut plan, 0.0, refused(reason));
        let waiting = plan.next(at(600.0));
        let standing = plan.standing(at(600.0));

        plan.began(at(600.0));
        let asking = plan.standing(at(600.0));
        let second = answer(&mut plan, 600.0, refused(reason));

        let refusal = Refused::new(reason, "why");
        assert_eq!(first, Event::Refused(refusal.clone()));
        assert_eq!(
            (waiting, standing),
            (Next::Nothing, Standing::Stopped(refusal))
        );
        assert_eq!((asking, second), (Standing::Asking, Event::Nothing));
    }
}

#[test]
fn a_renewal_that_is_refused_is_tried_until_the_work_ends_whatever_the_reason() {
    let mut plan = protected();

    let event = answer(&mut plan, 48.0, refused(Reason::AccessDenied));
    let still = plan.standing(at(48.0));
    let retry = plan.next(at(48.0));
    let renewed = answer(&mut plan, 49.0, Answer::Protected(MINUTE));

    assert_eq!(
        event,
        Event::Refused(Refused::new(Reason::AccessDenied, "why"))
    );
    assert_eq!((still, retry), (Standing::Protected, Next::Wait(at(49.0))));
    assert_eq!(renewed, Event::Protected, "told, as the refusal was");
}

#[test]
fn protection_that_runs_out_under_work_is_said_once_and_asked_for_again() {
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
fn protection_left_over_from_earlier_work_is_not_said_to_run_out_under_new_work() {
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
fn work_that_ends_while_protection_is_asked_for_clears_it_after_the_answer() {
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
fn clearing_that_fails_is_tried_four_times_then_left_to_expire_and_said() {
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

#[test]
fn the_same_reason_is_said_once_until_protection_is_set() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));

    let mut said = vec![];
    for now in [0.0, 1.0, 3.0] {
        said.push(answer(&mut plan, now, refused(Reason::Throttled)) != Event::Nothing);
    }
    answer(&mut plan, 7.0, Answer::Protected(MINUTE));
    said.push(answer(&mut plan, 55.0, refused(Reason::Throttled)) != Event::Nothing);

    assert_eq!(said, [true, false, false, true]);
}

#[test]
fn new_work_does_not_shorten_the_wait_that_a_refusal_asked_for() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    answer(&mut plan, 0.0, refused(Reason::DeploymentBlocked));

    plan.ended(at(1.0));
    plan.began(at(2.0));

    assert!(matches!(plan.standing(at(2.0)), Standing::Retrying(_)));
    assert_eq!(plan.next(at(2.0)), Next::Wait(at(5.0)));
}

#[test]
fn closing_clears_whatever_is_in_flight_and_protects_nothing_afterwards() {
    let mut plan = protected();

    plan.close(at(5.0));
    let clear = put(&mut plan, 5.0);
    plan.answered(clear.number, Answer::Cleared, at(5.1));
    plan.began(at(6.0));

    assert_eq!(clear.minutes, None);
    assert_eq!(plan.next(at(6.0)), Next::Nothing);
    let Standing::Stopped(refusal) = plan.standing(at(6.0)) else {
        panic!("work is let in");
    };
    assert_eq!(refusal.reason, Reason::ShuttingDown);
}
