//! Holders of whom nothing can be learnt.

use super::*;

#[test]
fn a_holder_that_cannot_be_asked_is_left_and_somebody_called_once_its_lease_is_over() {
    for stale in STALE {
        let lease = Lease { stale, ..lease() };
        let evidence = evidence(hidden(), WorkObservation::Tasks(vec![]));

        let early = judge(&lease, &evidence, after(59));
        let late = judge(&lease, &evidence, after(62));

        assert_eq!(early, Action::Leave, "{stale:?}");
        let why = "throttled".into();
        assert_eq!(late, Action::Alert { why }, "{stale:?}");
    }
}

#[test]
fn a_replaced_holder_that_cannot_be_asked_is_left_for_the_next_look() {
    let lease = replaced(lease());

    let action = judge(
        &lease,
        &evidence(hidden(), WorkObservation::NotNamed),
        after(1),
    );

    assert_eq!(action, Action::Leave);
}
