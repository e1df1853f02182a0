//! A run that replaces the holder goes first, and only once the holder is dead.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

#[test]
fn who_replaces_goes_first_although_the_order_to_stop_is_lost() {
    let budget = Budget {
        losses: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        quick_checks: true,
        ..World::new(1, &[Plan::REFUSE, Plan::QUEUE, Plan::REPLACE], budget)
    };

    check(
        world,
        77110,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
            "then: stop",
            "then: wake",
            "then: wake again",
        ],
    );
}

#[test]
fn who_replaces_stops_one_holder_of_two() {
    let budget = Budget::default();
    let world = World {
        quick_checks: true,
        ..World::new(2, &[Plan::REFUSE, Plan::QUEUE, Plan::REPLACE], budget)
    };

    check(
        world,
        3460,
        &[
            "Done",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "refused: Held",
            "then: stop",
            "then: wake",
            "then: wake again",
        ],
    );
}

#[test]
fn two_that_replace_one_holder_come_one_after_the_other() {
    let budget = Budget::default();
    let world = World {
        quick_checks: true,
        ..World::new(1, &[Plan::REFUSE, Plan::REPLACE, Plan::REPLACE], budget)
    };

    check(
        world,
        5610,
        &[
            "Done",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "refused: Held",
            "then: stop",
            "then: wake",
            "then: wake again",
        ],
    );
}
