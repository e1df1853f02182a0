//! Waiters: their tickets, their turns, and what can be lost on the way.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

const LOOKS_FIRST: Plan = Plan {
    looks_first: true,
    ..Plan::QUEUE
};

#[test]
fn turns_come_by_ticket_although_a_holder_dies_and_a_wake_up_is_lost() {
    let budget = Budget {
        losses: 1,
        crashes: 1,
        ..Budget::default()
    };
    let world = World {
        quick_checks: true,
        ..World::new(1, &[Plan::QUEUE, Plan::QUEUE, Plan::QUEUE], budget)
    };

    check(
        world,
        69828,
        &[
            "AlreadyHeld",
            "Done",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "then: wake",
            "then: wake again",
        ],
    );
}

#[test]
fn two_permits_serve_one_queue() {
    let budget = Budget {
        losses: 1,
        timeouts: 1,
        ..Budget::default()
    };
    let world = World::new(2, &[Plan::REFUSE, LOOKS_FIRST, Plan::QUEUE], budget);

    check(
        world,
        211173,
        &[
            "AlreadyHeld",
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

#[test]
fn a_waiter_that_comes_again_keeps_its_place() {
    let budget = Budget {
        copies: 1,
        timeouts: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::QUEUE, Plan::QUEUE], budget);

    check(
        world,
        39813,
        &[
            "AlreadyHeld",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Released already",
            "Unchanged",
            "then: wake",
            "then: wake again",
        ],
    );
}

#[test]
fn a_registration_by_a_slow_clock_loses_no_turn() {
    let budget = Budget {
        timeouts: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 1,
        skew: true,
        ..World::new(1, &[Plan::QUEUE, Plan::QUEUE], budget)
    };

    check(
        world,
        169554,
        &[
            "AlreadyHeld",
            "Freed",
            "Granted",
            "Queued",
            "Released",
            "Unchanged",
            "then: wake",
        ],
    );
}
