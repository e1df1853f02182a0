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
        6780,
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
            "then: hand over",
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
        31976,
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
        62135,
        &[
            "AlreadyHeld",
            "Done",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "refused: QueueFull",
            "then: hand over",
            "then: wake",
            "then: wake again",
        ],
    );
}

/// Two functions wake a waiter. It takes the grant up by the first wake-up, starts its task, and dies
/// before its first heartbeat: the second must not pass the permit on.
#[test]
fn a_waiter_that_is_woken_twice_and_dies_unconfirmed_keeps_its_permit_until_its_work_is_over() {
    let budget = Budget {
        crashes: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::REFUSE, Plan::QUEUE], budget);

    check(
        world,
        721,
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
            "then: wake",
            "then: wake again",
        ],
    );
}
