//! Holders of whom nothing can be learnt.

use super::*;

#[test]
fn a_holder_that_cannot_be_asked_is_left_and_somebody_called_once_its_lease_is_over() {
    for stale in STALE {
        let actions = [59, 62].map(|second| judged(&under(stale), hidden(), tasks(&[]), second));

        let why = "throttled".into();
        assert_eq!(actions, [Action::Leave, Action::Alert { why }], "{stale:?}");
    }
}

#[test]
fn a_replaced_holder_that_cannot_be_asked_is_left_for_the_next_look() {
    let action = judged(&replaced(lease()), hidden(), UNNAMED, 1);

    assert_eq!(action, Action::Leave);
}
