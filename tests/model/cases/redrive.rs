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
    let world = World {
        quick_checks: true,
        ..World::new(1, &[BEATS, Plan::QUEUE], budget)
    };

    check(
        world,
        26136,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Queued",
            "Reinstated",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
            "then: wake",
            "then: wake again",
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
        quick_checks: true,
        ticks: 1,
        ..World::new(1, &[BEATS, Plan::REFUSE], budget)
    };

    check(
        world,
        64059,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Reinstated",
            "Released",
            "Released already",
            "Renewed",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}
