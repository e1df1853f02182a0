//! What a check sees while others act: early, late, hidden, and by an event that is old.

use crate::check::check;
use crate::state::Budget;
use crate::world::{Plan, World};

const BEATS: Plan = Plan {
    beat: true,
    ..Plan::REFUSE
};

#[test]
fn a_silent_holder_that_lives_is_stopped_only_after_its_lease_and_its_mark() {
    let budget = Budget {
        beats: 1,
        leaps: 3,
        ..Budget::default()
    };
    let world = World {
        slow_evidence: true,
        ..World::new(1, &[BEATS, Plan::QUEUE], budget)
    };

    check(
        world,
        81923,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Queued",
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
fn evidence_that_is_late_by_a_change_frees_no_run_at_work() {
    let budget = Budget {
        crashes: 1,
        beats: 1,
        dims: 1,
        ..Budget::default()
    };
    let world = World {
        slow_evidence: true,
        ..World::new(1, &[BEATS, Plan::QUEUE], budget)
    };

    check(
        world,
        23031,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Lost",
            "Queued",
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
fn a_check_that_began_early_stops_nobody_who_has_renewed_since() {
    let budget = Budget {
        beats: 1,
        leaps: 3,
        early: 1,
        ..Budget::default()
    };
    let world = World {
        slow_evidence: true,
        ..World::new(1, &[BEATS], budget)
    };

    check(
        world,
        2628,
        &[
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn an_old_event_does_no_harm_to_a_redriven_run() {
    let budget = Budget {
        crashes: 1,
        redrives: 1,
        news: 1,
        ..Budget::default()
    };
    let world = World {
        slow_evidence: true,
        ..World::new(1, &[BEATS], budget)
    };

    check(
        world,
        6285,
        &[
            "Done",
            "Freed",
            "Granted",
            "Lost",
            "Released",
            "Released already",
            "Renewed",
            "Unchanged",
            "refused: LeaseLost",
            "then: end the heartbeat",
        ],
    );
}

#[test]
fn an_event_makes_up_for_evidence_that_is_late_or_missing() {
    let budget = Budget {
        crashes: 1,
        news: 1,
        dims: 1,
        ..Budget::default()
    };
    let world = World {
        slow_evidence: true,
        ..World::new(1, &[BEATS, Plan::REFUSE], budget)
    };

    check(
        world,
        7549,
        &[
            "Done",
            "Freed",
            "Granted",
            "Lost",
            "Released",
            "Released already",
            "Unchanged",
            "refused: Held",
        ],
    );
}

#[test]
fn evidence_that_is_late_or_missing_beside_a_redrive_lets_no_second_run_in() {
    let budget = Budget {
        crashes: 1,
        redrives: 1,
        dims: 1,
        ..Budget::default()
    };
    let world = World {
        quick_calls: true,
        slow_evidence: true,
        ..World::new(1, &[BEATS, Plan::REFUSE], budget)
    };

    check(
        world,
        32156,
        &[
            "Done",
            "Freed",
            "Granted",
            "Lost",
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
fn a_run_that_cuts_its_work_off_keeps_its_permit_until_it_has_stopped() {
    let budget = Budget {
        cuts: 1,
        beats: 1,
        ..Budget::default()
    };
    let world = World {
        own_ends: true,
        ..World::new(1, &[BEATS, Plan::QUEUE], budget)
    };

    check(
        world,
        1599,
        &[
            "AlreadyHeld",
            "Done",
            "Ended",
            "Freed",
            "Granted",
            "Queued",
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
