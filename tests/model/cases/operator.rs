//! The commands of an operator between all other steps.

use super::{QUEUE, REFUSE, TICK, worlds};
use crate::world::Plan;

const SPACED: Plan = Plan {
    min_interval: Some(2),
    ..QUEUE
};

worlds! {
    fn an_operator_and_a_dying_holder_leave_the_lock_free:
        1, [QUEUE, QUEUE], may { orders: 2, crashes: 1 }, with { quick_checks: true } => 33652,
        "Done, Freed, Granted, Lost, Queued, Released, Released already, Unchanged",
        "then: dismiss who is sent away, then: wake, then: wake again";

    fn a_dropped_or_paused_waiter_costs_no_other_waiter_its_turn:
        1, [REFUSE, QUEUE, QUEUE], may { orders: 2 } => 88948,
        "Done, Freed, Granted, Lost, Queued, Released, Unchanged, refused: Held",
        "refused: Paused, then: dismiss who is sent away, then: wake";

    /// The permit stays taken while the work of the evicted run goes on, and becomes free after that.
    fn an_eviction_of_a_living_run_frees_its_permit_when_its_work_has_stopped:
        1, [QUEUE, QUEUE], may { orders: 1, crashes: 1 },
        with { stops_evicted: true, quick_checks: true } => 9994,
        "Done, Freed, Granted, Lost, Queued, Released, Released already, Unchanged",
        "then: dismiss who is sent away, then: wake, then: wake again";

    fn an_eviction_frees_one_permit_of_two:
        2, [REFUSE, QUEUE, QUEUE], may { orders: 1 } => 65670,
        "Done, Freed, Granted, Lost, Queued, Released, Unchanged, refused: Held",
        "refused: Paused, then: dismiss who is sent away, then: hand over, then: wake";

    /// The holder may die, and a function may die after any request.
    fn a_pause_ends_by_itself_and_leaves_the_lock_free:
        1, [QUEUE, QUEUE], may { orders: 1, losses: 1, crashes: 1 },
        with { pauses_until: Some(2), quick_checks: true } => 49221,
        "AlreadyHeld, Done, Freed, Granted, Lost, Queued, Released, Released already, Unchanged",
        "then: dismiss who is sent away, then: wake, then: wake again";

    fn a_rest_that_is_ended_lets_the_next_waiter_in:
        1, [SPACED, SPACED], may { orders: 1, losses: 1 }, with { clears: true, ticks: 1 } => 10835,
        "AlreadyHeld, Done, Granted, Queued, Released, Released already, Unchanged, then: wake",
        "then: wake again";

    fn a_tick_that_is_forgotten_may_succeed_once_more:
        1, [TICK, TICK, TICK], may { orders: 1, losses: 1, copies: 1 },
        with { clears: true } => 12383,
        "AlreadyHeld, Done, Freed, Granted, Released, Released already, refused: Duplicate";
}
