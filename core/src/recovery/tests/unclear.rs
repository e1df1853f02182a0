//! Holders whose evidence cannot be read.

use super::*;

#[test]
fn a_dead_holder_that_cannot_be_described_is_left_with_an_alert() {
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

#[test]
fn missing_evidence_is_reported_once_and_freezes_after_an_hour() {
    let marked = suspect(lease());
    for second in [63, 3_600, 3_659] {
        assert_eq!(judged(&marked, hidden(), UNNAMED, second), Action::Leave);
    }

    let late = judged(&marked, hidden(), UNNAMED, 3_660);

    assert!(matches!(late, Action::Freeze { .. }), "{late:?}");
}

#[test]
fn a_silent_holder_of_hidden_ownership_freezes_after_an_hour() {
    let evidence = Evidence {
        ownership: Ownership::Hidden("denied".into()),
        ..evidence(RUNNING, UNNAMED)
    };

    let [early, late] =
        [3_659, 3_660].map(|second| judge(&suspect(lease()), &evidence, after(second)));

    assert!(matches!(early, Action::Refrain { .. }), "{early:?}");
    assert!(matches!(late, Action::Freeze { .. }), "{late:?}");
}
