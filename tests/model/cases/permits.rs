//! A lock with two permits.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

#[test]
fn two_permits_are_two_and_not_three() {
    let budget = Budget {
        losses: 1,
        crashes: 1,
        ..Budget::default()
    };
    let world = World {
        quick_checks: true,
        ..World::new(2, &[Plan::REFUSE, Plan::REFUSE, Plan::REFUSE], budget)
    };

    check(
        world,
        38535,
        &[
            "AlreadyHeld",
            "Done",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "refused: Held",
        ],
    );
}

#[test]
fn a_late_copy_takes_no_third_permit() {
    let budget = Budget {
        copies: 1,
        ..Budget::default()
    };
    let world = World::new(2, &[Plan::REFUSE, Plan::REFUSE, Plan::REFUSE], budget);

    check(
        world,
        24429,
        &[
            "AlreadyHeld",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "refused: Held",
        ],
    );
}

#[test]
fn another_capacity_counts_once_the_lock_is_idle() {
    let budget = Budget {
        copies: 1,
        ..Budget::default()
    };
    let world = World::new(
        2,
        &[
            Plan::REFUSE,
            Plan {
                permits: Some(1),
                ..Plan::REFUSE
            },
        ],
        budget,
    );

    check(
        world,
        359,
        &[
            "AlreadyHeld",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "refused: PermitsMismatch",
        ],
    );
}
