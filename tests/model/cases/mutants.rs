//! A model that finds nothing would prove nothing: each of these faults must be found.

use crate::check::finds;
use crate::mutant::Mutant;
use crate::properties::{LEASES, TICKETS, TURNS};
use crate::state::Budget;
use crate::world::{Plan, World};

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
