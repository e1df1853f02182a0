//! Two starts of one tick beside a run of its own.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

const STARTS: Plan = Plan {
    run_key: Some("tick"),
    ..Plan::REFUSE
};
const WAITS: Plan = Plan {
    run_key: Some("tick"),
    ..Plan::QUEUE
};

#[test]
fn a_tick_has_one_success_whatever_is_delivered_twice() {
    let budget = Budget {
        losses: 1,
        copies: 1,
        ..Budget::default()
    };
    let world = World::new(2, &[STARTS, WAITS, Plan::QUEUE], budget);

    check(
        world,
        83610,
        &[
            "AlreadyHeld",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "refused: Duplicate",
            "refused: Held",
            "then: dismiss a duplicate",
        ],
    );
}

#[test]
fn a_tick_whose_run_died_is_tried_again() {
    let budget = Budget {
        crashes: 1,
        timeouts: 1,
        ..Budget::default()
    };
    let world = World {
        quick_checks: true,
        ..World::new(2, &[STARTS, WAITS, WAITS], budget)
    };

    check(
        world,
        68442,
        &[
            "AlreadyHeld",
            "Done",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "refused: Duplicate",
            "refused: Held",
        ],
    );
}

#[test]
fn a_start_that_waits_behind_its_tick_is_sent_away() {
    let budget = Budget {
        losses: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[STARTS, WAITS, Plan::QUEUE], budget);

    check(
        world,
        2648,
        &[
            "AlreadyHeld",
            "Done",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "refused: Duplicate",
            "refused: Held",
            "then: dismiss a duplicate",
            "then: hand over",
            "then: wake",
            "then: wake again",
        ],
    );
}
