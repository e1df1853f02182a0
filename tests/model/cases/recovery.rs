//! The reaper and the sweep: who is freed, on what evidence, and when.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

/// Nobody can be asked whether it lives.
const HIDDEN: Plan = Plan {
    visible: false,
    ..Plan::REFUSE
};

#[test]
fn a_lease_that_runs_out_is_freed_only_when_no_clock_believes_in_it() {
    let budget = Budget {
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 4,
        skew: true,
        ..World::new(1, &[HIDDEN, Plan::QUEUE], budget)
    };

    check(
        world,
        196271,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
            "then: wake",
        ],
    );
}

#[test]
fn a_silent_holder_that_dies_blocks_no_waiter() {
    let budget = Budget {
        crashes: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 4,
        ..World::new(1, &[HIDDEN, Plan::QUEUE], budget)
    };

    check(
        world,
        49943,
        &[
            "AlreadyHeld",
            "Done",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "refused: Held",
            "then: wake",
        ],
    );
}

#[test]
fn a_sweep_that_found_nothing_comes_back() {
    let budget = Budget {
        crashes: 1,
        looks: 1,
        ..Budget::default()
    };
    let world = World {
        quick_checks: true,
        ticks: 4,
        ..World::new(1, &[HIDDEN, Plan::QUEUE], budget)
    };

    check(
        world,
        90199,
        &[
            "Done",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "refused: Held",
            "then: wake",
        ],
    );
}

#[test]
fn a_renewal_that_nobody_heard_of_shortens_no_lease() {
    let budget = Budget {
        beats: 1,
        losses: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 4,
        skew: true,
        ..World::new(1, &[HIDDEN, Plan::REFUSE], budget)
    };

    check(
        world,
        214913,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
        ],
    );
}
