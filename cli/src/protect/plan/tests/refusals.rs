//! Refusals and their retries.

use super::*;

#[test]
fn temporary_refusals_are_retried_after_doubling_waits_up_to_a_quarter_of_the_lease() {
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
fn a_blocked_deployment_is_retried_after_5_then_10_seconds() {
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
fn a_task_of_no_service_is_never_retried_and_logged_once() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    let event = answer(&mut plan, 0.0, refused(Reason::TaskNotValid));

    plan.ended(at(1.0));
    let idle = plan.next(at(1.0));
    plan.began(at(2.0));

    let refusal = Refused::new(Reason::TaskNotValid, "why");
    assert_eq!(event, Event::Refused(refusal.clone()));
    assert_eq!(idle, Next::Nothing);
    assert_eq!(plan.next(at(9_999.0)), Next::Nothing);
    assert_eq!(plan.standing(at(2.0)), Standing::Stopped(refusal));
}

#[test]
fn what_only_an_operator_can_change_is_retried_by_the_next_work_and_logged_once() {
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
fn a_refused_renewal_is_retried_until_the_work_ends_for_any_reason() {
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
    assert_eq!(renewed, Event::Protected, "logged, as the refusal was");
}

#[test]
fn the_same_reason_is_logged_once_until_protection_is_set() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));

    let mut logged = vec![];
    for now in [0.0, 1.0, 3.0] {
        logged.push(answer(&mut plan, now, refused(Reason::Throttled)) != Event::Nothing);
    }
    answer(&mut plan, 7.0, Answer::Protected(MINUTE));
    logged.push(answer(&mut plan, 55.0, refused(Reason::Throttled)) != Event::Nothing);

    assert_eq!(logged, [true, false, false, true]);
}

#[test]
fn new_work_does_not_shorten_the_wait_after_a_refusal() {
    let mut plan = Plan::new(LEASE);
    plan.began(at(0.0));
    answer(&mut plan, 0.0, refused(Reason::DeploymentBlocked));

    plan.ended(at(1.0));
    plan.began(at(2.0));

    assert!(matches!(plan.standing(at(2.0)), Standing::Retrying(_)));
    assert_eq!(plan.next(at(2.0)), Next::Wait(at(5.0)));
}
