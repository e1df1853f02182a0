//! An execution that was over and goes on.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

/// Can be started again.
const BEATS: Plan = Plan {
    beat: true,
    ..Plan::REFUSE
};

#[test]
fn a_redriven_run_has_its_old_grant_or_none_beside_a_waiter() {
    let budget = Budget {
        redrives: 1,
        crashes: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[BEATS, Plan::QUEUE], budget);

    check(
        world,
        12107,
        &[
            "AlreadyHeld",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Reinstated",
            "Released",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
            "then: wake",
        ],
    );
}

#[test]
fn a_redriven_run_has_its_old_grant_or_none_beside_an_arrival() {
    let budget = Budget {
        redrives: 1,
        crashes: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 1,
        ..World::new(1, &[BEATS, Plan::REFUSE], budget)
    };

    check(
        world,
        31947,
        &[
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Reinstated",
            "Released",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}
