//! An operator's words meet everything else.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

#[test]
fn an_operator_and_a_dying_holder_leave_the_lock_free() {
    let budget = Budget {
        orders: 2,
        crashes: 1,
        ..Budget::default()
    };
    let world = World {
        quick_checks: true,
        ..World::new(1, &[Plan::QUEUE, Plan::QUEUE], budget)
    };

    check(
        world,
        32712,
        &[
            "Done",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "then: dismiss who is sent away",
            "then: wake",
            "then: wake again",
        ],
    );
}

#[test]
fn who_is_sent_away_or_held_up_costs_no_other_its_turn() {
    let budget = Budget {
        orders: 2,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::REFUSE, Plan::QUEUE, Plan::QUEUE], budget);

    check(
        world,
        87663,
        &[
            "Done",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Unchanged",
            "refused: Held",
            "refused: Paused",
            "then: dismiss who is sent away",
            "then: wake",
        ],
    );
}

#[test]
fn an_eviction_frees_one_permit_of_two() {
    let budget = Budget {
        orders: 1,
        ..Budget::default()
    };
    let world = World::new(2, &[Plan::REFUSE, Plan::QUEUE, Plan::QUEUE], budget);

    check(
        world,
        65014,
        &[
            "Done",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Unchanged",
            "refused: Held",
            "refused: Paused",
            "then: dismiss who is sent away",
            "then: hand over",
            "then: wake",
        ],
    );
}
