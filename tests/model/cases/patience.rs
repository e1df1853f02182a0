//! Waiters that do not wait for ever, queues that are full, grants that keep their distance.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};
use lockstep::domain::WhenFull;

const IMPATIENT: Plan = Plan {
    waits_until: Some(1),
    ..Plan::QUEUE
};

const SPACED: Plan = Plan {
    min_interval: Some(1),
    ..Plan::QUEUE
};

const SHORT: Plan = Plan {
    when_full: WhenFull::Queue { most: 1 },
    ..Plan::QUEUE
};

#[test]
fn who_waits_long_enough_gives_up_and_stops_nobody() {
    let budget = Budget {
        losses: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 2,
        ..World::new(1, &[SPACED, IMPATIENT], budget)
    };

    check(
        world,
        4966,
        &[
            "AlreadyHeld",
            "Done",
            "Freed",
            "GaveUp",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "then: dismiss who gave up",
            "then: wake",
            "then: wake again",
        ],
    );
}

#[test]
fn the_next_turn_waits_for_its_distance() {
    let budget = Budget::default();
    let world = World {
        ticks: 2,
        ..World::new(1, &[SPACED, IMPATIENT, Plan::REFUSE], budget)
    };

    check(
        world,
        21065,
        &[
            "Done",
            "Freed",
            "GaveUp",
            "Granted",
            "Queued",
            "Released",
            "Unchanged",
            "refused: Held",
            "refused: TooSoon",
            "then: dismiss who gave up",
            "then: hand over",
            "then: wake",
        ],
    );
}

#[test]
fn a_full_queue_turns_away() {
    let budget = Budget {
        copies: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::QUEUE, Plan::QUEUE, SHORT], budget);

    check(
        world,
        22397,
        &[
            "AlreadyHeld",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "refused: QueueFull",
            "then: wake",
            "then: wake again",
        ],
    );
}
