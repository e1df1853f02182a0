//! A model that finds nothing would prove nothing: each of these faults must be found.

use crate::check::finds;
use crate::mutant::Mutant;
use crate::properties::{
    AT_WORK, LEASES, LIVE, STRANDED, SUCCESS_SEEN, TICKETS, TIDY, TRUE_SUCCESS, TURNS, WORK_ONCE,
};
use crate::state::Budget;
use crate::world::{Plan, World};

const BEATS: Plan = Plan {
    beat: true,
    ..Plan::REFUSE
};
const KEYED: Plan = Plan {
    run_key: Some("tick"),
    ..Plan::REFUSE
};
const CRASH: Budget = Budget {
    crashes: 1,
    ..Budget::NONE
};

#[test]
fn a_release_that_does_not_look_at_its_token_is_found() {
    let budget = Budget {
        losses: 1,
        copies: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::REFUSE, Plan::REFUSE], budget);

    let mutant = Mutant::TokenUnchecked;

    finds(World { mutant, ..world }, LEASES);
}

#[test]
fn an_arrival_that_goes_past_the_queue_is_found() {
    let spaced = Plan {
        min_interval: Some(1),
        ..Plan::REFUSE
    };
    let world = World::new(1, &[spaced, Plan::QUEUE, Plan::REFUSE], Budget::default());

    let (mutant, ticks) = (Mutant::QueueUnseen, 1);

    finds(
        World {
            mutant,
            ticks,
            ..world
        },
        TURNS,
    );
}

#[test]
fn a_turn_that_goes_to_a_waiter_that_has_left_is_found() {
    let budget = Budget {
        orders: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::REFUSE, Plan::QUEUE, Plan::QUEUE], budget);

    let mutant = Mutant::TicketUnguarded;

    finds(World { mutant, ..world }, TURNS);
}

#[test]
fn a_recovery_that_forgets_the_queue_is_found() {
    let budget = Budget {
        crashes: 1,
        ..Budget::default()
    };
    let world = World::new(1, &[Plan::QUEUE, Plan::QUEUE, Plan::QUEUE], budget);

    let mutant = Mutant::QueueDropped;

    finds(World { mutant, ..world }, TICKETS);
}

#[test]
fn a_hand_over_that_leaves_a_side_item_is_found() {
    let world = World::new(1, &[Plan::REFUSE, Plan::QUEUE], Budget::default());

    let mutant = Mutant::SideItemKept;

    finds(World { mutant, ..world }, TIDY);
}

#[test]
fn a_release_that_has_no_sweep_look_is_found() {
    let budget = Budget {
        losses: 1,
        ..Budget::default()
    };
    let waits = Plan {
        run_key: Some("tick"),
        ..Plan::QUEUE
    };
    let world = World::new(1, &[KEYED, waits, Plan::QUEUE], budget);

    let mutant = Mutant::DueForgotten;

    finds(World { mutant, ..world }, STRANDED);
}

#[test]
fn a_stop_of_a_lease_that_was_renewed_since_is_found() {
    let budget = Budget {
        beats: 1,
        leaps: 3,
        ..Budget::default()
    };
    let world = World {
        slow_evidence: true,
        ..World::new(1, &[BEATS], budget)
    };

    let mutant = Mutant::StopUnguarded;

    finds(World { mutant, ..world }, LIVE);
}

#[test]
fn a_stop_of_the_task_of_a_redriven_run_is_found() {
    let budget = Budget {
        crashes: 1,
        redrives: 1,
        ..Budget::default()
    };
    let world = World {
        slow_evidence: true,
        ..World::new(1, &[BEATS], budget)
    };

    let mutant = Mutant::EndingUnguarded;

    finds(World { mutant, ..world }, LIVE);
}

#[test]
fn a_recovery_while_tasks_run_is_found() {
    let world = World::new(1, &[BEATS, Plan::REFUSE], CRASH);

    let mutant = Mutant::TasksUnseen;

    finds(World { mutant, ..world }, AT_WORK);
}

#[test]
fn a_recovery_that_reads_no_exit_code_is_found() {
    for property in [SUCCESS_SEEN, WORK_ONCE] {
        let world = World {
            own_ends: true,
            ..World::new(1, &[KEYED, KEYED], CRASH)
        };

        let mutant = Mutant::ExitCodeUnread;

        finds(World { mutant, ..world }, property);
    }
}

#[test]
fn a_container_that_was_stopped_and_counts_as_succeeded_is_found() {
    let world = World::new(1, &[KEYED], CRASH);

    let mutant = Mutant::StoppedSucceeds;

    finds(World { mutant, ..world }, TRUE_SUCCESS);
}
