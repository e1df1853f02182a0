//! One grant after the other: taken, renewed, given back, run out.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

const BEATS: Plan = Plan {
    beat: true,
    ..Plan::REFUSE
};

#[test]
fn no_lost_answer_and_no_second_delivery_gives_a_permit_twice() {
    let budget = Budget {
        losses: 1,
        copies: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 1,
        ..World::new(1, &[BEATS, Plan::REFUSE], budget)
    };

    check(
        world,
        27866,
        &[
            "AlreadyHeld",
            "Ended",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "Renewed",
            "refused: Held",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn a_holder_that_dies_is_recovered_whatever_heartbeat_is_still_under_way() {
    let budget = Budget {
        losses: 1,
        crashes: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 2,
        ..World::new(1, &[BEATS, Plan::REFUSE], budget)
    };

    check(
        world,
        111687,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn clocks_that_differ_by_a_second_do_no_harm() {
    let budget = Budget {
        crashes: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 1,
        skew: true,
        ..World::new(1, &[BEATS, Plan::REFUSE], budget)
    };

    check(
        world,
        109710,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn a_write_that_is_sent_twice_is_done_once_and_answered_as_done() {
    let budget = Budget {
        resends: 2,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        ticks: 1,
        ..World::new(1, &[BEATS, Plan::QUEUE], budget)
    };

    check(
        world,
        3562,
        &[
            "Ended",
            "Granted",
            "Queued",
            "Released",
            "Renewed",
            "Unchanged",
            "refused: Held",
            "then: end the heartbeat",
            "then: wake",
        ],
    );
}
