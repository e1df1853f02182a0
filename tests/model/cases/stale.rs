//! Holders that use up their time, by stale policy.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};
use lockstep::domain::StalePolicy;

const YIELDS: Plan = Plan {
    stale: StalePolicy::Yield,
    max_run: Some(1),
    ..Plan::REFUSE
};
const HOLDS: Plan = Plan {
    stale: StalePolicy::Hold,
    max_run: Some(1),
    ..Plan::QUEUE
};
const ENDS: Plan = Plan {
    stale: StalePolicy::Terminate,
    max_run: Some(1),
    ..Plan::QUEUE
};

#[test]
fn who_yields_works_on_beside_the_next() {
    let budget = Budget {
        beats: 2,
        ..Budget::default()
    };
    let world = World {
        ticks: 2,
        ..World::new(1, &[YIELDS, ENDS], budget)
    };

    check(
        world,
        19231,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Renewed",
            "Unchanged",
            "Yielded",
            "refused: Held",
            "refused: Stale",
            "then: wake",
        ],
    );
}

#[test]
fn who_yields_may_run_out() {
    let budget = Budget {
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 4,
        ..World::new(1, &[YIELDS, ENDS], budget)
    };

    check(
        world,
        54149,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
            "Released",
            "Renewed",
            "Unchanged",
            "Yielded",
            "refused: Held",
            "refused: Stale",
            "then: wake",
        ],
    );
}

#[test]
fn a_frozen_lock_grants_nothing_until_an_operator_opens_it() {
    let budget = Budget {
        beats: 1,
        looks: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 2,
        ..World::new(1, &[HOLDS, ENDS], budget)
    };

    check(
        world,
        26949,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Frozen",
            "Granted",
            "Queued",
            "Released",
            "Renewed",
            "Unchanged",
            "refused: Frozen",
            "refused: Stale",
            "then: wake",
        ],
    );
}
