//! Turns that their waiters have not taken up.

use super::*;

fn called() -> Lease {
    let call = Some(Call { task_token: None });
    Lease { call, ..lease() }
}

#[test]
fn a_turn_that_was_not_taken_up_is_offered_again() {
    for seconds in [1, 61, UNCALLED_MAX.get() - 1] {
        let action = judge(
            &called(),
            &look(RUNNING, TasksSight::NotNamed),
            after(seconds),
        );

        assert_eq!(action, Action::Wake, "after {seconds} s");
    }
}

#[test]
fn a_turn_that_was_not_taken_up_for_an_hour_goes_to_the_next_whatever_the_stale_policy() {
    for stale in STALE {
        let lease = Lease { stale, ..called() };
        let evidence = look(RUNNING, TasksSight::NotNamed);

        let action = judge(&lease, &evidence, after(UNCALLED_MAX.get()));

        recovered(action, Death::Expired);
    }
}

#[test]
fn a_turn_under_a_longer_lease_is_kept_until_the_lease_is_over() {
    let lease = Lease {
        expires_at: after(86_400),
        ..called()
    };
    let evidence = look(RUNNING, TasksSight::NotNamed);

    let action = judge(&lease, &evidence, after(UNCALLED_MAX.get()));

    assert_eq!(action, Action::Wake);
}

#[test]
fn a_turn_whose_execution_has_ended_goes_to_the_next_at_once() {
    let evidence = look(ended(ExecutionEnd::TimedOut), TasksSight::NotNamed);

    recovered(judge(&called(), &evidence, after(1)), Death::Seen);
}
