//! Hand-overs that their waiters have not confirmed.

use super::*;

fn called() -> Lease {
    let call = Some(Call {
        task_token: None,
        since: after(0),
    });
    Lease { call, ..lease() }
}

#[test]
fn a_hand_over_that_is_not_confirmed_is_sent_again() {
    for seconds in [1, 61, UNCONFIRMED_MAX.get() - 1] {
        let action = judge(
            &called(),
            &evidence(RUNNING, WorkObservation::NotNamed),
            after(seconds),
        );

        assert_eq!(action, Action::Wake, "after {seconds} s");
    }
}

#[test]
fn a_run_that_has_not_confirmed_for_longer_than_any_wait_is_silent_like_any_other() {
    for stale in STALE {
        let lease = Lease { stale, ..called() };
        let evidence = evidence(RUNNING, WorkObservation::NotNamed);

        let action = judge(&lease, &evidence, after(UNCONFIRMED_MAX.get()));

        assert_eq!(action, Action::Suspect, "{stale:?}");
    }
}

#[test]
fn a_hand_over_under_a_longer_lease_is_kept_until_the_lease_is_over() {
    let lease = Lease {
        expires_at: after(86_400),
        ..called()
    };
    let evidence = evidence(RUNNING, WorkObservation::NotNamed);

    let action = judge(&lease, &evidence, after(UNCONFIRMED_MAX.get()));

    assert_eq!(action, Action::Wake);
}

#[test]
fn a_hand_over_whose_execution_has_ended_goes_to_the_next_at_once() {
    let evidence = evidence(ended(ExecutionEnd::TimedOut), WorkObservation::NotNamed);

    recovered(judge(&called(), &evidence, after(1)), RecoveryBasis::Seen);
}
