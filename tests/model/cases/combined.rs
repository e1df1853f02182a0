//! Two things that go wrong at once: what the other worlds keep apart.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};
use lockstep::domain::StalePolicy;

const KEYED: Plan = Plan {
    run_key: Some("tick"),
    beat: true,
    ..Plan::REFUSE
};
const BEATS: Plan = Plan {
    beat: true,
    ..Plan::REFUSE
};

#[test]
fn a_run_that_replaces_a_holder_and_dies_leaves_the_lock_to_others() {
    let budget = Budget {
        crashes: 1,
        losses: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::REFUSE, Plan::REPLACE], budget);

    check(
        world,
        41841,
        &[
            "AlreadyHeld",
            "Done",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "refused: Held",
            "then: dismiss who is sent away",
            "then: stop",
            "then: wake",
            "then: wake again",
        ],
    );
}

#[test]
fn a_run_that_yields_keeps_its_run_key_while_its_work_goes_on() {
    let yields = Plan {
        stale: StalePolicy::Yield,
        max_run: Some(1),
        ..KEYED
    };
    let budget = Budget {
        beats: 1,
        leaps: 2,
        losses: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[yields, KEYED], budget);

    check(
        world,
        4539,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Granted",
            "Lost",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "Yielded",
            "refused: Duplicate",
            "refused: Held",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn a_redriven_run_and_a_second_start_of_its_tick_succeed_once() {
    let budget = Budget {
        crashes: 1,
        redrives: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        own_ends: true,
        ..World::new(1, &[KEYED, KEYED], budget)
    };

    check(
        world,
        81517,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Reinstated",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: Duplicate",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn a_short_lease_beside_a_long_one_is_swept_in_its_own_time() {
    let hidden = |lease| Plan {
        visible: false,
        lease,
        ..Plan::REFUSE
    };
    let budget = Budget {
        crashes: 1,
        leaps: 1,
        ..Budget::default()
    };
    let world = World::new(2, &[hidden(600), hidden(2)], budget);

    check(
        world,
        1352,
        &["Freed", "Granted", "Lost", "Released", "Unchanged"],
    );
}

#[test]
fn a_run_that_yields_and_dies_leaves_its_run_key_to_the_next() {
    let yields = Plan {
        stale: StalePolicy::Yield,
        max_run: Some(1),
        ..KEYED
    };
    let budget = Budget {
        beats: 1,
        leaps: 1,
        crashes: 1,
        ..Budget::default()
    };
    let world = World {
        own_ends: true,
        ..World::new(1, &[yields, KEYED], budget)
    };

    check(
        world,
        8572,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "Yielded",
            "refused: Duplicate",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn a_redriven_run_of_two_permits_takes_no_third() {
    let budget = Budget {
        crashes: 1,
        redrives: 1,
        ..Budget::default()
    };
    let world = World {
        quick_calls: true,
        quick_checks: true,
        ..World::new(2, &[BEATS, Plan::REFUSE, Plan::REFUSE], budget)
    };

    check(
        world,
        53184,
        &[
            "Done",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "Renewed",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn an_evicted_run_and_the_next_of_its_key_are_told_apart() {
    let budget = Budget {
        orders: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[KEYED, KEYED], budget);

    check(
        world,
        1780,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Released",
            "Renewed",
            "Unchanged",
            "refused: Duplicate",
            "refused: Held",
            "refused: LeaseLost",
            "refused: Paused",
            "then: end the heartbeat",
        ],
    );
}
