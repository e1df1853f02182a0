//! Hand-overs that their waiters have not confirmed.

use super::*;

#[test]
fn a_hand_over_that_is_not_confirmed_is_sent_again() {
    for seconds in [1, 61, UNCONFIRMED_MAX.get() - 1] {
        let action = of_running(&called(lease(), 0), seconds);

        assert_eq!(action, Action::Wake, "after {seconds} s");
    }
}

#[test]
fn an_unconfirmed_hand_over_counts_as_silent_after_8000_s() {
    for stale in STALE {
        let action = of_running(&called(under(stale), 0), UNCONFIRMED_MAX.get());

        assert_eq!(action, Action::Suspect, "{stale:?}");
    }
}

#[test]
fn a_hand_over_under_a_longer_lease_is_kept_until_the_lease_is_over() {
    let lease = Lease {
        expires_at: after(86_400),
        ..called(lease(), 0)
    };

    let action = of_running(&lease, UNCONFIRMED_MAX.get());

    assert_eq!(action, Action::Wake);
}

#[test]
fn a_hand_over_whose_execution_has_ended_goes_to_the_next_at_once() {
    let action = judged(
        &called(lease(), 0),
        ended(ExecutionEnd::TimedOut),
        UNNAMED,
        1,
    );

    recovered(action, RecoveryBasis::Seen);
}

#[test]
fn a_waiter_that_polls_is_not_woken() {
    let polls = Lease {
        call: Some(Call {
            task_token: None,
            since: after(0),
        }),
        ..lease()
    };

    assert_eq!(of_running(&polls, 0), Action::Leave);
}
